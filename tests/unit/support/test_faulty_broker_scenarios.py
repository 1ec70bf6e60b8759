"""Each row of the field cases in which a faulty broker plays can be scripted with the double.

The case ids (C001) are those of the client's own tests; here a bare connection stands for the client, and the claim is
that the double plays its part: what it does, and what can be read from it afterwards.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support import wire
from tests.support.builders import AsyncWire, eventually, running
from tests.support.client_requests import heartbeat, pull_ext, send_ext, sent
from tests.support.faulty_broker import (
    PULLS,
    SENDS,
    V4_9_7,
    Alter,
    AnswerWith,
    CloseInAnswer,
    CloseUnanswered,
    Delay,
    Disturbances,
    DropAnswer,
    FaultyBroker,
    FaultyCluster,
    Hold,
    Paced,
    Place,
    Refuse,
    Reply,
    Silence,
    Topic,
    Trigger,
    decode_records,
    faulty_cluster,
    route_reply,
)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, "broker-a", "broker-b", topics={"T": 4}) as cluster:
        yield cluster


@pytest.fixture
async def a(cluster: FaultyCluster) -> FaultyBroker:
    return cluster.brokers[0]


@pytest.fixture
async def peer(a: FaultyBroker) -> AsyncIterator[AsyncWire]:
    async with await AsyncWire.connect(a.address) as peer:
        yield peer


def burst(peer: AsyncWire, count: int) -> None:
    """Send so many messages without waiting for an answer."""
    for number in range(count):
        peer.post(310, send_ext(f"ID{number}"), b"x")


async def join(peer: AsyncWire, client_id: str = "c1", group: str = "g") -> None:
    """Send a consumer's heartbeat and take the notice and the answer."""
    peer.post(34, None, heartbeat(client_id, group, T="*"))
    await peer.answers(2)


