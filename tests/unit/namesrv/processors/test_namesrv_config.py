"""Requests about the configuration."""

from pathlib import Path

import pytest
from tests.support.builders import AsyncWire, Running, running

from cosmodrome.namesrv.properties import last_values, parse


async def listing(peer: AsyncWire) -> dict[str, str]:
    answer = await peer.request(319)
    assert (answer.code, answer.remark, answer.ext) == (0, None, None)
    return last_values(parse(answer.body.decode()))


async def test_the_listing_shows_the_port_that_was_taken(peer: AsyncWire, run: Running) -> None:
    assert (await listing(peer))["listenPort"] == run.server.address.rpartition(":")[2]


async def test_a_change(peer: AsyncWire, run: Running) -> None:
    answer = await peer.request(318, None, b"# c\nsupportActingMaster=true\nproductEnvName=\\u00e9\xc3\xa9\n")

    assert (answer.code, answer.remark, answer.body) == (0, None, b"")
    now = await listing(peer)
    assert (now["supportActingMaster"], now["productEnvName"]) == ("true", "éé")
    [event] = [event for event in run.events if event.NAME == "config.changed"]
    assert event.fields()["applied"] == "supportActingMaster,productEnvName"


async def test_of_a_request_all_or_nothing(peer: AsyncWire) -> None:
    answer = await peer.request(318, None, b"supportActingMaster=true\nwaitSecondsForService=x")

    assert answer.code == 1
    assert "waitSecondsForService must be a whole number" in (answer.remark or "")
    assert (await listing(peer))["supportActingMaster"] == "false"


@pytest.mark.parametrize(
    "key", [b"kvConfigPath", b"configStorePath", b"configBlackList", b"rocketmqHome", b"adminPolicy"]
)
async def test_keys_that_no_request_may_change(peer: AsyncWire, run: Running, key: bytes) -> None:
    answer = await peer.request(318, None, key + b"=x\nsupportActingMaster=true")

    assert (answer.code, answer.remark) == (16, "Can not update config in black list.")
    assert (await listing(peer))["supportActingMaster"] == "false"
    assert "request.denied" in run.names()


async def test_what_needs_a_restart_is_said(peer: AsyncWire) -> None:
    answer = await peer.request(318, None, b"bindAddress=127.0.0.9\nuseEpollNativeSelector=true")

    assert answer.code == 0
    assert "in effect after a restart: bindAddress" in (answer.remark or "")
    assert "kept without effect: useEpollNativeSelector" in (answer.remark or "")


@pytest.mark.parametrize(
    ("body", "remark"), [(b"", None), (b"noSuchKey=1", "unknown, not stored: noSuchKey"), (b"\n# nothing\n", None)]
)
async def test_what_changes_nothing(peer: AsyncWire, run: Running, body: bytes, remark: str | None) -> None:
    answer = await peer.request(318, None, body)

    assert (answer.code, answer.remark) == (0, remark)
    assert "config.changed" not in run.names()


async def test_a_body_that_is_no_properties_text(peer: AsyncWire) -> None:
    answer = await peer.request(318, None, b"a=\\u00zz")

    assert (answer.code, answer.remark) == (1, "string2Properties error")


async def test_changes_act_at_once(peer: AsyncWire) -> None:
    """The tables' options, the idle limit, the interval of scans."""
    body = b"deleteTopicWithBrokerRegistration=true\nserverChannelMaxIdleTimeSeconds=97\nscanNotActiveBrokerInterval=50"

    assert (await peer.request(318, None, body)).remark is None
    now = await listing(peer)
    assert (now["serverChannelMaxIdleTimeSeconds"], now["scanNotActiveBrokerInterval"]) == ("97", "50")


async def test_changes_are_for_those_who_may(tmp_path: Path) -> None:
    async with running(tmp_path, admin_allow=()) as run:
        peer = await run.wire()
        answer = await peer.request(318, None, b"supportActingMaster=true")

        assert answer.code == 16
        assert peer.local_address in (answer.remark or "")
        assert (await listing(peer))["supportActingMaster"] == "false"
