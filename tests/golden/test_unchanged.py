"""Periodic registrations of real brokers that say nothing new cost no reading of their table."""

import re
from pathlib import Path

import pytest
from tests.support.builders import settled, surface
from tests.support.golden import RecordedFrame, recording, recording_names

from cosmodrome.namesrv.routing.effects import Effects
from cosmodrome.namesrv.routing.registration import BrokerRegistration, PreparedTopics, RegisterBrokerResult
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.register_broker import masked_crc32
from cosmodrome.protocol.command import RemotingCommand, decode_command
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.transport.dispatch import Peer

_CLOCK = re.compile(rb'("mappingDataVersion":\{"counter":0,"stateVersion":0,"timestamp":)([0-9]+)')


class CountingTables(RouteTables):
    """Counts the registrations that were read."""

    read_registrations = 0

    def register_broker(
        self, registration: BrokerRegistration, now_ms: int, prepared: PreparedTopics | None = None
    ) -> tuple[RegisterBrokerResult, Effects]:
        self.read_registrations += 1
        return super().register_broker(registration, now_ms, prepared)


class Broker:
    """A recorded broker and tables of ours."""

    def __init__(self, folder: Path) -> None:
        self.tables = CountingTables()
        self._dispatcher = surface(self.tables, folder)

    def send(self, request: RemotingCommand, connection: int = 1) -> None:
        """Send a request."""
        settled(self._dispatcher.dispatch(request, Peer(connection, "127.0.0.1:1")))

    def is_read(self, request: RemotingCommand, connection: int = 1) -> bool:
        """Register, and tell whether the table had to be read."""
        before = self.tables.read_registrations
        self.send(request, connection)
        return self.tables.read_registrations > before


def command(frame: RecordedFrame) -> RemotingCommand:
    decoder = FrameDecoder()
    decoder.feed(frame.data)
    whole = decoder.next_frame()
    assert whole is not None
    return decode_command(whole)


def later(request: RemotingCommand) -> RemotingCommand:
    """Give the same registration as the broker sends it ten seconds later, when nothing has changed."""
    body = _CLOCK.sub(lambda found: found[1] + b"%d" % (int(found[2]) + 10_000), request.body)
    fields = {**(request.ext_fields or {}), "bodyCrc32": str(masked_crc32(body))}
    return request.replaced(body=body, ext_fields=fields)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("acting-master-5.5.0", [0, 1, 2, 7, 8, 14, 15, 16]),
        ("pair-5.5.0", [0, 1, 2, 3, 6, 7, 11]),
        ("pair-4.9.7", [0, 1, 2, 3, 4, 5, 6, 10]),
    ],
)
def test_what_was_recorded_in_a_row(tmp_path: Path, name: str, read: list[int]) -> None:
    """Read are the first one, each change, and the first after another broker of the group changed something."""
    broker = Broker(tmp_path)
    requests = [frame for frame in recording(name).requests() if frame.command.code in (103, 104)]

    seen = []
    at = -1
    for frame in requests:
        if frame.command.code == 104:
            broker.send(command(frame), frame.connection)
            continue
        at += 1
        if broker.is_read(command(frame), frame.connection):
            seen.append(at)

    assert seen == read


@pytest.mark.parametrize("name", [name for name in recording_names() if recording(name).requests(103)])
def test_each_recorded_registration_repeated(tmp_path: Path, name: str) -> None:
    """Whatever the release and the form of the body, single topics and parts of a table included."""
    broker = Broker(tmp_path)
    for frame in recording(name).requests(103):
        request = command(frame)
        broker.is_read(request)

        assert not broker.is_read(request)
        assert not broker.is_read(later(request)), "the time in mappingDataVersion is no news"
        assert not broker.is_read(later(later(request)), connection=2)


@pytest.mark.parametrize("name", ["broker-5.1.4-json", "broker-5.3.3-json", "broker-5.5.0-json"])
def test_the_time_of_sending_is_in_every_5x_body(name: str) -> None:
    """So that the test above tests something."""
    request = command(recording(name).requests(103)[0])

    assert later(request).body != request.body
    assert later(request).ext_fields != request.ext_fields


@pytest.mark.parametrize("name", ["broker-5.1.4-json", "broker-5.3.3-json", "broker-5.5.0-json", "broker-4.9.7-json"])
def test_a_change_of_the_table_is_news(tmp_path: Path, name: str) -> None:
    broker = Broker(tmp_path)
    request = command(recording(name).requests(103)[-1])
    broker.is_read(request)
    for old, new in [(b'"perm":6', b'"perm":4'), (b'"counter":3', b'"counter":4'), (b'"order":false', b'"order":true')]:
        assert old in request.body
        changed = later(request.replaced(body=request.body.replace(old, new, 1)))
        assert broker.is_read(changed), (old, new)
        assert not broker.is_read(changed)