class TestProducers:
    async def test_c001_from_the_nth_send_on_connects_are_refused(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.faults.add(Trigger(a.die), SENDS, after=29)
        burst(peer, 60)
        await peer.closed()
        with pytest.raises(ConnectionRefusedError):
            await AsyncWire.connect(a.address)
        assert len(a.store.messages("T")) >= 30

    async def test_c001_from_the_nth_send_on_it_is_silent(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.faults.add(Trigger(a.mute), SENDS, after=9)
        burst(peer, 10)
        assert len(await peer.answers(10)) == 10
        async with await AsyncWire.connect(a.address) as other:
            burst(other, 1)
            burst(peer, 1)
            with pytest.raises(TimeoutError):
                await peer.answer(0.05)
        assert a.journal.counts[310] == 10

    async def test_c001_closed_with_requests_in_flight(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.faults.add(Hold(), SENDS, times=None)
        burst(peer, 300)
        await a.journal.arrived(310, 300)
        await a.close_lines()
        await peer.closed()
        assert peer.untaken == 0

    async def test_c001_closed_in_the_middle_of_an_answer(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.faults.add(CloseInAnswer(50), SENDS, after=5)
        burst(peer, 20)
        await peer.closed()
        assert peer.untaken == 5

    async def test_c002_one_code_and_then_health(self, a: FaultyBroker, peer: AsyncWire) -> None:
        codes = (1, 2, 14, 16, 17, 1500, 13, 29, 215, 999)
        a.faults.sequence(SENDS, [Refuse(code, f"words of {code}") for code in codes])
        answers = [await sent(peer) for _ in range(len(codes) + 1)]
        assert [(each.code, each.remark) for each in answers] == [(code, f"words of {code}") for code in codes] + [
            (0, None)
        ]
        assert {arrival.ext["properties"] for arrival in a.journal.requests(310)} == {"UNIQ_KEY\x01ID\x02"}

    async def test_c003_stored_and_never_answered(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.faults.add(DropAnswer(), SENDS)
        peer.post(310, send_ext(), b"x")
        assert (await sent(peer)).code == 0
        assert a.store.unique_keys("T") == {"ID": 2}
        assert len(a.journal.requests(310)) == 2

    async def test_c004_answers_at_once_late_and_never(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.faults.add(Delay(0.05), SENDS, after=10, times=10)
        a.faults.add(Silence(), SENDS, after=10, times=None)
        burst(peer, 30)
        assert len(await peer.answers(20)) == 20
        with pytest.raises(TimeoutError):
            await peer.answer(0.05)

    async def test_c006_a_slow_broker_that_stops_and_recovers(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.sends.settings.is_storing, a.journal.is_counting_only = False, True
        slow = a.faults.add(Paced(1000), SENDS, times=None)
        burst(peer, 20)
        await peer.answers(20)
        slow.stop()
        hold = Hold()
        a.faults.add(hold, SENDS, times=None)
        burst(peer, 20)
        await a.journal.arrived(310, 40)
        hold.release()
        assert len(await peer.answers(20)) == 20
        assert a.store.records() == []

    @pytest.mark.parametrize("code", [10, 11, 12])
    async def test_c014_the_half_message_is_not_safe(self, a: FaultyBroker, peer: AsyncWire, code: int) -> None:
        a.faults.add(AnswerWith(code), SENDS)
        assert (await sent(peer, "TX", TRAN_MSG="true", PGROUP="pg")).code == code
        assert set(a.transactions.open) == {"TX"}

    async def test_c014_a_lost_end_a_second_check_and_one_of_an_unknown_group(
        self, a: FaultyBroker, peer: AsyncWire
    ) -> None:
        await peer.request(34, None, heartbeat("p1"))
        half = (await sent(peer, "TX", TRAN_MSG="true", PGROUP="pg")).ext or {}
        a.faults.add(Silence(), 37)
        end = {"producerGroup": "pg", "commitOrRollback": "8", "commitLogOffset": str(int(half["msgId"][-16:], 16))}
        peer.post(37, {**end, "tranStateTableOffset": half["queueOffset"]}, flag=wire.FLAG_ONEWAY)
        await a.journal.arrived(37)
        for group in (None, None, "nobody"):
            a.check_transaction("TX", group=group)
        checks = await peer.answers(3)
        shown = [decode_records(check.body)[0].named for check in checks]
        assert [each["TRANSACTION_CHECK_TIMES"] for each in shown] == ["1", "2", "3"]
        assert [each["PGROUP"] for each in shown] == ["pg", "pg", "nobody"]
        assert a.transactions.ended == []

    async def test_c015_traces_only_are_slow_or_lost(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.faults.add(Silence(), SENDS, times=None, when=lambda arrival: arrival.ext["topic"] == "RMQ_SYS_TRACE_TOPIC")
        peer.post(310, send_ext(topic="RMQ_SYS_TRACE_TOPIC"), b"trace")
        assert (await sent(peer)).code == 0

    async def test_c017_every_request_is_refused_for_its_signature(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.faults.add(Refuse(16, "signature"), times=None)
        answers = [await peer.request(34, None, heartbeat("c1", "g", T="*")), await sent(peer)]
        assert [each.code for each in answers] == [16, 16]


class TestLifeCycle:
    async def test_c022_c023_who_comes_and_goes_can_be_read(self, a: FaultyBroker, peer: AsyncWire) -> None:
        await join(peer)
        assert (await peer.request(35, {"clientID": "c1", "producerGroup": "pg"})).code == 0
        assert a.groups.producers["pg"] == {}
        assert a.groups.groups["g"].client_ids() == ["c1"]
        assert [arrival.ext.get("producerGroup") for arrival in a.journal.requests(35)] == ["pg"]

    async def test_c028_a_name_server_that_is_silent_and_one_in_a_black_hole(self) -> None:
        async with FaultyBroker() as mute, FaultyBroker() as hole:
            mute.mute()
            await hole.black_hole()
            async with await AsyncWire.connect(mute.address) as peer:
                peer.post(105, {"topic": "T"})
                with pytest.raises(TimeoutError):
                    await peer.answer(0.05)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(AsyncWire.connect(hole.address), 0.1)

    async def test_c028_a_false_route(self, a: FaultyBroker) -> None:
        async with FaultyBroker() as name_server, await AsyncWire.connect(name_server.address) as peer:
            places = [Place(name="broker-a", addresses={0: a.address}, queues=2), Place(name="gone", addresses={})]
            name_server.works[105] = lambda _: route_reply(places, "broker-a:2")
            route = (await peer.request(105, {"topic": "T"})).json()
        assert [each["brokerName"] for each in route["brokerDatas"]] == ["broker-a"]
        assert [each["brokerName"] for each in route["queueDatas"]] == ["broker-a", "gone"]
        assert route["orderTopicConf"] == "broker-a:2"

    async def test_c028_sql_is_not_enabled(self, peer: AsyncWire) -> None:
        data = {"topic": "T", "subString": "a > 1", "expressionType": "SQL92"}
        answer = await peer.request(46, None, wire.dump({"clientId": "c", "group": "g", "subscriptionData": data}))
        assert (answer.code, answer.remark) == (1, "The broker does not support consumer to filter message by SQL92")

    async def test_c030_name_server_and_brokers_restart(self, tmp_path: Path) -> None:
        async with running(tmp_path / "one") as first:
            port = first.server.address.rpartition(":")[2]
            broker = FaultyBroker(first.server.address, topics={"T": 4})
            await broker.accept_connects()
            await broker.announce()
        async with running(tmp_path / "two", listen_port=int(port)) as second:
            await broker.restart()
            route = await (await second.wire()).request(105, {"topic": "T"})
            await broker.stop()
        assert route.code == 0


class TestMembers:
    async def test_c037_two_thousand_notices_while_pulls_and_sends_run(self, a: FaultyBroker, peer: AsyncWire) -> None:
        await join(peer)
        pull = peer.post(11, pull_ext())
        a.groups.notify("g", 2000)
        send = peer.post(310, send_ext(), b"x")
        answers = await peer.answers(2002)
        assert sum(each.code == 40 for each in answers) == 2000
        assert {each.opaque for each in answers if each.flag == wire.FLAG_RESPONSE} == {pull, send}

    async def test_c038_queues_come_and_go(self, cluster: FaultyCluster, a: FaultyBroker, peer: AsyncWire) -> None:
        await a.set_topic("T", 8)
        assert (await peer.request(310, send_ext(e="7"), b"in the eighth")).code == 0
        await a.set_topic("T", 8, write=4)
        assert (await peer.request(310, send_ext(e="7"), b"x")).code == 0
        pulled = await peer.request(11, pull_ext(queueId="7"))
        assert decode_records(pulled.body)[0].body == b"in the eighth"
        await a.set_topic("T", 4)
        assert (await peer.request(11, pull_ext(queueId="7"))).code == 29
        route = (await (await cluster.running.wire()).request(105, {"topic": "T"})).json()
        assert [each["readQueueNums"] for each in route["queueDatas"]] == [4, 4]

    async def test_c039_flow_control_for_a_while(self, a: FaultyBroker, peer: AsyncWire) -> None:
        rule = a.faults.add(Refuse(215, "flow control"), PULLS, times=None)
        assert {(await peer.request(11, pull_ext())).code for _ in range(3)} == {215}
        rule.stop()
        a.put("T", queue_id=1)
        assert (await peer.request(11, pull_ext())).code == 0

    @pytest.mark.parametrize("code", [24, 25, 26])
    async def test_c041_the_group_is_unknown_until_a_heartbeat(
        self, a: FaultyBroker, peer: AsyncWire, code: int
    ) -> None:
        rule = a.faults.add(Refuse(code, "unknown"), PULLS, times=None)
        a.faults.add(Trigger(rule.stop), 34)
        a.put("T", queue_id=1)
        assert (await peer.request(11, pull_ext())).code == code
        await join(peer)
        assert (await peer.request(11, pull_ext())).code == 0

    async def test_c041_after_a_restart_a_pull_without_heartbeat_gets_24(self, a: FaultyBroker) -> None:
        await a.restart()
        async with await AsyncWire.connect(a.address) as peer:
            assert (await peer.request(11, pull_ext(sysFlag="2"))).code == 24
            await join(peer)
            a.put("T", queue_id=1)
            assert (await peer.request(11, pull_ext(sysFlag="2"))).code == 0

    async def test_c044_all_brokers_leave_the_route_and_come_back(self, cluster: FaultyCluster) -> None:
        for broker in cluster.brokers:
            await broker.die()
            await broker.withdraw()
        name_server = await cluster.running.wire()
        assert (await name_server.request(105, {"topic": "T"})).code == 17
        for broker in cluster.brokers:
            broker.put("T", b"meanwhile", queue_id=1)
            await broker.accept_connects()
            await broker.announce()
        assert (await name_server.request(105, {"topic": "T"})).code == 0
        async with await AsyncWire.connect(cluster.broker.address) as peer:
            assert decode_records((await peer.request(11, pull_ext())).body)[0].body == b"meanwhile"

    async def test_c059_locks_are_given_back_after_the_last_offset(self, a: FaultyBroker, peer: AsyncWire) -> None:
        await join(peer)
        queue = {"topic": "T", "brokerName": "broker-a", "queueId": 0}
        body = wire.dump({"clientId": "c1", "consumerGroup": "g", "mqSet": [queue]})
        await peer.request(41, None, body)
        await peer.request(15, {"consumerGroup": "g", "topic": "T", "queueId": "0", "commitOffset": "3"})
        await peer.request(42, None, body)
        assert a.groups.locks == {}
        assert a.groups.offset_history == [(("g", "T", 0), 3)]
        assert [code for code in a.journal.codes() if code != 34] == [41, 15, 42]

    async def test_c060_a_lock_is_lost(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.faults.add(Refuse(0, None, body=b'{"lockOKMQSet":[]}'), 41)
        body = wire.dump(
            {"clientId": "c1", "consumerGroup": "g", "mqSet": [{"topic": "T", "brokerName": "b", "queueId": 0}]}
        )
        assert (await peer.request(41, None, body)).json() == {"lockOKMQSet": []}
        assert len((await peer.request(41, None, body)).json()["lockOKMQSet"]) == 1


class TestOffsets:
    async def test_c046_offsets_that_moved_for_ever(self, a: FaultyBroker, peer: AsyncWire) -> None:
        numbers = itertools.count(100, 10)

        def moved(reply: Reply) -> Reply:
            return Reply(21, "OFFSET_TOO_SMALL", {**(reply.ext or {}), "nextBeginOffset": str(next(numbers))})

        a.put("T", queue_id=1)
        a.faults.add(Alter(moved), PULLS, times=None)
        answers = [await peer.request(11, pull_ext()) for _ in range(3)]
        assert [(each.code, (each.ext or {})["nextBeginOffset"]) for each in answers] == [
            (21, "100"),
            (21, "110"),
            (21, "120"),
        ]

    async def test_c046_a_raised_minimum(self, a: FaultyBroker, peer: AsyncWire) -> None:
        for _ in range(10):
            a.put("T", queue_id=1)
        a.store.drop_before("T", 1, 7)
        assert ((await peer.request(11, pull_ext(2))).ext or {})["nextBeginOffset"] == "7"
        assert ((await peer.request(31, {"topic": "T", "queueId": "1"})).ext or {})["offset"] == "7"

    async def test_c048_one_range_twice(self, a: FaultyBroker, peer: AsyncWire) -> None:
        for _ in range(4):
            a.put("T", queue_id=1)
        a.faults.add(Alter(lambda reply: reply._replace(ext={**(reply.ext or {}), "nextBeginOffset": "0"})), PULLS)
        first, second = [await peer.request(11, pull_ext()) for _ in range(2)]
        assert first.body == second.body
        assert [(each.ext or {})["nextBeginOffset"] for each in (first, second)] == ["0", "4"]

    async def test_c050_who_wrote_an_offset_of_which_queue(self, a: FaultyBroker, peer: AsyncWire) -> None:
        await join(peer)
        ext = {"consumerGroup": "g", "topic": "T", "queueId": "2", "commitOffset": "5"}
        peer.post(15, ext, flag=wire.FLAG_ONEWAY)
        (arrival,) = await a.journal.arrived(15, queueId=2)
        assert arrival.is_oneway
        assert arrival.connection in a.groups.groups["g"].members
        assert a.groups.offsets == {("g", "T", 2): 5}

    async def test_c051_times_of_messages(self, a: FaultyBroker, peer: AsyncWire) -> None:
        for number, at_ms in enumerate((1000, 2000, 2000, 3000)):
            a.clock = lambda at_ms=at_ms: at_ms  # type: ignore[misc]  # bound early
            a.put("T", b"%d" % number, queue_id=1)
        asked = [
            await peer.request(29, {"topic": "T", "queueId": "1", "timestamp": text}) for text in ("0", "2000", "9999")
        ]
        assert [(each.ext or {})["offset"] for each in asked] == ["0", "1", "4"]

    @pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
    async def test_c052_answers_in_the_codec_of_4_9(self, codec: wire.Codec) -> None:
        async with FaultyBroker(topics={"T": 1}, release=V4_9_7) as old, await AsyncWire.connect(old.address) as peer:
            old.faults.add(Alter(lambda reply: reply._replace(ext={"offset": "5", "unknown": "field"})), 14)
            ext = {"consumerGroup": "g", "topic": "T", "queueId": "0"}
            answer = await peer.request(14, ext, codec=codec)
        assert (answer.codec, answer.ext) == (codec, {"offset": "5", "unknown": "field"})


class TestRetries:
    @pytest.mark.parametrize("host", ["172.17.0.5", "fd00::1"])
    async def test_c054_records_name_a_host_that_nobody_reaches(self, tmp_path: Path, host: str) -> None:
        async with faulty_cluster(tmp_path, topics={"T": 1}, store_host=(host, 10911)) as cluster:
            record = cluster.broker.put("T")
            async with await AsyncWire.connect(cluster.broker.address) as peer:
                ext = {"offset": str(record.offset), "group": "g", "delayLevel": "0", "originMsgId": record.msg_id}
                assert (await peer.request(36, ext)).code == 0
        assert record.store_host == (host, 10911)

    async def test_c054_a_route_with_a_slave_only(self, cluster: FaultyCluster, a: FaultyBroker) -> None:
        slave = FaultyBroker(cluster.name_server, "broker-a", broker_id=1, store=a.store)
        async with slave:
            await a.withdraw()
            data = (await (await cluster.running.wire()).request(105, {"topic": "T"})).json()
        addresses = {each["brokerName"]: each["brokerAddrs"] for each in data["brokerDatas"]}
        assert addresses["broker-a"] == {"1": slave.address}

    async def test_c054_the_send_back_fails_and_a_normal_send_takes_its_place(
        self, a: FaultyBroker, peer: AsyncWire
    ) -> None:
        a.faults.add(CloseUnanswered(), 36)
        a.put("T", queue_id=1)
        peer.post(36, {"offset": "0", "group": "g", "delayLevel": "0"})
        await peer.closed()
        async with await AsyncWire.connect(a.address) as other:
            ext = send_ext("ID", "%RETRY%g", e="0", j="1", l="16", RETRY_TOPIC="T", DELAY="3")
            assert (await other.request(310, ext, b"x")).code == 0
        await a.journal.until(lambda: len(a.store.messages("%RETRY%g")) == 2, "both copies")

    @pytest.mark.parametrize(("times", "most", "topic"), [(1, 1, "%RETRY%g"), (2, 1, "%DLQ%g"), (1, 0, "%DLQ%g")])
    async def test_c055_the_limit_that_a_client_names(
        self, a: FaultyBroker, peer: AsyncWire, times: int, most: int, topic: str
    ) -> None:
        ext = send_ext("ID", "%RETRY%g", e="0", j=str(times), l=str(most))
        assert (await peer.request(310, ext, b"x")).code == 0
        assert a.store.unique_keys(topic) == {"ID": 1}

    async def test_c057_held_longer_than_was_asked(self, a: FaultyBroker, peer: AsyncWire) -> None:
        """What is answered 100 ms later comes before the pull that asked for 20 ms."""
        a.pulls.settings.extra_hold_s = 0.2
        a.faults.add(Delay(0.1), 30)
        pull = peer.post(11, pull_ext(suspendTimeoutMillis="20"))
        late = peer.post(30, {"topic": "T", "queueId": "1"})
        first, second = await peer.answers(2)
        assert [first.opaque, second.opaque] == [late, pull]
        assert second.code == 19

    async def test_c010_what_is_too_full_to_be_sent_back(self, a: FaultyBroker, peer: AsyncWire) -> None:
        record = a.put("T", BIG="x" * 32_750)
        assert (await peer.request(36, {"offset": str(record.offset), "group": "g", "delayLevel": "0"})).code == 1
        assert a.store.messages("%RETRY%g") == []


class TestMessages:
    async def test_c009_texts_at_the_limit(self, a: FaultyBroker, peer: AsyncWire) -> None:
        codes = [(await sent(peer, BIG="x" * size)).code for size in (32_600, 32_767, 70_000)]
        assert codes == [0, 13, 13]
        assert [each.queue_offset for each in a.store.messages("T")] == [0]

    async def test_c031_properties_of_other_clients_are_not_utf_8(self, a: FaultyBroker, peer: AsyncWire) -> None:
        a.put("T", queue_id=1, properties=b"TAGS\x01\xe4\x02KEYS\x01ok")
        a.put("T", queue_id=1, properties=b"TAGS\x01\xe4\x02\x02\x01\x02KEYS\x01last\x02")
        first, second = decode_records((await peer.request(11, pull_ext())).body)
        assert (first.properties, second.named["KEYS"]) == (b"TAGS\x01\xe4\x02KEYS\x01ok", "last")

    async def test_c056_large_messages_fill_a_pull(self, a: FaultyBroker, peer: AsyncWire) -> None:
        for _ in range(3):
            a.put("T", b"x" * 200_000, queue_id=1)
        answer = await peer.request(11, pull_ext())
        assert len(decode_records(answer.body)) == 1
        assert (answer.ext or {})["nextBeginOffset"] == "1"

    async def test_c063_a_broken_expression_gets_23(self, peer: AsyncWire) -> None:
        answer = await peer.request(11, pull_ext(subscription="||"))
        assert (answer.code, answer.remark) == (23, "parse the consumer's subscription failed")

    async def test_c064_tags_that_share_a_hash(self, a: FaultyBroker, peer: AsyncWire) -> None:
        for tag in ("AaAa", "BBBB", "中", "\U0001f600", "AaAa "):
            a.put("T", tag.encode(), queue_id=1, TAGS=tag)
        bodies = [
            each.body.decode() for each in decode_records((await peer.request(11, pull_ext(subscription="AaAa"))).body)
        ]
        assert bodies == ["AaAa", "BBBB"]
        smile = decode_records((await peer.request(11, pull_ext(subscription="\U0001f600"))).body)
        assert [each.tag for each in smile] == ["\U0001f600"]

    async def test_c065_one_of_two_brokers_refuses_a_query(self, cluster: FaultyCluster) -> None:
        a, b = cluster.brokers
        for broker in (a, b):
            broker.put("T", KEYS="k1 k2", UNIQ_KEY=broker.broker_name)
        b.faults.add(Refuse(1, "store is broken"), 12)
        ext = {"topic": "T", "key": "k2", "maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(2**62)}
        answers = []
        for broker in (a, b):
            async with await AsyncWire.connect(broker.address) as peer:
                answers.append(await peer.request(12, ext))
        assert [each.code for each in answers] == [0, 1]
        assert decode_records(answers[0].body)[0].unique_key == "broker-a"

    async def test_c066_a_broker_and_its_records_in_ipv6(self, tmp_path: Path) -> None:
        async with faulty_cluster(tmp_path, topics={"T": 1}, host="::1") as cluster:
            route = await (await cluster.running.wire()).request(105, {"topic": "T"})
            record = cluster.broker.put("T", born_host=("::1", 4711))
        assert route.json()["brokerDatas"][0]["brokerAddrs"]["0"].startswith("[::1]:")
        assert len(record.msg_id) == 56


async def test_disturbances_end_and_leave_the_brokers_well(cluster: FaultyCluster) -> None:
    """They are drawn from the seed, and after `calm` a send and a route work."""
    disturbances = Disturbances(cluster.brokers, seed=5)
    running_ = asyncio.ensure_future(disturbances.run())
    await eventually(lambda: len(disturbances.done) >= 8, "some disturbances")
    running_.cancel()
    await asyncio.gather(running_, return_exceptions=True)
    await disturbances.calm()
    for broker in cluster.brokers:
        async with await AsyncWire.connect(broker.address) as peer:
            assert (await sent(peer)).code == 0


def test_topics_are_values_that_a_test_may_make() -> None:
    assert Topic(name="T", read=2, write=4, perm=2).write == 4
