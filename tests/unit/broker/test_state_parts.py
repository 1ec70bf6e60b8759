"""The passive state of a broker: topics, groups, offsets, locks, members, waiting pulls, delay levels."""

import pytest

from cosmodrome.broker.delays import Delays, Head
from cosmodrome.broker.filters.subscriptions import EVERYTHING
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.locks import LOCK_MS, QueueLocks
from cosmodrome.broker.long_polls import AGAIN_MS, MOST_OF_ONE_CONNECTION, SWEEP_MS, HeldPull, LongPolls
from cosmodrome.broker.members import SILENCE_LIMIT_MS, Client, Members
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.topics import SCHEDULE_TOPIC, TEMPLATE_TOPIC, Topics, retry_topic
from cosmodrome.protocol.bodies.heartbeat import ConsumerData, MessageModel
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.offsets import DelayOffsetTable
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig, BrokerTopicTable
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.subscription import subscription_to_tags
from cosmodrome.store.reading import ReadLimits
from cosmodrome.transport.dispatch import Peer

NOW_MS = 1_700_000_000_000


def topics(template_queues: int = 8) -> Topics:
    return Topics("C", "b", template_queues, NOW_MS)


class TestTopics:
    def test_every_broker_has_these(self) -> None:
        table = topics().table().topic_config_table
        shapes = {name: (each.read_queue_nums, each.write_queue_nums, each.perm) for name, each in table.items()}
        assert shapes == {
            "SELF_TEST_TOPIC": (1, 1, 6),
            "TBW102": (8, 8, 7),
            "BenchmarkTest": (1024, 1024, 6),
            "C": (16, 16, 7),
            "b": (1, 1, 7),
            "OFFSET_MOVED_EVENT": (1, 1, 6),
            "SCHEDULE_TOPIC_XXXX": (18, 18, 6),
            "C_REPLY_TOPIC": (1, 1, 6),
            "RMQ_SYS_TRANS_HALF_TOPIC": (1, 1, 6),
            "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 1, 6),
            "rmq_sys_REVIVE_LOG_C": (8, 8, 6),
            "rmq_sys_wheel_timer": (1, 1, 6),
        }

    @pytest.mark.parametrize(("asked", "made"), [(4, 4), (100, 8), (1, 1), (0, 1), (-3, 1)])
    def test_a_new_topic_has_as_many_queues_as_the_template_allows(self, asked: int, made: int) -> None:
        table = topics()
        config = table.make_by_template("T", TEMPLATE_TOPIC, asked, NOW_MS)
        assert config is not None
        assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (made, made, 6)
        assert table.take_changed() == ("T",)
        assert table.take_changed() == ()

    @pytest.mark.parametrize("template", ["unknown", "SELF_TEST_TOPIC"])
    def test_without_a_template_that_may_be_one_nothing_is_made(self, template: str) -> None:
        table = topics()
        before = table.version
        assert table.make_by_template("T", template, 4, NOW_MS) is None
        assert "T" not in table
        assert table.version == before

    def test_there_is_no_template_when_topics_are_not_made(self) -> None:
        assert topics(template_queues=0).make_by_template("T", TEMPLATE_TOPIC, 4, NOW_MS) is None

    def test_each_change_moves_the_version_and_no_change_does_not(self) -> None:
        table = topics()
        config = BrokerTopicConfig(topic_name="T", attributes={})
        table.put(config, NOW_MS + 1)
        moved = table.version
        table.put(config, NOW_MS + 2)
        assert (moved.counter, moved.timestamp) == (1, NOW_MS + 1)
        assert table.version == moved

    def test_a_kept_table_comes_back_and_keeps_what_it_does_not_name(self) -> None:
        old, new = topics(), topics()
        old.put(BrokerTopicConfig(topic_name="T", read_queue_nums=3, attributes={}), NOW_MS)
        new.load(
            BrokerTopicTable(data_version=old.version, topic_config_table={"T": old.table().topic_config_table["T"]})
        )
        assert new.table() == old.table()

    def test_a_broker_that_may_not_be_written_publishes_that(self) -> None:
        table = topics()
        assert table.published(("C",), 4).topic_config_table["C"].perm == 4
        assert table.published(("C",), 6).topic_config_table["C"].perm == 7

    @pytest.mark.parametrize("name", ["TBW102", "C", "b", "C_REPLY_TOPIC", SCHEDULE_TOPIC, "rmq_sys_wheel_timer"])
    def test_system_topics(self, name: str) -> None:
        assert topics().is_system(name)
        assert not topics().is_system(f"{name}-mine".replace("rmq_sys", "my"))


