"""A table of which only what is new was read gives exactly the tables that reading all of it gives."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import msgspec
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.support import builders, wire

from cosmodrome.errors import MalformedBodyError, RequestRefusedError
from cosmodrome.namesrv.events import TopicsAdded, TopicsRemoved
from cosmodrome.namesrv.processors.broker import BrokerProcessor
from cosmodrome.namesrv.routing import bases, stretch_changes
from cosmodrome.namesrv.routing.effects import ConnectionId, Effects
from cosmodrome.namesrv.routing.reader import TableOptions
from cosmodrome.namesrv.routing.registration import BrokerIdentity, BrokerRegistration
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies import json_table, table_outline
from cosmodrome.protocol.bodies.register_broker import decode_register_broker_body
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.limits import BodyLimits
from cosmodrome.protocol.slices import Slices
from cosmodrome.transport.dispatch import Peer

LIMITS: Final = BodyLimits(max_topics=60, max_name_length=40)
PEER: Final = Peer(1, "10.0.0.1:5000")
VERSION: Final = 513
# Some begin others, some look like the text around them, and one is written with an escape.
NAMES: Final = [*(f"T{number}" for number in range(24)), "T", '"},"T1":{', "主題", "}}", "T" * 39, "T" * 41]
ATTRIBUTES: Final = ["{}"] * 8 + ['{"+message.type":"NORMAL"}', '{"a":{},"T3":{}}', '{"a":"},\\"T4\\":{"}', "[]", "{"]

names = st.sampled_from(NAMES)
shapes = st.tuples(st.sampled_from([6, 6, 6, 4, 2]), st.sampled_from([4, 4, 8, 16]), st.sampled_from([0, 0, 1]))


@dataclass(frozen=True, slots=True)
class Topic:
    """One member of a table, as it is written."""

    name: str
    shape: tuple[int, int, int] = (6, 4, 0)
    key: str | None = None
    attributes: str = "{}"

    def text(self) -> str:
        perm, queues, flag = self.shape
        name, key = wire.dump(self.name).decode(), wire.dump(self.key or self.name).decode()
        return (
            f'{key}:{{"attributes":{self.attributes},"order":false,"perm":{perm},"readQueueNums":{queues},'
            f'"topicFilterType":"SINGLE_TAG","topicName":{name},"topicSysFlag":{flag},"writeQueueNums":{queues}}}'
        )


@dataclass(slots=True)
class Sender:
    """A broker, and the table that it sends."""

    identity: BrokerIdentity
    topics: list[Topic] = field(default_factory=list)
    counter: int = 1
    mapped: str | None = None
    is_compressed: bool = False

    def body(self) -> bytes:
        version = wire.data_version(self.counter)
        infos = [] if self.mapped is None else [wire.mapping_info(self.mapped, self.identity.broker_name, {0: 1})]
        if self.is_compressed:
            configs = [
                wire.topic_config(topic.name, perm=topic.shape[0], read=topic.shape[1], write=topic.shape[1])
                for topic in self.topics
            ]
            return wire.compressed_register_body(configs, version, mappings=infos)
        empty = wire.register_body([], version, mappings=infos)
        assert b'"topicConfigTable":{}' in empty
        table = ",".join(topic.text() for topic in self.topics).encode()
        return empty.replace(b'"topicConfigTable":{}', b'"topicConfigTable":{%b}' % table, 1)


def senders() -> list[Sender]:
    """Give a master, its slave, another broker that may act as master, and the slave of that one."""
    return [
        Sender(identity("a", "10.0.0.1:1", 0, acts=None)),
        Sender(identity("a", "10.0.0.2:1", 1, acts=None)),
        Sender(identity("b", "10.0.0.3:1", 0, acts=True)),
        Sender(identity("b", "10.0.0.4:1", 1, acts=True)),
    ]


def identity(name: str, addr: str, broker_id: int, *, acts: bool | None) -> BrokerIdentity:
    return BrokerIdentity(
        cluster="C",
        broker_name=name,
        broker_id=broker_id,
        addr=addr,
        ha_server_addr=f"{addr}2",
        enable_acting_master=acts,
    )


@contextmanager
def small_stretches() -> Iterator[None]:
    with (
        mock.patch.multiple(json_table, SHORT_BYTES=0, PIECE_BYTES=300),
        mock.patch.multiple(table_outline, SLACK_BYTES=500),
        mock.patch.multiple(stretch_changes, WORTH_A_NEW_TABLE=4),
        mock.patch.multiple(bases, MOST_TOUCHED=3),
    ):
        yield


def state_of(tables: RouteTables) -> dict[str, Any]:
    """Give all that the tables say, and what they are taken to cost."""
    queues = tables._queues
    return {
        "topics": {topic: queues.of_topic(topic) for topic in queues},
        "mappings": queues._mappings,
        "brokers": {name: dict(queues.of_broker(name)) for name in ("a", "b")},
        "groups": {group.broker_name: group for group in tables._brokers},
        "live": {info.key: (info.broker_name, info.data_version, info.ha_server_addr) for info in tables._live},
        "held_bytes": tables.held_bytes,
        "wiped": set(tables._wiped),
    }


def told_by(effects: Effects) -> list[Any]:
    """Give the events; the order of topics is nobody's."""
    return [
        msgspec.structs.replace(one, topics=tuple(sorted(one.topics)))
        if isinstance(one, TopicsAdded | TopicsRemoved)
        else one
        for one in effects.events
    ]


