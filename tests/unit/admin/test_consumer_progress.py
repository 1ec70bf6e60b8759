"""consumerProgress, against a broker of ours."""

from typing import Any

import pytest
from tests.support.messaging_bench import BROKER, CLUSTER, MessagingBench

from cosmodrome import Consumer
from cosmodrome.admin.consumer_progress import consumer_progress
from cosmodrome.errors import MissingError

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASKED: dict[str, Any] = {"group": None, "topic": None, "shows_ip": None, "cluster": None}


async def consumed(messaging: MessagingBench, count: int) -> None:
    options: dict[str, Any] = {"namesrv": messaging.name_server, "consume_from": "first"}
    async with Consumer(messaging.group, subscriptions={messaging.topic: None}, **options) as member:
        for _ in range(count):
            await (await anext(member)).ack()


async def test_a_group_is_shown_queue_by_queue(messaging: MessagingBench) -> None:
    await messaging.new_topic(queues=2)
    for number in range(6):
        await messaging.sent(str(number))
    await consumed(messaging, 6)
    await messaging.sent("one more")

    text = await messaging.run(consumer_progress, **ASKED | {"group": messaging.group})
    rows = await messaging.run(
        consumer_progress, **ASKED | {"group": messaging.group, "topic": messaging.topic}, form="json"
    )

    assert text.lines[0].split()[:4] == ["#Topic", "#Broker", "Name", "#QID"]
    assert "#Client IP" not in text.lines[0]
    assert [line.split()[:3] for line in text.lines[1:4]] == [
        [f"%RETRY%{messaging.group}", BROKER, "0"],
        [messaging.topic, BROKER, "0"],
        [messaging.topic, BROKER, "1"],
    ]
    assert text.lines[1].endswith(" N/A")
    assert [line.partition(":")[0] for line in text.lines[-3:]] == [
        "Consume TPS", "Consume Diff Total", "Consume Inflight Total",
    ]  # fmt: skip
    assert text.lines[-2] == "Consume Diff Total: 1"
    queues = rows.json["queues"]
    assert [(each["queue_id"], each["diff"]) for each in queues] in ([(0, 1), (1, 0)], [(0, 0), (1, 1)])
    assert (rows.json["consumer_group"], rows.json["diff_total"], rows.json["failures"]) == (messaging.group, 1, {})
    assert all(each["last_consumed_at"].endswith("Z") for each in queues)


async def test_addresses_of_members_are_shown_when_asked_for(messaging: MessagingBench) -> None:
    await messaging.new_topic(queues=2)
    await messaging.sent("x")
    async with Consumer(
        messaging.group, namesrv=messaging.name_server, subscriptions={messaging.topic: None}, consume_from="first"
    ) as member:
        await (await anext(member)).ack()
        asked = ASKED | {"group": messaging.group, "topic": messaging.topic, "shows_ip": True}
        ran = await messaging.run(consumer_progress, **asked)

    at = ran.lines[0].index("#Client IP")
    assert [line[at : at + 21] for line in ran.lines[1:3]] == [f"{'127.0.0.1':<21}"] * 2


async def test_all_groups_are_listed(messaging: MessagingBench) -> None:
    await messaging.sent("x")
    await messaging.sent("y")
    await consumed(messaging, 1)
    async with Consumer(
        f"{messaging.group}-online", namesrv=messaging.name_server, subscriptions={messaging.topic: None}
    ):
        ran = await messaging.run(consumer_progress, **ASKED)
        rows = await messaging.run(consumer_progress, **ASKED | {"cluster": CLUSTER}, form="ndjson")

    found = {line.split()[0]: line.split()[1:] for line in ran.lines[1:]}
    assert found[messaging.group][:2] == ["0", "OFFLINE"]
    assert found[f"{messaging.group}-online"][:4] == ["1", "V5_5_0", "PUSH", "CLUSTERING"]
    assert f'"consumer_group":"{messaging.group}","count":0,"version":null,"type":null,"model":null' in rows.out


async def test_a_group_that_is_not_there_is_an_error(messaging: MessagingBench) -> None:
    with pytest.raises(MissingError, match="no consumer group 'Nobody'") as missing:
        await messaging.run(consumer_progress, **ASKED | {"group": "Nobody"})
    assert missing.value.exit_code == 66


async def test_a_group_without_offsets_that_is_online_is_none(messaging: MessagingBench) -> None:
    async with Consumer(messaging.group, namesrv=messaging.name_server, subscriptions={messaging.topic: None}):
        ran = await messaging.run(consumer_progress, **ASKED | {"group": messaging.group})
    assert ran.code == 0


@pytest.mark.parametrize("flags", [{"cluster": "Nowhere"}, {"group": "G", "topic": "Nowhere"}])
async def test_a_cluster_or_topic_that_is_not_there_is_an_error(
    messaging: MessagingBench, flags: dict[str, Any]
) -> None:
    with pytest.raises(MissingError, match="Nowhere"):
        await messaging.run(consumer_progress, **ASKED | flags)


async def test_a_group_that_was_made_and_never_read_is_there(messaging: MessagingBench) -> None:
    await messaging.admin.groups.create(messaging.group)
    ran = await messaging.run(consumer_progress, **ASKED | {"group": messaging.group})
    assert (ran.code, ran.lines[-2]) == (0, "Consume Diff Total: 0")
