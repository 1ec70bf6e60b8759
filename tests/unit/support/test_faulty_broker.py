"""The double does what its documentation says: faults, outages, routes, and the parts of a broker that recordings leave open."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support import wire
from tests.support.builders import AsyncWire
from tests.support.client_requests import heartbeat, pull_ext, send_ext, sent
from tests.support.faulty_broker import (
    PULLS,
    SENDS,
    Alter,
    AnswerTwice,
    AnswerWith,
    Arrival,
    Chaos,
    CloseAfter,
    CloseBefore,
    CloseInAnswer,
    CloseUnanswered,
    Delay,
    DropAnswer,
    Fault,
    FaultyBroker,
    FaultyCluster,
    Garbage,
    Hold,
    InPieces,
    Paced,
    Record,
    Refuse,
    Reply,
    Silence,
    WrongOpaque,
    decode_records,
    faulty_cluster,
    queue_table,
)

MAX_OFFSET: Final = 30


@pytest.fixture
async def broker() -> AsyncIterator[FaultyBroker]:
    async with FaultyBroker(topics={"T": 4}) as broker:
        yield broker


@pytest.fixture
async def peer(broker: FaultyBroker) -> AsyncIterator[AsyncWire]:
    async with await AsyncWire.connect(broker.address) as peer:
        yield peer


class TestFaults:
    async def test_a_rule_meets_so_many_requests_after_so_many(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        rule = broker.faults.add(Refuse(2, "busy"), SENDS, times=2, after=1)
        codes = [(await sent(peer, f"ID{number}")).code for number in range(5)]
        assert codes == [0, 2, 2, 0, 0]
        assert rule.met == 2
        assert broker.store.unique_keys("T") == {"ID0": 1, "ID3": 1, "ID4": 1}

    async def test_a_rule_looks_at_codes_and_conditions(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.add(Refuse(2), SENDS, times=None, when=lambda arrival: arrival.ext["topic"] == "U")
        assert (await sent(peer)).code == 0
        assert (await peer.request(310, send_ext(topic="U"), b"x")).code == 2
        assert (await peer.request(MAX_OFFSET, {"topic": "U", "queueId": "0"})).code == 0

    async def test_a_rule_that_is_stopped_meets_nobody(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        rule = broker.faults.add(Refuse(24, "gone"), PULLS, times=None)
        assert (await peer.request(11, pull_ext())).code == 24
        rule.stop()
        broker.put("T", queue_id=1)
        assert (await peer.request(11, pull_ext())).code == 0

    async def test_a_sequence_is_met_in_order(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.sequence(SENDS, [Refuse(code) for code in (1, 2, 14)])
        assert [(await sent(peer)).code for _ in range(4)] == [1, 2, 14, 0]

    async def test_a_refused_send_has_the_fields_of_real_refusals(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.add(Refuse(14, "disk full"))
        answer = await sent(peer)
        assert (answer.remark, answer.ext) == ("disk full", {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"})

    @pytest.mark.parametrize("code", [10, 11, 12])
    async def test_stored_but_not_safely(self, broker: FaultyBroker, peer: AsyncWire, code: int) -> None:
        broker.faults.add(AnswerWith(code))
        answer = await sent(peer)
        assert answer.code == code
        assert (answer.ext or {})["queueOffset"] == "0"
        assert broker.store.bodies("T") == [b"hello"]

    async def test_an_answer_can_be_altered(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.add(Alter(lambda reply: reply._replace(ext={"offset": "-9"})), MAX_OFFSET)
        assert (await peer.request(MAX_OFFSET, {"topic": "T", "queueId": "0"})).ext == {"offset": "-9"}

    @pytest.mark.parametrize("fault", [DropAnswer(), Silence()])
    async def test_no_answer_comes(self, broker: FaultyBroker, peer: AsyncWire, fault: Fault) -> None:
        broker.faults.add(fault, SENDS)
        peer.post(310, send_ext(), b"lost")
        answer = await peer.request(MAX_OFFSET, {"topic": "T", "queueId": "1"})
        assert answer.ext == {"offset": "1" if isinstance(fault, DropAnswer) else "0"}
        assert [arrival.replies for arrival in broker.journal.requests(310)] == [[]]

    @pytest.mark.parametrize(
        ("fault", "stored"),
        [
            (CloseBefore(), 0),
            (CloseBefore(is_reset=True), 0),
            (CloseUnanswered(), 1),
            (CloseUnanswered(is_reset=True), 1),
            (CloseInAnswer(), 1),
            (CloseInAnswer(3), 1),
        ],
    )
    async def test_a_close_without_an_answer(
        self, broker: FaultyBroker, peer: AsyncWire, fault: Fault, stored: int
    ) -> None:
        broker.faults.add(fault)
        peer.post(310, send_ext(), b"x")
        await peer.closed()
        assert peer.untaken == 0
        assert len(broker.store.messages("T")) == stored
        await broker.journal.until(lambda: not broker.lines, "the close")

    async def test_a_close_after_the_answer(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.add(CloseAfter())
        assert (await sent(peer)).code == 0
        await peer.closed()

    async def test_a_close_met_by_a_oneway(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.add(CloseUnanswered(), 15)
        ext = {"consumerGroup": "g", "topic": "T", "queueId": "0", "commitOffset": "1"}
        peer.post(15, ext, flag=wire.FLAG_ONEWAY)
        await peer.closed()

    @pytest.mark.parametrize("is_before", [False, True])
    async def test_a_delay(self, broker: FaultyBroker, peer: AsyncWire, *, is_before: bool) -> None:
        broker.faults.add(Delay(0.05, is_before), SENDS)
        late = peer.post(310, send_ext(), b"x")
        early = peer.post(MAX_OFFSET, {"topic": "T", "queueId": "1"})
        first, second = await peer.answers(2)
        assert [first.opaque, second.opaque] == [early, late]
        assert first.ext == {"offset": "0" if is_before else "1"}

    @pytest.mark.parametrize("is_before", [False, True])
    async def test_a_hold_lasts_until_it_is_released(
        self, broker: FaultyBroker, peer: AsyncWire, *, is_before: bool
    ) -> None:
        hold = Hold(is_before)
        broker.faults.add(hold, SENDS, times=None)
        held = [peer.post(310, send_ext(f"ID{number}"), b"x") for number in range(3)]
        assert (await peer.request(MAX_OFFSET, {"topic": "T", "queueId": "1"})).ext == {
            "offset": "0" if is_before else "3"
        }
        hold.release()
        assert [answer.opaque for answer in await peer.answers(3)] == held
        assert (await sent(peer)).code == 0

    async def test_a_slow_broker_answers_in_order_one_after_the_other(
        self, broker: FaultyBroker, peer: AsyncWire
    ) -> None:
        broker.faults.add(Paced(100), SENDS, times=None)
        broker.faults.add(Delay(0.05), MAX_OFFSET)
        late = peer.post(MAX_OFFSET, {"topic": "T", "queueId": "1"})
        opaques = [peer.post(310, send_ext(str(number)), b"x") for number in range(20)]
        answered = [answer.opaque for answer in await peer.answers(21)]
        assert [opaque for opaque in answered if opaque != late] == opaques
        assert 0 < answered.index(late) < 20

    async def test_an_answer_to_somebody_else(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.add(WrongOpaque(7, is_also_right=True))
        opaque = peer.post(310, send_ext(), b"x")
        assert [answer.opaque for answer in await peer.answers(2)] == [opaque + 7, opaque]

    async def test_garbage(self, broker: FaultyBroker) -> None:
        broker.faults.add(Garbage(b"\xff\xff\xff\xff no frame"))
        host, _, port = broker.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(wire.encode_request(MAX_OFFSET, {"topic": "T", "queueId": "0"}, opaque=1))
        assert await reader.readexactly(13) == b"\xff\xff\xff\xff no frame"
        writer.close()
        await writer.wait_closed()

    async def test_two_answers(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.add(AnswerTwice())
        opaque = peer.post(310, send_ext(), b"x")
        assert [answer.opaque for answer in await peer.answers(2)] == [opaque, opaque]
        assert broker.store.unique_keys("T") == {"ID": 1}

    async def test_pieces_keep_the_order_of_answers(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.add(InPieces(1), times=1)
        opaques = [peer.post(MAX_OFFSET, {"topic": "T", "queueId": "0"}) for _ in range(3)]
        assert [answer.opaque for answer in await peer.answers(3)] == opaques


class TestChaos:
    @staticmethod
    def drawn(seed: int, count: int, **how: Any) -> list[Fault]:
        chaos, command = Chaos(seed, **how), wire.decode(wire.encode_request(310, opaque=1)[4:])
        arrival = Arrival(1, 0.0, 1, "", command, b"", {})
        return [chaos.draw(arrival) for _ in range(count)]

    def test_a_seed_gives_the_same_faults(self) -> None:
        first, again, other = (list(map(repr, self.drawn(seed, 300, rate=0.5))) for seed in (7, 7, 8))
        assert first == again
        assert first != other

    def test_the_rate_is_kept_and_every_fault_is_drawn(self) -> None:
        names = [fault.name for fault in self.drawn(1, 20_000, rate=0.25)]
        assert 0.7 < names.count("") / len(names) < 0.8
        assert len(set(names)) == 13

    def test_codes_can_be_spared(self) -> None:
        assert {fault.name for fault in self.drawn(1, 200, rate=1, spared=SENDS)} == {""}

    async def test_everything_is_well_again_after_clear(self, broker: FaultyBroker) -> None:
        broker.faults.chaos = Chaos(3, rate=1.0)
        broker.faults.add(Refuse(1), times=None)
        broker.faults.clear()
        async with await AsyncWire.connect(broker.address) as peer:
            assert [(await sent(peer, str(number))).code for number in range(20)] == [0] * 20


class TestOutages:
    async def test_refused_connects_and_their_end(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        await broker.refuse_connects()
        with pytest.raises(ConnectionRefusedError):
            await AsyncWire.connect(broker.address)
        assert (await sent(peer)).code == 0
        await broker.accept_connects()
        async with await AsyncWire.connect(broker.address) as other:
            assert (await sent(other)).code == 0

    async def test_a_black_hole_swallows_connects(self, broker: FaultyBroker) -> None:
        await broker.black_hole()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(AsyncWire.connect(broker.address), 0.2)
        await broker.accept_connects()
        async with await AsyncWire.connect(broker.address) as other:
            assert (await sent(other)).code == 0

    async def test_a_mute_broker_accepts_and_takes_what_waited_when_it_wakes(
        self, broker: FaultyBroker, peer: AsyncWire
    ) -> None:
        assert (await sent(peer)).code == 0
        broker.mute()
        async with await AsyncWire.connect(broker.address) as other:
            peer.post(310, send_ext(), b"x")
            other.post(310, send_ext(), b"x")
            await broker.journal.until(lambda: broker.journal.connects == 2, "the second connection")
            assert broker.journal.counts[310] == 1
            await broker.accept_connects()
            assert [(await each.answer()).code for each in (peer, other)] == [0, 0]

    async def test_a_slamming_broker_closes_what_it_accepts(self, broker: FaultyBroker) -> None:
        broker.is_slamming = True
        async with await AsyncWire.connect(broker.address) as peer:
            await peer.closed()

    async def test_a_restart_forgets_members_and_keeps_messages_and_offsets(
        self, broker: FaultyBroker, peer: AsyncWire
    ) -> None:
        await sent(peer)
        peer.post(34, None, heartbeat("c1", "g", T="*"))
        await peer.answers(2)
        broker.groups.commit(("g", "T", 1), 1)
        await broker.restart()
        await peer.closed()
        async with await AsyncWire.connect(broker.address) as other:
            offset = await other.request(14, {"consumerGroup": "g", "topic": "T", "queueId": "1"})
            members = await other.request(38, {"consumerGroup": "g"})
        assert offset.ext == {"offset": "1"}
        assert members.code == 1
        assert broker.store.bodies("T") == [b"hello"]

    async def test_a_heartbeat_that_is_acted_upon_after_the_end_of_its_connection_makes_no_member(
        self, broker: FaultyBroker
    ) -> None:
        held = Hold(is_before=True)
        broker.faults.add(held, 34)
        async with await AsyncWire.connect(broker.address) as gone:
            gone.post(34, None, heartbeat("c1", "g", T="*"))
            await broker.journal.arrived(34)
        await broker.journal.until(lambda: not broker.lines, "the end of the connection")
        held.release()
        async with await AsyncWire.connect(broker.address) as other:
            members = await other.request(38, {"consumerGroup": "g"})
        assert members.code == 1

    async def test_stop_may_be_called_again(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        await broker.stop()
        await broker.stop()
        await peer.closed()


class TestRoutes:
    @pytest.fixture
    async def cluster(self, tmp_path: Path) -> AsyncIterator[FaultyCluster]:
        async with faulty_cluster(tmp_path, "broker-a", "broker-b", topics={"T": 4}) as cluster:
            yield cluster

    @staticmethod
    async def route(cluster: FaultyCluster, topic: str = "T") -> Mapping[str, Any]:
        answer = await (await cluster.running.wire()).request(105, {"topic": topic})
        if answer.code:
            return {}
        data = answer.json()
        addresses = {each["brokerName"]: each["brokerAddrs"] for each in data["brokerDatas"]}
        return {
            each["brokerName"]: (each["readQueueNums"], each["writeQueueNums"], addresses[each["brokerName"]])
            for each in data["queueDatas"]
        }

    async def until(self, cluster: FaultyCluster, topic: str, names: set[str]) -> None:
        """Wait until these brokers and no others are in a topic's route."""
        async with asyncio.timeout(10):
            seen = set(await self.route(cluster, topic))
            while seen != names:
                await asyncio.sleep(0.005)
                seen = set(await self.route(cluster, topic))

    async def test_brokers_are_in_the_route(self, cluster: FaultyCluster) -> None:
        a, b = cluster.brokers
        assert await self.route(cluster) == {
            "broker-a": (4, 4, {"0": a.address}),
            "broker-b": (4, 4, {"0": b.address}),
        }

    async def test_a_dead_broker_keeps_its_route_and_a_stopped_one_does_not(self, cluster: FaultyCluster) -> None:
        a, b = cluster.brokers
        await a.die()
        await b.stop()
        await self.until(cluster, "T", {"broker-a"})

    async def test_the_number_of_queues_changes(self, cluster: FaultyCluster) -> None:
        await cluster.broker.set_topic("T", 8, write=2)
        assert (await self.route(cluster))["broker-a"][:2] == (8, 2)

    async def test_a_topic_is_deleted_and_made_again(self, cluster: FaultyCluster) -> None:
        await cluster.broker.delete_topic("T")
        assert set(await self.route(cluster)) == {"broker-b"}
        await cluster.broker.set_topic("T", 4)
        assert set(await self.route(cluster)) == {"broker-a", "broker-b"}

    async def test_withdrawn_and_back(self, cluster: FaultyCluster) -> None:
        await cluster.broker.withdraw()
        assert set(await self.route(cluster)) == {"broker-b"}
        await cluster.broker.announce()
        assert set(await self.route(cluster)) == {"broker-a", "broker-b"}

    async def test_a_route_that_shows_another_address(self, cluster: FaultyCluster) -> None:
        cluster.broker.advertised = "127.0.0.1:1"
        await cluster.broker.announce()
        assert (await self.route(cluster))["broker-a"][2] == {"0": "127.0.0.1:1"}

    async def test_a_slave_serves_the_store_of_its_master(self, cluster: FaultyCluster) -> None:
        master = cluster.broker
        slave = FaultyBroker(cluster.name_server, "broker-a", broker_id=1, store=master.store)
        master.put("T", b"from the master", queue_id=1)
        async with slave, await AsyncWire.connect(slave.address) as peer:
            assert (await self.route(cluster))["broker-a"][2] == {"0": master.address, "1": slave.address}
            answer = await peer.request(11, pull_ext())
            assert [each.body for each in decode_records(answer.body)] == [b"from the master"]
            assert (await sent(peer)).code == 14

    async def test_a_topic_made_by_a_send_gets_a_route(self, cluster: FaultyCluster) -> None:
        async with await AsyncWire.connect(cluster.broker.address) as peer:
            assert (await peer.request(310, send_ext(topic="New"), b"x")).code == 0
        await self.until(cluster, "New", {"broker-a"})


