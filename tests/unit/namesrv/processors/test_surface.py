"""The protocol surface at a glance."""

from tests.support.builders import AsyncWire

from cosmodrome.protocol.codes import RequestCode


async def test_every_request_code_is_answered(peer: AsyncWire) -> None:
    """But the one that is only sent."""
    for code in RequestCode:
        answer = await peer.request(code)
        assert answer.flag == 1
        assert (answer.code == 3) == (code == RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE), code


async def test_an_unknown_code(peer: AsyncWire) -> None:
    answer = await peer.request(999)

    assert (answer.code, answer.remark) == (3, " request type 999 not supported")
