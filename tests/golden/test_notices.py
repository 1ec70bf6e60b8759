"""905: what the NameServer tells brokers when the smallest id of their group changes."""

from collections.abc import Iterator
from pathlib import Path

from tests.support import wire
from tests.support.builders import settled, surface
from tests.support.golden import recording

from cosmodrome.namesrv.routing.effects import Effects
from cosmodrome.namesrv.routing.reader import TableOptions
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command, request
from cosmodrome.protocol.ext_fields import encode_ext_fields
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.transport.dispatch import Peer

SLAVE = "127.0.0.2:21500"


def command(data: bytes) -> RemotingCommand:
    decoder = FrameDecoder()
    decoder.feed(data)
    frame = decoder.next_frame()
    assert frame is not None
    return decode_command(frame)


def notices(folder: Path) -> Iterator[tuple[float, str, bytes]]:
    """Give when, to whom and what our tables ask to be sent while the recorded brokers act."""
    effects: list[Effects] = []
    tables = RouteTables(TableOptions(support_acting_master=True, notify_min_broker_id_changed=True))
    dispatcher = surface(tables, folder, effects.append)
    for frame in recording("acting-master-5.5.0").requests():
        if frame.command.code in (103, 104):
            settled(dispatcher.dispatch(command(frame.data), Peer(frame.connection, "127.0.0.1:1")))
        for notice in [notice for each in effects for notice in each.notices]:
            fields = encode_ext_fields(notice.header)
            sent = request(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, fields, is_oneway=True)
            for receiver in notice.receivers:
                yield frame.t_ms, receiver, encode_command(sent)
        effects.clear()


def with_opaque(data: bytes, opaque: int) -> bytes:
    return encode_command(command(data).replaced(opaque=opaque))


def with_sorted_fields(data: bytes) -> bytes:
    said = command(data)
    return encode_command(said.replaced(ext_fields=dict(sorted((said.ext_fields or {}).items()))))


def test_notices_are_those_of_550_byte_for_byte(tmp_path: Path) -> None:
    """Up to the opaque and the order of extFields, which is that of a hash table."""
    theirs = [frame.data for frame in recording("acting-master-5.5.0-notify").frames]

    ours = [(receiver, data) for _, receiver, data in notices(tmp_path)]

    to_slave = [data for receiver, data in ours if receiver == SLAVE]
    assert len(to_slave) == len(theirs)
    for mine, recorded in zip(to_slave, theirs, strict=True):
        assert with_sorted_fields(with_opaque(mine, command(recorded).opaque)) == with_sorted_fields(recorded)


def test_nobody_else_is_told(tmp_path: Path) -> None:
    """When the master leaves the slave is told, when it returns too; when the slave leaves the minimum stays."""
    assert [receiver for _, receiver, _ in notices(tmp_path)] == [SLAVE, SLAVE]


def test_recorded_notices_are_oneway_requests() -> None:
    for frame in recording("acting-master-5.5.0-notify").frames:
        assert frame.command.code == 905
        assert frame.command.flag == wire.FLAG_ONEWAY
        assert encode_command(command(frame.data)) == frame.data