class TestPulls:
    async def test_a_held_pull_is_answered_by_a_message(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        opaque = peer.post(11, pull_ext())
        await broker.journal.until(lambda: broker.pulls.held, "the hold")
        broker.put("T", b"news", queue_id=1)
        answer = await peer.answer()
        assert answer.opaque == opaque
        assert [each.body for each in decode_records(answer.body)] == [b"news"]

    async def test_a_held_pull_ends_after_its_time(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        answer = await peer.request(11, pull_ext(suspendTimeoutMillis="20"))
        assert (answer.code, answer.remark) == (19, "NO_MESSAGE_IN_QUEUE")

    async def test_pulls_can_be_let_go(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        peer.post(11, pull_ext())
        await broker.journal.until(lambda: broker.pulls.held, "the hold")
        broker.pulls.release()
        assert (await peer.answer()).code == 19

    async def test_a_closed_connection_holds_nothing(self, broker: FaultyBroker) -> None:
        async with await AsyncWire.connect(broker.address) as peer:
            peer.post(11, pull_ext())
            await broker.journal.until(lambda: broker.pulls.held, "the hold")
        await broker.journal.until(lambda: not broker.pulls.held, "nothing held")

    async def test_tags_are_told_apart_by_hash_only(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        for tag in ("Aa", "BB", "C"):
            broker.put("T", tag.encode(), queue_id=1, TAGS=tag)
        answer = await peer.request(11, pull_ext(subscription="Aa"))
        assert [each.tag for each in decode_records(answer.body)] == ["Aa", "BB"]
        assert (answer.ext or {})["nextBeginOffset"] == "3"

    async def test_retention_moves_the_offset(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        for _ in range(5):
            broker.put("T", queue_id=1)
        broker.store.drop_before("T", 1, 3)
        answer = await peer.request(11, pull_ext(1))
        assert (answer.code, answer.remark, (answer.ext or {})["nextBeginOffset"]) == (21, "OFFSET_TOO_SMALL", "3")
        assert len(decode_records((await peer.request(11, pull_ext(3))).body)) == 2

    async def test_sql_is_refused_until_a_function_stands_for_it(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.put("T", queue_id=1, A="1")
        broker.put("T", queue_id=1, A="2")
        ext = pull_ext(subscription="a > 1", expressionType="SQL92")
        assert (await peer.request(11, ext)).code == 1
        broker.groups.sql = lambda text, named: text == "a > 1" and int(named["A"]) > 1
        answer = await peer.request(11, ext)
        assert [each.named["A"] for each in decode_records(answer.body)] == ["2"]

    async def test_properties_need_not_be_text(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.put("T", queue_id=1, properties=b"KEYS\x01\xff\xfe\x02broken\x02")
        (record,) = decode_records((await peer.request(11, pull_ext())).body)
        assert record.properties == b"KEYS\x01\xff\xfe\x02broken\x02"

    async def test_addresses_of_both_families(self) -> None:
        async with FaultyBroker(topics={"T": 1}, host="::1") as broker, await AsyncWire.connect(broker.address) as peer:
            answer = await sent(peer, e="0")
            stored = broker.store.messages("T")[0]
            viewed = await peer.request(33, {"offset": str(stored.offset)})
        assert len((answer.ext or {})["msgId"]) == 56
        assert decode_records(viewed.body) == [stored.changed(sys_flag=0x30)]
        assert (stored.born_host[0], stored.store_host[0]) == ("::1", "::1")


class TestMessages:
    async def test_a_delayed_message_waits_for_its_level(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.sends.settings.level_s = 1000
        assert (await sent(peer, DELAY="3")).code == 0
        assert broker.store.messages("T") == []
        broker.sends.deliver_parked(3)
        assert [each.unique_key for each in broker.store.messages("T")] == ["ID"]

    async def test_levels_are_short(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        await sent(peer, DELAY="18")
        await broker.journal.until(lambda: broker.store.messages("T"), "the delivery")

    async def test_a_timer_message_is_delivered_or_recalled(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        handles = [(await sent(peer, key, TIMER_DELAY_SEC="2")).ext or {} for key in ("kept", "recalled")]
        ext = {"producerGroup": "pg", "topic": "T", "recallHandle": handles[1]["recallHandle"]}
        assert (await peer.request(370, ext)).ext == {"msgId": "recalled"}
        broker.sends.settings.timer_s = 0.0
        await sent(peer, "at once", TIMER_DELAY_SEC="1000")
        await broker.journal.until(lambda: len(broker.store.messages("T")) == 2, "the delivery")
        assert broker.store.unique_keys("T") == {"kept": 1, "at once": 1}

    async def test_failed_messages_go_through_retries_to_the_dead_letters(
        self, broker: FaultyBroker, peer: AsyncWire
    ) -> None:
        record = broker.put("T", b"bad", UNIQ_KEY="ID")
        for times in range(3):
            ext = {"offset": str(record.offset), "group": "g", "delayLevel": "0", "maxReconsumeTimes": "2"}
            assert (await peer.request(36, ext)).code == 0
            if times < 2:
                retries = broker.store.messages
                await broker.journal.until(lambda: len(retries("%RETRY%g")) > times, "the retry")  # noqa: B023 -- awaited here
                record = broker.store.messages("%RETRY%g")[-1]
        (dead,) = broker.store.messages("%DLQ%g")
        assert (dead.reconsume_times, dead.unique_key, dead.named["RETRY_TOPIC"]) == (3, "ID", "T")
        assert [each.named["DELAY"] for each in broker.store.messages("%RETRY%g")] == ["3", "4"]

    async def test_a_message_too_full_to_be_sent_back(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        record = broker.put("T", BIG="x" * 32_700)
        answer = await peer.request(36, {"offset": str(record.offset), "group": "g", "delayLevel": "0"})
        assert (answer.code, answer.remark) == (1, "MESSAGE_ILLEGAL")

    async def test_a_transaction_is_checked_and_committed_once(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        await peer.request(34, None, heartbeat("p1"))
        await sent(peer, "TX", f="4", TRAN_MSG="true", PGROUP="pg")
        assert broker.store.messages("T") == []
        copy = broker.check_transaction("TX")
        check = await peer.answer()
        (shown,) = decode_records(check.body)
        assert (check.code, check.flag, shown.topic, shown.queue_id) == (39, wire.FLAG_ONEWAY, "T", 1)
        assert shown.named["TRANSACTION_CHECK_TIMES"] == "1"
        ext = check.ext or {}
        assert (ext["commitLogOffset"], ext["offsetMsgId"]) == (str(copy.offset), copy.msg_id)
        names = ("tranStateTableOffset", "commitLogOffset", "msgId", "transactionId")
        end = {"producerGroup": "pg", "commitOrRollback": "8", "fromTransactionCheck": "true"}
        assert (await peer.request(37, end | {name: ext[name] for name in names})).code == 0
        assert [(each.unique_key, each.sys_flag) for each in broker.store.messages("T")] == [("TX", 8)]
        assert broker.transactions.ended == [("TX", 8)]
        assert broker.transactions.open == {}

    async def test_a_check_can_name_another_group(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        await peer.request(34, None, heartbeat("p1"))
        await sent(peer, "TX", TRAN_MSG="true", PGROUP="pg")
        broker.check_transaction("TX", "p1", group="nobody")
        (shown,) = decode_records((await peer.answer()).body)
        assert shown.named["PGROUP"] == "nobody"

    async def test_nothing_is_kept_when_memory_is_measured(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.sends.settings.is_storing, broker.journal.is_counting_only = False, True
        assert (await sent(peer)).code == 0
        assert broker.store.records() == []
        assert broker.journal.arrivals == []
        await broker.journal.arrived(310, 1)


class TestClients:
    async def test_a_flood_of_notices(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        peer.post(34, None, heartbeat("c1", "g", T="*"))
        await peer.answers(2)
        broker.groups.notify("g", 500)
        assert {(each.code, (each.ext or {})["consumerGroup"]) for each in await peer.answers(500)} == {(40, "g")}
        assert broker.groups.notices_sent["g"] == 501

    async def test_a_request_to_a_client_and_its_answer(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        peer.post(34, None, heartbeat("c1", "g", T="*"))
        await peer.answers(2)
        asking = asyncio.ensure_future(broker.ask_client("c1", 307, {"consumerGroup": "g", "clientId": "c1"}))
        asked = await peer.answer()
        peer.send(wire.encode_request(0, None, b"{}", opaque=asked.opaque, flag=wire.FLAG_RESPONSE))
        assert (asked.code, asked.flag, (await asking).body) == (307, 0, b"{}")

    async def test_a_table_of_offsets_is_written_as_java_does(self) -> None:
        table = queue_table({("T", "b", 0): 5})
        assert table == b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:5}}'

    async def test_a_lock_expires(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        def body(client_id: str) -> bytes:
            queues = [{"topic": "T", "brokerName": "broker-a", "queueId": 0}]
            return wire.dump({"clientId": client_id, "consumerGroup": "g", "mqSet": queues})

        granted = [len((await peer.request(41, None, body(each))).json()["lockOKMQSet"]) for each in ("a", "b")]
        broker.groups.lock_s = 0.0
        granted.append(len((await peer.request(41, None, body("b"))).json()["lockOKMQSet"]))
        assert granted == [1, 0, 1]

    async def test_locks_of_those_who_left_expire(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        peer.post(34, None, heartbeat("here", "g", T="*"))
        await peer.answers(2)
        for client_id, queue_id in (("here", 0), ("gone", 1)):
            queue = {"topic": "T", "brokerName": "broker-a", "queueId": queue_id}
            await peer.request(41, None, wire.dump({"clientId": client_id, "consumerGroup": "g", "mqSet": [queue]}))
        broker.groups.expire_locks()
        assert {key: owner for key, (owner, _) in broker.groups.locks.items()} == {("g", "T", 0): "here"}


class TestJournal:
    async def test_what_arrived_can_be_asked_for(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.faults.add(DropAnswer(), SENDS)
        peer.post(310, send_ext("one"), b"x")
        await sent(peer, "two")
        first, second = broker.journal.requests(310, topic="T", queueId=1)
        assert (first.fault, first.replies) == ("DropAnswer", [])
        assert (second.fault, [reply.code for reply in second.replies]) == ("", [0])
        assert second.frame == wire.encode_request(310, send_ext("two"), b"hello", opaque=2)
        assert broker.journal.requests(310, topic="U") == []

    async def test_waiting_ends_with_the_arrival_or_in_time(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        waiting = asyncio.ensure_future(broker.journal.arrived(310, 2))
        await sent(peer, "one")
        assert not waiting.done()
        await sent(peer, "two")
        assert len(await waiting) == 2
        with pytest.raises(AssertionError, match="310"):
            await broker.journal.arrived(310, 3, within_s=0.01)

    async def test_a_work_can_be_replaced(self, broker: FaultyBroker, peer: AsyncWire) -> None:
        broker.works[400] = lambda under: Reply(0, None, None, under.arrival.body)
        assert (await peer.request(400, None, b"{}")).body == b"{}"

    def test_records_decode_to_what_was_encoded(self) -> None:
        record = Record(topic="T", body=b"x", properties=b"a\x01b\x02", queue_id=3, offset=77, born_host=("::1", 5))
        assert decode_records(record.encode() * 2) == [record.changed(sys_flag=0x10)] * 2