class TestGroups:
    def test_a_group_is_made_when_it_is_named(self) -> None:
        groups = Groups(is_creating=True, now_ms=NOW_MS)
        found = groups.find("G", NOW_MS)
        assert found is not None
        assert (found.retry_queue_nums, found.retry_max_times, groups.is_changed) == (1, 16, True)

    @pytest.mark.parametrize("name", ["", "g" * 121])
    def test_names_that_no_group_can_have_make_none(self, name: str) -> None:
        groups = Groups(is_creating=True, now_ms=NOW_MS)
        assert groups.find(name, NOW_MS) is None
        assert not groups.is_changed

    def test_switched_off(self) -> None:
        groups = Groups(is_creating=False, now_ms=NOW_MS)
        assert groups.find("G", NOW_MS) is None
        assert groups.find("TOOLS_CONSUMER", NOW_MS) is not None

    def test_a_kept_table_comes_back(self) -> None:
        old, new = Groups(is_creating=True, now_ms=NOW_MS), Groups(is_creating=True, now_ms=NOW_MS)
        old.find("G", NOW_MS)
        new.load(old.table())
        assert new.table() == old.table()


class TestOffsets:
    def test_what_was_committed_and_nothing_else(self) -> None:
        offsets = Offsets(NOW_MS)
        offsets.commit("T", "G", 1, 7)
        offsets.commit("T", "G", 2, -1)
        assert [offsets.committed("T", "G", queue) for queue in range(3)] == [None, 7, None]
        assert offsets.committed("T", "H", 1) is None

    def test_a_lower_offset_counts(self) -> None:
        offsets = Offsets(NOW_MS)
        offsets.commit("T", "G", 0, 7)
        offsets.commit("T", "G", 0, 3)
        assert offsets.committed("T", "G", 0) == 3

    def test_a_reset_is_told_once_and_nothing_is_committed_meanwhile(self) -> None:
        offsets = Offsets(NOW_MS)
        offsets.commit("T", "G", 0, 9)
        offsets.reset("T", "G", 0, 4)
        assert not offsets.commit("T", "G", 0, 10)
        assert (offsets.committed("T", "G", 0), offsets.take_reset("T", "G", 0)) == (4, 4)
        assert offsets.take_reset("T", "G", 0) is None
        assert offsets.commit("T", "G", 0, 10)

    def test_b019_nothing_of_a_deleted_topic_or_group_is_left(self) -> None:
        offsets = Offsets(NOW_MS)
        for topic, group in (("T", "G"), ("T", "H"), ("U", "G")):
            offsets.commit(topic, group, 0, 5)
            offsets.note_pull(topic, group, 0, 5)
            offsets.reset(topic, group, 0, 5)
        offsets.forget_topic("T")
        offsets.forget_group("G")
        assert offsets.table().offset_table == {}
        assert offsets.table().pull_offset_table == {}
        assert [offsets.take_reset(topic, "G", 0) for topic in "TU"] == [None, None]

    def test_a_kept_table_comes_back(self) -> None:
        old, new = Offsets(NOW_MS), Offsets(NOW_MS)
        old.commit("%RETRY%G", "G", 0, 1)
        old.commit("T", "G", 3, 250)
        new.load(old.table(NOW_MS + 5))
        assert new.table() == old.table()
        assert new.table().group_topic_map == {"G": ("%RETRY%G", "T")}


class TestLocks:
    QUEUES = tuple(MessageQueue(topic="T", broker_name="b", queue_id=number) for number in range(2))

    def test_one_holder_until_it_gives_up_or_falls_silent(self) -> None:
        locks = QueueLocks()
        assert locks.lock("G", "a", self.QUEUES, 0) == self.QUEUES
        assert locks.lock("G", "b", self.QUEUES, LOCK_MS - 1) == ()
        assert locks.lock("H", "b", self.QUEUES, 0) == self.QUEUES
        locks.unlock("G", "b", self.QUEUES)
        assert locks.lock("G", "b", self.QUEUES, LOCK_MS - 1) == ()
        locks.unlock("G", "a", self.QUEUES[:1])
        assert locks.lock("G", "b", self.QUEUES, LOCK_MS - 1) == self.QUEUES[:1]
        assert locks.lock("G", "b", self.QUEUES, LOCK_MS) == self.QUEUES

    def test_renewing(self) -> None:
        locks = QueueLocks()
        locks.lock("G", "a", self.QUEUES, 0)
        assert locks.lock("G", "a", self.QUEUES, LOCK_MS - 1) == self.QUEUES
        assert locks.lock("G", "b", self.QUEUES, LOCK_MS + 1) == ()
        assert locks.is_any_held("G", LOCK_MS + 1)

    def test_what_is_over_is_forgotten(self) -> None:
        locks = QueueLocks()
        locks.lock("G", "a", self.QUEUES, 0)
        locks.forget_expired(LOCK_MS)
        assert not locks.is_any_held("G", 0)


