"""Routes that are answered by the bytes of their question: they are what a route read anew would be, always."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support import wire
from tests.support.builders import AsyncWire, Running, running

from cosmodrome.transport.standing_answers import StandingAnswers

TWO = [wire.topic_config("T1"), wire.topic_config("T2")]
BROKER = wire.Broker(name="a")


def standing_of(run: Running) -> StandingAnswers | None:
    server = run.server._server
    assert server is not None
    return server.standing


async def route(peer: AsyncWire, topic: str = "T1", **header: Any) -> wire.Answer:
    return await peer.request(105, {"topic": topic}, **header)


async def given_by_bytes(run: Running, peer: AsyncWire, topic: str = "T1", **header: Any) -> tuple[wire.Answer, int]:
    """Ask, and tell how many such questions were answered by their bytes."""
    standing = standing_of(run)
    before = 0 if standing is None else standing.answered_count
    answer = await route(peer, topic, **header)
    return answer, (0 if standing is None else standing.answered_count) - before


async def registered(run: Running, **values: Any) -> AsyncWire:
    peer = await run.wire()
    await register(peer, TWO, **values)
    return peer


async def register(peer: AsyncWire, configs: list[dict[str, Any]], counter: int = 1) -> None:
    body = wire.register_body(configs, wire.data_version(counter))
    assert (await peer.request(103, wire.registration_ext(BROKER), body)).code == 0


@pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
async def test_the_second_question_is_answered_by_its_bytes(tmp_path: Path, codec: wire.Codec) -> None:
    async with running(tmp_path) as run:
        peer = await registered(run)
        first, by_bytes = await given_by_bytes(run, peer, codec=codec)
        assert by_bytes == 0
        second, by_bytes = await given_by_bytes(run, peer, codec=codec)

        assert by_bytes == 1
        assert (second.code, second.codec, second.body) == (0, codec, first.body)


async def test_every_connection_shows_once_what_it_speaks(tmp_path: Path) -> None:
    """Its first request is read like any other: by that it is known as a peer."""
    async with running(tmp_path) as run:
        await route(await registered(run))
        other = await run.wire()

        assert [(await given_by_bytes(run, other))[1] for _ in range(2)] == [0, 1]


async def test_an_acknowledged_change_is_in_the_next_answer(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        broker, client = await registered(run), await run.wire()
        for number in range(4):
            queues = 3 + number
            await register(broker, [wire.topic_config("T1", write=queues)], counter=2 + number)
            for _ in range(3):
                answer = await route(client)
                assert answer.json()["queueDatas"][0]["writeQueueNums"] == queues
        await broker.request(104, wire.identity_ext(BROKER) | {"brokerId": "0"})
        assert (await route(client)).code == 17


async def test_who_asks_many_at_once_gets_all_answers_in_order(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        peer = await registered(run)
        await route(peer)
        opaques = [peer.post(105, {"topic": topic}) for topic in ("T1", "?", "T2", "T1") * 20]

        assert [(await peer.answer()).opaque for _ in opaques] == opaques


async def test_with_the_order_of_topics_switched_on_every_question_is_read(tmp_path: Path) -> None:
    """The order of a topic comes from elsewhere, so the answer does not stand."""
    async with running(tmp_path, admin_policy="open") as run:
        peer = await registered(run)
        for _ in range(2):
            await route(peer)
        await peer.request(318, None, b"orderMessageEnable=true")
        await peer.request(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "a:4"})

        for _ in range(2):
            answer, by_bytes = await given_by_bytes(run, peer)
            assert (answer.json()["orderTopicConf"], by_bytes) == ("a:4", 0)


async def test_a_zone_is_read_every_time(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        peer = await registered(run)
        standing = standing_of(run)
        for _ in range(3):
            await peer.request(105, {"topic": "T1", "__ZONE_MODE": "true", "__ZONE_NAME": "z"})

        assert standing is not None
        assert standing.answered_count == 0


async def test_newer_clients_are_sent_away_by_a_drain_whatever_they_asked_before(tmp_path: Path) -> None:
    async with running(tmp_path) as run:
        peer = await registered(run)
        for _ in range(2):
            assert (await route(peer)).code == 0
        server = run.server._server
        assert server is not None
        server.dispatcher.drain()

        assert (await route(peer)).code == 1500
        assert (await route(peer, version=475)).code == 0
        assert (await given_by_bytes(run, peer, version=475))[1] == 0


async def test_nothing_stands_where_somebody_looks_at_who_asks(tmp_path: Path) -> None:
    """Shadow mode looks at every read."""
    async with running(tmp_path / "other") as other, running(tmp_path, shadow=other.server.address) as run:
        peer = await registered(run)
        for _ in range(2):
            assert (await route(peer)).code == 0

        assert standing_of(run) is None


async def test_a_connection_that_only_asks_the_same_is_not_idle(tmp_path: Path) -> None:
    async with running(tmp_path, server_channel_max_idle_time_seconds=1) as run:
        client, silent = await registered(run), await run.wire()
        end_of_silent = asyncio.ensure_future(silent.closed())
        while not end_of_silent.done():
            assert (await route(client)).code == 0
            await asyncio.sleep(0.02)

        assert (await given_by_bytes(run, client))[1] == 1
