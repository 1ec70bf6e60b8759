"""Requests about KV config."""

from pathlib import Path

import pytest
from tests.support.builders import AsyncWire, Running, running

KEY = {"namespace": "N", "key": "K"}


async def test_an_entry(peer: AsyncWire, run: Running) -> None:
    put = await peer.request(100, KEY | {"value": "V"})
    assert (put.code, put.remark, put.ext, put.body) == (0, None, None, b"")

    got = await peer.request(101, KEY)
    assert (got.code, got.ext, got.body) == (0, {"value": "V"}, b"")
    assert (await peer.request(219, {"namespace": "N"})).json() == {"table": {"K": "V"}}
    assert (await peer.request(102, KEY)).code == 0
    assert (await peer.request(102, KEY)).code == 0
    assert (await peer.request(219, {"namespace": "N"})).json() == {"table": {}}
    assert [name for name in run.names() if name.startswith("kv.")] == ["kv.put", "kv.deleted"]


async def test_values_are_not_in_events(peer: AsyncWire, run: Running) -> None:
    await peer.request(100, KEY | {"value": "secret"})

    assert "secret" not in repr(run.events)


async def test_what_is_not_there(peer: AsyncWire) -> None:
    got = await peer.request(101, KEY)
    assert (got.code, got.remark, got.ext) == (22, "No config item, Namespace: N Key: K", {})
    listed = await peer.request(219, {"namespace": "N"})
    assert (listed.code, listed.remark, listed.ext) == (22, "No config item, Namespace: N", None)


async def test_missing_fields(peer: AsyncWire) -> None:
    """Java writes a missing name as `null`, stores a missing value, and deletes nothing without complaint."""
    assert (await peer.request(101)).remark == "No config item, Namespace: null Key: null"
    assert (await peer.request(219)).remark == "No config item, Namespace: null"
    assert (await peer.request(102)).code == 0
    for fields in ({}, {"namespace": "N", "value": "V"}, {"key": "K", "value": "V"}):
        put = await peer.request(100, fields)
        assert (put.code, put.remark) == (1, "namespace or key is null")
    put = await peer.request(100, KEY)
    assert (put.code, put.remark) == (1, "value is null")
    assert (await peer.request(101, KEY)).code == 22


async def test_an_empty_value_is_one(peer: AsyncWire) -> None:
    """In JSON; the binary codec cannot tell it from a missing one."""
    assert (await peer.request(100, KEY | {"value": ""})).code == 0
    assert (await peer.request(101, KEY)).ext == {"value": ""}
    assert (await peer.request(100, KEY | {"value": ""}, codec="ROCKETMQ")).remark == "value is null"


async def test_entries_survive(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        await (await run.wire()).request(100, KEY | {"value": "é"})
    async with running(tmp_path) as run:
        assert (await (await run.wire()).request(101, KEY)).ext == {"value": "é"}


@pytest.mark.parametrize("code", [100, 102])
async def test_what_cannot_be_stored_is_refused_and_not_visible(tmp_path: Path, code: int) -> None:
    async with running(tmp_path) as run:
        peer = await run.wire()
        await peer.request(100, KEY | {"value": "old"})
        (tmp_path / "kvConfig.json").unlink()
        (tmp_path / "kvConfig.json").mkdir()

        answer = await peer.request(code, KEY | {"value": "new"})

        assert (answer.code, answer.remark) == (1, "the change could not be stored and was not made")
        assert (await peer.request(101, KEY)).ext == {"value": "old"}
        assert "storage.failed" in run.names()


async def test_writes_of_many_peers_are_all_kept(run: Running) -> None:
    peers = [await run.wire() for _ in range(8)]
    for number, peer in enumerate(peers):
        for key in range(5):
            peer.post(100, {"namespace": "N", "key": f"{number}-{key}", "value": "V"})
    for peer in peers:
        assert [answer.code for answer in await peer.answers(5)] == [0] * 5

    assert len((await peers[0].request(219, {"namespace": "N"})).json()["table"]) == 40