def client(connection: int, client_id: str = "c", last_ms: int = 0) -> Client:
    return Client(
        connection=connection, client_id=client_id, address="127.0.0.1:1", language="JAVA", version=513, last_ms=last_ms
    )


def consumer(
    *names: str, group: str = "G", now_ms: int = 1, model: MessageModel = MessageModel.CLUSTERING
) -> ConsumerData:
    subscriptions = tuple(subscription_to_tags(name, None, now_ms) for name in names)
    return ConsumerData(group_name=group, subscription_data_set=subscriptions, message_model=model)


class TestMembers:
    def test_all_are_told_of_a_new_member_itself_included_and_not_of_a_known_one(self) -> None:
        members = Members()
        assert members.consumer_seen(consumer("T"), client(1), is_notifying=True) == {"G": (1,)}
        assert members.consumer_seen(consumer("T"), client(2), is_notifying=True) == {"G": (1, 2)}
        assert members.consumer_seen(consumer("T"), client(2), is_notifying=True) == {}

    def test_all_are_told_of_other_topics_and_not_of_another_expression(self) -> None:
        members = Members()
        members.consumer_seen(consumer("T"), client(1), is_notifying=True)
        assert members.consumer_seen(consumer("T", "U"), client(1), is_notifying=True) == {"G": (1,)}
        newer = ConsumerData(group_name="G", subscription_data_set=tuple(
            subscription_to_tags(name, "a", 2) for name in ("T", "U")
        ))  # fmt: skip
        assert members.consumer_seen(newer, client(1), is_notifying=True) == {}
        found = members.subscription("G", "T")
        assert found is not None
        assert found.sub_string == "a"

    def test_an_older_subscription_does_not_replace_a_newer_one(self) -> None:
        members = Members()
        members.consumer_seen(consumer("T", now_ms=5), client(1), is_notifying=True)
        members.consumer_seen(consumer("T", now_ms=4), client(2), is_notifying=True)
        assert members.subscriptions("G")["T"].sub_version == 5

    def test_nobody_is_told_in_a_group_that_broadcasts(self) -> None:
        members = Members()
        data = consumer("T", model=MessageModel.BROADCASTING)
        assert members.consumer_seen(data, client(1), is_notifying=True) == {}

    def test_those_that_stay_are_told_of_one_that_goes(self) -> None:
        members = Members()
        for connection in (1, 2, 3):
            members.consumer_seen(consumer("T"), client(connection), is_notifying=True)
        assert members.leave(1, None, "G", is_notifying=True) == {"G": (2, 3)}
        assert members.connection_lost(2) == {"G": (3,)}
        assert members.connection_lost(3) == {}
        assert members.state("G") is None

    def test_producers(self) -> None:
        members = Members()
        members.producer_seen("P", client(1, "old", 1))
        members.producer_seen("P", client(2, "new", 2))
        assert [each.client_id for each in members.producers("P")] == ["old", "new"]
        members.leave(1, "P", None, is_notifying=True)
        members.connection_lost(2)
        assert members.producer_groups() == ()

    def test_silent_connections_are_those_of_which_nothing_was_heard(self) -> None:
        members = Members()
        members.producer_seen("P", client(1, last_ms=0))
        members.consumer_seen(consumer("T"), client(1, last_ms=5), is_notifying=True)
        members.producer_seen("P", client(2, last_ms=0))
        assert members.silent(SILENCE_LIMIT_MS + 1) == (2,)


def pull(connection: int = 1, key: tuple[str, int] = ("T", 0), deadline_ms: int = 15_000) -> HeldPull:
    return HeldPull(
        RemotingCommand(11), Peer(connection, "127.0.0.1:1"), key, 0, 0, deadline_ms, ReadLimits(), EVERYTHING
    )