class Histories(RuleBasedStateMachine):
    """Two NameServers: one reads by stretches, the other everything."""

    def __init__(self) -> None:
        super().__init__()
        self.quick, self.plain = RouteTables(), RouteTables()
        self.told: list[Effects] = []
        config: Any = SimpleNamespace(
            current=SimpleNamespace(return_order_topic_config_to_broker=False),
            started_with=SimpleNamespace(body_limits=LIMITS),
        )
        kv_config: Any = None
        self.processor = BrokerProcessor(self.quick, kv_config, config, lambda: 1, self.told.append)
        self.senders = senders()
        self.patches = small_stretches()
        self.patches.__enter__()

    def teardown(self) -> None:
        self.patches.__exit__(None, None, None)

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        for sender in self.senders:
            count = data.draw(st.integers(2, 24))
            sender.topics = [Topic(f"T{number}") for number in range(count)]
            self._register(sender)

    # -- a broker's table, and how it is sent

    @rule(who=st.integers(0, 3), at=st.integers(0, 40), shape=shapes)
    def change(self, who: int, at: int, shape: tuple[int, int, int]) -> None:
        topics = self.senders[who].topics
        if topics:
            topics[at % len(topics)] = replace(topics[at % len(topics)], shape=shape)

    @rule(
        who=st.integers(0, 3), at=st.integers(0, 40), name=names, shape=shapes, attributes=st.sampled_from(ATTRIBUTES)
    )
    def insert(self, who: int, at: int, name: str, shape: tuple[int, int, int], attributes: str) -> None:
        topics = self.senders[who].topics
        topics.insert(at % (len(topics) + 1), Topic(name, shape, attributes=attributes))

    @rule(who=st.integers(0, 3), at=st.integers(0, 40), other=st.integers(0, 40), shape=shapes)
    def register_one_twice(self, who: int, at: int, other: int, shape: tuple[int, int, int]) -> None:
        """The same topic in two places, each with its own shape, and right again the next time."""
        sender = self.senders[who]
        self._register(sender)
        if sender.topics:
            twice = replace(sender.topics[at % len(sender.topics)], shape=shape)
            right = list(sender.topics)
            sender.topics.insert(other % len(right), twice)
            sender.counter += 1
            self._register(sender)
            sender.topics = right

    @rule(who=st.integers(0, 3), at=st.integers(0, 40), key=names)
    def put_under_another_key(self, who: int, at: int, key: str) -> None:
        topics = self.senders[who].topics
        if topics:
            topics[at % len(topics)] = replace(topics[at % len(topics)], key=key)

    @rule(who=st.integers(0, 3), at=st.integers(0, 40), count=st.integers(1, 12))
    def leave_out(self, who: int, at: int, count: int) -> None:
        topics = self.senders[who].topics
        start = at % (len(topics) + 1)
        del topics[start : start + count]

    @rule(who=st.integers(0, 3), data=st.data())
    def reorder(self, who: int, data: st.DataObject) -> None:
        self.senders[who].topics = data.draw(st.permutations(self.senders[who].topics))

    @rule(who=st.integers(0, 3), at=st.integers(1, 40))
    def rotate(self, who: int, at: int) -> None:
        topics = self.senders[who].topics
        self.senders[who].topics = topics[at:] + topics[:at]

    @rule(who=st.integers(0, 3))
    def mend(self, who: int) -> None:
        """Send a table again that can be read."""
        kept = {topic.name: replace(topic, key=None, attributes="{}") for topic in self.senders[who].topics}
        self.senders[who].topics = [topic for topic in kept.values() if len(topic.name) <= LIMITS.max_name_length]

    @rule(who=st.integers(0, 3), mapped=st.none() | st.sampled_from(["T1", "T2"]), is_compressed=st.booleans())
    def send_in_another_form(self, who: int, mapped: str | None, *, is_compressed: bool) -> None:
        self.senders[who].mapped, self.senders[who].is_compressed = mapped, is_compressed

    @rule(who=st.integers(0, 3), is_new=st.sampled_from([True, True, True, False]), data=st.data())
    def register(self, who: int, data: st.DataObject, *, is_new: bool) -> None:
        self.senders[who].counter += is_new
        self._register(self.senders[who], data)

    @rule(who=st.integers(0, 3), at=st.integers(0, 40), shape=shapes)
    def register_one(self, who: int, at: int, shape: tuple[int, int, int]) -> None:
        """As brokers do when a topic changes: the whole table follows under the same version."""
        sender = self.senders[who]
        if not sender.topics:
            return
        changed = replace(sender.topics[at % len(sender.topics)], shape=shape)
        sender.topics[at % len(sender.topics)] = changed
        sender.counter += 1
        self._register(replace(sender, topics=[changed]))

    # -- what others do

    def _both(self, change: Any) -> None:
        change(self.quick)
        change(self.plain)

    @rule(name=st.sampled_from("ab"), topic=names, perm=st.sampled_from([6, 4]))
    def register_topic(self, name: str, topic: str, perm: int) -> None:
        self._both(lambda tables: tables.register_topic(topic, [builders.queue_data(name, perm, 4, 0)]))

    @rule(topic=names)
    def delete_topic(self, topic: str) -> None:
        self._both(lambda tables: tables.delete_topic(topic, None))

    @rule(name=st.sampled_from("ab"), is_wipe=st.booleans())
    def change_perms(self, name: str, *, is_wipe: bool) -> None:
        self._both(lambda tables: (tables.wipe_write_perm if is_wipe else tables.add_write_perm)(name))

    @rule(who=st.integers(0, 3))
    def unregister(self, who: int) -> None:
        it = self.senders[who].identity
        self._both(lambda tables: tables.unregister_broker(it.broker_name, it.key, 1))

    @rule(deletes=st.booleans())
    def set_options(self, *, deletes: bool) -> None:
        self._both(lambda tables: tables.set_options(TableOptions(delete_topic_with_broker_registration=deletes)))

    # -- both ways

    def _register(self, sender: Sender, data: st.DataObject | None = None) -> None:
        body = sender.body()
        it = sender.identity
        broker = wire.Broker(
            name=it.broker_name,
            addr=it.addr,
            id=it.broker_id,
            cluster=it.cluster,
            ha_addr=it.ha_server_addr,
            enable_acting_master=it.enable_acting_master,
            heartbeat_timeout_millis=it.heartbeat_timeout_ms,
        )
        ext = wire.registration_ext(broker, compressed=sender.is_compressed, crc=wire.crc32_masked(body))
        request = RemotingCommand(103, version=VERSION, ext_fields=ext, body=body)
        before = data.draw(st.integers(0, 40)) if data is not None and data.draw(st.booleans()) else -1

        def meanwhile() -> None:
            assert data is not None
            topic, name = data.draw(names), data.draw(st.sampled_from("ab"))
            if data.draw(st.booleans()):
                self._both(lambda tables: tables.delete_topic(topic, None))
            else:
                self._both(lambda tables: tables.register_topic(topic, [builders.queue_data(name, 6, 4, 0)]))

        self.told.clear()
        is_taken, is_renewed = self._by_stretches(request, before, meanwhile)
        event("renewed" if is_renewed else f"taken: {is_taken}")
        effects = self._whole(sender, body)
        assert is_taken == (effects is not None)
        if effects is not None and not is_renewed:
            [told] = self.told
            assert told_by(told) == told_by(effects)
        assert state_of(self.quick) == state_of(self.plain)

    def _by_stretches(self, request: RemotingCommand, before: int, meanwhile: Any) -> tuple[bool, bool]:
        """Give whether it was taken, and whether as a heartbeat; before a slice of this number something else happens."""
        count = 0

        def played(work: Slices[Any]) -> Any:
            nonlocal count
            while True:
                if count == before:
                    meanwhile()
                count += 1
                try:
                    next(work)
                except StopIteration as end:
                    return end.value

        try:
            said = played(self.processor.announced(request, PEER))
            if self.processor.renewed(said) is not None:
                return True, True
            played(self.processor.registered(said))
        except RequestRefusedError as refused:
            # A single topic before its broker is refused by the tables, not by who reads.
            return refused.remark == "register broker failed", False
        return True, False

    def _whole(self, sender: Sender, body: bytes) -> Effects | None:
        try:
            read = decode_register_broker_body(
                body, VERSION, is_compressed=sender.is_compressed, now_ms=time.time_ns() // 1_000_000, limits=LIMITS
            )
        except MalformedBodyError:
            return None
        registration = BrokerRegistration(
            identity=sender.identity,
            table=read.table,
            filter_servers=read.filter_servers,
            connection=ConnectionId(PEER.connection_id),
            peer=PEER.address,
        )
        return self.plain.register_broker(registration, 1)[1]

    @invariant()
    def they_agree(self) -> None:
        assert state_of(self.quick) == state_of(self.plain)


Histories.TestCase.settings = settings(stateful_step_count=30, deadline=None)
TestHistories = Histories.TestCase
