"""No processor sees a name that is too long."""

import pytest
from tests.support.builders import PEER

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.name_limits import NameLimits
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.transport.dispatch import Answer, Peer

LONGEST = 255


def answer(request: RemotingCommand, _: Peer) -> Answer:
    return response_to(request, 0)


def ask(code: RequestCode, **fields: str | None) -> Answer:
    processors = NameLimits(LONGEST).guarded(dict.fromkeys(RequestCode, answer))
    return processors[code](RemotingCommand(code, ext_fields=fields), PEER)


@pytest.mark.parametrize("code", [each for each in RequestCode if each is not RequestCode.GET_ROUTEINFO_BY_TOPIC])
def test_a_field_at_the_limit_and_one_character_over(code: RequestCode) -> None:
    ask(code, brokerName="火" * LONGEST, other=None)
    with pytest.raises(RequestRefusedError, match="a header field of more than 255 characters") as caught:
        ask(code, brokerName="x" * (LONGEST + 1))
    assert (caught.value.code, caught.value.cause) == (1, "long_name")


def test_values_of_kv_entries_have_a_limit_of_their_own() -> None:
    ask(RequestCode.PUT_KV_CONFIG, namespace="N", key="K", value="x" * 10_000)
    with pytest.raises(RequestRefusedError):
        ask(RequestCode.PUT_KV_CONFIG, namespace="N", key="x" * 10_000, value="V")
    with pytest.raises(RequestRefusedError):
        ask(RequestCode.DELETE_KV_CONFIG, value="x" * 10_000)


def test_routes_are_not_slowed_down() -> None:
    """Such a topic has no route anyway."""
    processors = NameLimits(LONGEST).guarded({RequestCode.GET_ROUTEINFO_BY_TOPIC: answer})

    assert processors[RequestCode.GET_ROUTEINFO_BY_TOPIC] is answer


def test_a_request_without_fields() -> None:
    processors = NameLimits(LONGEST).guarded({RequestCode.GET_BROKER_CLUSTER_INFO: answer})

    assert processors[RequestCode.GET_BROKER_CLUSTER_INFO](RemotingCommand(106), PEER)