class TestLongPolls:
    def test_those_of_a_queue_and_of_nothing_else(self) -> None:
        polls = LongPolls()
        one, other = pull(), pull(key=("T", 1))
        assert polls.hold(one)
        assert polls.hold(other)
        assert polls.at([("T", 0), ("U", 0)]) == [one]
        polls.release(one)
        assert polls.at([("T", 0)]) == []
        assert len(polls) == 1

    def test_each_is_due_once(self) -> None:
        polls = LongPolls()
        early, late = pull(deadline_ms=5), pull(deadline_ms=9)
        polls.hold(late)
        polls.hold(early)
        assert polls.next_deadline_ms() == 5
        assert polls.due(4) == []
        assert polls.due(9) == [early, late]
        assert polls.due(99) == []
        assert polls.next_deadline_ms() is None

    def test_one_that_was_passed_is_due_at_the_next_sweep(self) -> None:
        polls = LongPolls()
        held = pull()
        polls.hold(held)
        polls.postpone(held, 3, 100)
        polls.postpone(held, 4, 200)
        assert (held.offset, polls.next_deadline_ms()) == (4, 100 + SWEEP_MS)
        assert polls.due(100 + SWEEP_MS) == [held]
        assert polls.due(15_000) == []

    def test_one_whose_peer_takes_nothing_is_looked_at_again_soon(self) -> None:
        polls = LongPolls()
        held = pull()
        polls.hold(held)
        polls.later(held, 100)
        assert polls.due(100 + AGAIN_MS) == [held]
        polls.later(held, 100 + AGAIN_MS)
        assert polls.at([("T", 0)]) == [held]
        assert polls.due(100 + 2 * AGAIN_MS) == [held]
        assert polls.due(15_000) == []

    def test_those_of_a_connection_that_ended_are_dropped(self) -> None:
        polls = LongPolls()
        polls.hold(pull(connection=1))
        stays = pull(connection=2)
        polls.hold(stays)
        polls.connection_lost(1)
        assert polls.due(15_000) == [stays]

    def test_one_connection_has_a_limit(self) -> None:
        polls = LongPolls()
        assert sum(polls.hold(pull()) for _ in range(MOST_OF_ONE_CONNECTION)) == MOST_OF_ONE_CONNECTION
        assert not polls.hold(pull())
        assert polls.hold(pull(connection=2))


class TestDelays:
    def test_each_level_has_its_own_head(self) -> None:
        delays = Delays((1000, 5000), NOW_MS)
        heads = delays.heads({1: 3, 2: 1}, lambda level, offset: level * 100 + offset)
        assert heads == [Head(1, 0, 100), Head(2, 0, 200)]
        delays.take(heads[0])
        assert delays.heads({1: 3}, lambda _, offset: offset) == [Head(1, 1, 1)]

    def test_what_failed_comes_again_and_is_not_passed_by_what_is_behind_it(self) -> None:
        delays = Delays((1000,), NOW_MS)
        first, second = Head(1, 0, 0), Head(1, 1, 0)
        delays.take(first)
        delays.take(second)
        delays.put_back(first)
        delays.put_back(second)
        assert delays.heads({1: 2}, lambda *_: 0) == [first]
        assert delays.offsets() == {}
        delays.done(first)
        assert delays.offsets() == {1: 1}

    def test_what_cannot_be_read_holds_nothing_up(self) -> None:
        delays = Delays((1000,), NOW_MS)
        assert delays.heads({1: 3}, lambda _, offset: None if offset < 2 else 7) == [Head(1, 2, 7)]
        assert delays.offsets() == {1: 2}

    def test_due_by_the_clock_and_when_the_clock_was_set_back(self) -> None:
        delays = Delays((1000,), NOW_MS)
        head = Head(1, 0, 5000)
        assert [delays.is_due(head, now_ms) for now_ms in (3999, 4000, 4999, 5000)] == [True, False, False, True]

    @pytest.mark.parametrize(("kept", "used"), [(99, 10), (-4, 2), (1, 2), (5, 5)])
    def test_b022_an_offset_outside_the_queue_is_put_right(self, kept: int, used: int) -> None:
        delays = Delays((1000, 2000), NOW_MS)
        told = delays.load(DelayOffsetTable(offset_table={1: kept, 7: 1, 0: 3}), lambda _: (2, 10))
        assert delays.offsets() == {1: used}
        assert len(told) == 2 + (kept != used)


def test_names_of_retry_topics() -> None:
    assert retry_topic("G") == "%RETRY%G"
