"""A random history of brokers, tables, entries and settings whose every answer is known.

Owns: the changes, one after another over real connections, each told to the model as well.
Must not know: what else goes on at the server; how answers are compared (answers.py).
"""

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.soak.answers import (
    CLUSTERS,
    KEYS,
    NAMES,
    NAMESPACE,
    ORDERS,
    TOPICS_USED,
    Facts,
    PatientPeer,
    all_differences,
    route_differences,
)
from tests.support import builders
from tests.support.peer import SUCCESS, SYSTEM_ERROR, Peer, queue_data
from tests.support.waiting import wait_until
from tests.support.wire import Answer, Broker, data_version, topic_config

from cosmodrome.namesrv.routing.registration import BrokerRegistration
from cosmodrome.protocol.bodies.topic_config import TopicConfig

SETTLES_S: Final = 80.0
"""After a pause of 5 s, which a machine that is busy with other things may cause, brokers that left have 65 s to return."""
_LONG_TIMEOUT_MS: Final = 600_000
_SHORT_TIMEOUT_MS: Final = 1000
_VERSION_TIME: Final = 1_700_000_000_000
_REMEMBERED: Final = 12
_MOST_LINES: Final = 30


class WrongAnswerError(AssertionError):
    """An answer was not what the model says; the message has the last steps before it."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """A registration that was made, to be repeated or varied."""

    broker: Broker
    topics: tuple[TopicConfig, ...]
    counter: int
    state_version: int
    filters: tuple[str, ...]
    line: int


class CheckedHistory:
    """Changes the server's tables and asks about them, over connections of its own.

    One step at a time, so that every answer is determined; who uses the same server must use other names.
    """

    def __init__(self, address: str, rng: random.Random, facts: Facts) -> None:
        self.steps: Counter[str] = Counter()
        self._address = address
        self._rng = rng
        self._facts = facts
        self._model = facts.model
        self._client = PatientPeer(address, SETTLES_S)
        self._lines: dict[int, PatientPeer] = {}
        self._next_line = 1
        self._said: list[Said] = []
        self._last: deque[str] = deque(maxlen=_REMEMBERED)

    def step(self) -> None:
        """Do one random thing, and compare what it touched.

        Raises:
            WrongAnswerError: An answer was wrong.
            OSError: A connection of a well-behaved peer broke.
        """
        kind, change = self._rng.choices(self._CHANGES, self._WEIGHTS)[0]
        self.steps[kind] += 1
        change(self)
        if self.steps.total() % 10 == 0:
            self._hold(all_differences(self._client, self._facts))
        else:
            some = tuple(self._rng.sample(TOPICS_USED, 4))
            self._hold(list(route_differences(self._client, self._facts, some)))

    def leave(self) -> None:
        """Close all connections; nothing of this history may be left in the tables, but for entries and settings."""
        for line in list(self._lines):
            self._close(line)
        self._settle("all have left")

    def close(self) -> None:
        """Close every connection, whatever state they are in."""
        for line in (self._client, *self._lines.values()):
            line.close()

    # -- brokers

    def _come(self) -> None:
        shares = self._lines and (len(self._lines) >= _MOST_LINES or self._rng.random() < 0.3)
        line = self._rng.choice(list(self._lines)) if shares else self._new_line()
        self._register(self._anyone(line))

    def _change_table(self) -> None:
        said = self._someone()
        counter = said.counter + self._rng.choice((0, 1, 1))
        self._register(self._varied(said, topics=self._table(), counter=counter))

    def _say_a_part(self) -> None:
        said = self._someone()
        self._register(self._varied(said, topics=self._table(2), counter=said.counter + 1))

    def _say_again(self) -> None:
        self._register(self._someone())

    def _move_to_a_new_connection(self) -> None:
        said = self._someone()
        self._register(self._varied(said, line=self._new_line()))
        self._close(said.line, of_all=False)

    def _leave_in_good_order(self) -> None:
        broker = self._someone().broker
        self._expect("104", self._client.unreg(broker).code, SUCCESS)
        self._model.unregister(str(broker.name), str(broker.addr))
        self._note(f"104 {broker.name} {broker.addr}")

    def _close_connection(self) -> None:
        self._close(self._someone().line)
        self._settle("a connection was closed")

    def _die(self) -> None:
        self._close(self._someone().line, in_good_order=False)
        self._settle("a broker died")

    def _fall_silent(self) -> None:
        """Register with a short timeout, say nothing more, and be gone after it, the connection closed."""
        line = self._new_line()
        said = self._anyone(line, timeout_ms=_SHORT_TIMEOUT_MS)
        self._register(said)
        row = self._model.alive(str(said.broker.cluster), str(said.broker.addr))
        _, closed = self._model.expire(_SHORT_TIMEOUT_MS + 1)
        self._settle(f"{said.broker.addr} was silent")
        if row is not None and line in closed:
            with self._lines.pop(line) as closed_line:
                closed_line.expect_closed(SETTLES_S)
            self._forget(line)
        else:
            self._close(line)

    def _heartbeat(self) -> None:
        broker = self._someone().broker
        self._expect("904", self._lines_or_client(broker).heartbeat(broker).code, SUCCESS)

    # -- topics, permissions

    def _delete_topic(self) -> None:
        topic, cluster = self._rng.choice(TOPICS_USED), self._rng.choice((None, *CLUSTERS))
        self._expect("216", self._client.delete_topic(topic, cluster).code, SUCCESS)
        self._model.delete_topic(topic, cluster)
        self._note(f"216 {topic} {cluster}")

    def _register_topic(self) -> None:
        topic, perm = self._rng.choice(TOPICS_USED), self._rng.choice((4, 6))
        names = self._rng.sample(NAMES, self._rng.randrange(1, 3))
        answer = self._client.register_topic(topic, *(queue_data(name, perm) for name in names))
        self._expect("217", answer.code, SUCCESS)
        self._model.register_topic(topic, tuple(builders.queue_data(name, perm, 8) for name in names))
        self._note(f"217 {topic} {names}")

    def _change_perm(self) -> None:
        name, wipes = self._rng.choice(NAMES), self._rng.random() < 0.5
        count = self._client.wipe(name) if wipes else self._client.add_perm(name)
        self._note(f"{'205' if wipes else '327'} {name}")
        self._expect("topics touched", count, self._model.change_perm(name, wipe=wipes))

    # -- entries, settings

    def _put(self) -> None:
        namespace, key = self._entry()
        value = f"{self._rng.choice(NAMES)}:{self._rng.randrange(100)}"
        self._expect("100", self._client.put_kv(namespace, key, value).code, SUCCESS)
        self._facts.kv.setdefault(namespace, {})[key] = value
        self._note(f"100 {namespace} {key} {value}")

    def _delete_entry(self) -> None:
        namespace, key = self._entry()
        self._expect("102", self._client.delete_kv(namespace, key).code, SUCCESS)
        self._facts.kv.get(namespace, {}).pop(key, None)
        self._note(f"102 {namespace} {key}")

    def _change_setting(self) -> None:
        is_on = self._rng.random() < 0.5
        match self._rng.randrange(3):
            case 0:
                answer, self._model.supports_acting = self._client.change_config(supportActingMaster=is_on), is_on
            case 1:
                answer = self._client.change_config(deleteTopicWithBrokerRegistration=is_on)
                self._model.deletes_omitted = is_on
            case _:
                answer, self._facts.shows_order = self._client.change_config(orderMessageEnable=is_on), is_on
        self._expect("318", answer.code, SUCCESS)

    # -- parts

    def _entry(self) -> tuple[str, str]:
        if self._rng.random() < 0.5:
            return NAMESPACE, self._rng.choice(KEYS)
        return ORDERS, self._rng.choice(TOPICS_USED)

    def _anyone(self, line: int, timeout_ms: int = _LONG_TIMEOUT_MS) -> Said:
        rng = self._rng
        number, id_ = rng.randrange(len(NAMES)), rng.choice((0, 0, 0, 1, 1, 2))
        host = f"10.1.{number}.{id_ + rng.choice((0, 0, 0, 0, 100))}"
        broker = Broker(
            name=NAMES[number],
            cluster=CLUSTERS[number == len(NAMES) - 1],
            addr=f"{host}:10911",
            ha_addr=f"{host}:10912",
            id=id_,
            enable_acting_master=rng.choice((None, False, True, True)),
            heartbeat_timeout_millis=timeout_ms,
            zone=rng.choice((None, None, "checked-zone")),
        )
        return Said(
            broker=broker,
            topics=self._table(),
            counter=rng.randrange(1, 4),
            state_version=rng.choice((0, 0, 0, 1)),
            filters=rng.choice(((), (), ("10.1.1.1:1",))),
            line=line,
        )

    def _table(self, at_most: int = 8) -> tuple[TopicConfig, ...]:
        names = self._rng.sample(TOPICS_USED, self._rng.randrange(at_most + 1))
        return tuple(
            TopicConfig(
                topic_name=name,
                perm=self._rng.choice((6, 6, 7, 4, 2)),
                read_queue_nums=4,
                write_queue_nums=self._rng.choice((4, 8)),
                topic_sys_flag=self._rng.choice((0, 0, 1, 2, 3)),
            )
            for name in names
        )

    def _someone(self) -> Said:
        """Give the latest word of a broker whose connection is open; a new one if there is none."""
        while not self._said:
            self._come()
        return self._rng.choice(self._said)

    def _varied(self, said: Said, **values: Any) -> Said:
        return Said(**(vars(said) | values))

    def _lines_or_client(self, broker: Broker) -> Peer:
        return next((self._lines[said.line] for said in self._said if said.broker == broker), self._client)

    def _register(self, said: Said) -> None:
        answer = self._lines[said.line].reg(
            said.broker,
            [_as_sent(topic) for topic in said.topics],
            data_version(said.counter, _VERSION_TIME, said.state_version),
            filter_servers=said.filters,
        )
        expected = self._model.register(_as_registered(said), 0)
        self._note(f"103 {said!r} answered {expected.status}")
        if expected.status == "single":
            self._expect("103", answer.code, SYSTEM_ERROR)
            return
        addresses = {"haServerAddr": expected.ha, "masterAddr": expected.master}
        fields = {name: value for name, value in addresses.items() if value is not None}
        self._expect("103", (answer.code, answer.ext or {}), (SUCCESS, fields))
        self._expect("orders in the answer to 103", _table_in(answer), self._facts.kv.get(ORDERS))
        self._said = [other for other in self._said if other.broker.addr != said.broker.addr]
        self._said.append(said)

    def _new_line(self) -> int:
        number, self._next_line = self._next_line, self._next_line + 1
        self._lines[number] = PatientPeer(self._address, SETTLES_S)
        return number

    def _close(self, line: int, *, in_good_order: bool = True, of_all: bool = True) -> None:
        """Close a connection; with `of_all=False` only if no broker's latest word came over it."""
        if line not in self._lines or (not of_all and any(said.line == line for said in self._said)):
            return
        if in_good_order:
            self._lines.pop(line).end_sending()
        else:
            self._lines.pop(line).abort()
        self._note(f"connection {line} {'closed' if in_good_order else 'died'}")
        self._model.connection_closed(line)
        self._forget(line)

    def _forget(self, line: int) -> None:
        self._said = [said for said in self._said if said.line != line]

    def _settle(self, why: str) -> None:
        """Wait until the server has noticed what nobody answers for."""
        last: list[str] = []

        def is_as_told() -> bool:
            last[:] = all_differences(self._client, self._facts)
            return not last

        try:
            wait_until(is_as_told, why, SETTLES_S)
        except AssertionError:
            self._hold(last)

    def _expect(self, what: str, shown: object, expected: object) -> None:
        self._hold([] if shown == expected else [f"{what}: {shown!r:.1000}, expected {expected!r:.1000}"])

    def _hold(self, differences: list[str]) -> None:
        if differences:
            raise WrongAnswerError("\n  ".join(["wrong:", *differences[:5], "after:", *self._last]))

    def _note(self, text: str) -> None:
        self._last.append(text)

    _CHANGES: Final[tuple[tuple[str, Callable[["CheckedHistory"], None]], ...]] = (
        ("come", _come),
        ("change table", _change_table),
        ("say a part", _say_a_part),
        ("say again", _say_again),
        ("move", _move_to_a_new_connection),
        ("leave", _leave_in_good_order),
        ("close", _close_connection),
        ("die", _die),
        ("fall silent", _fall_silent),
        ("heartbeat", _heartbeat),
        ("delete topic", _delete_topic),
        ("register topic", _register_topic),
        ("change perm", _change_perm),
        ("put entry", _put),
        ("delete entry", _delete_entry),
        ("change setting", _change_setting),
    )
    _WEIGHTS: Final = (20, 16, 8, 12, 6, 6, 4, 4, 1, 6, 6, 6, 6, 6, 4, 2)


def _as_sent(topic: TopicConfig) -> dict[str, Any]:
    return topic_config(
        topic.topic_name, topic.read_queue_nums, topic.write_queue_nums, topic.perm, topic.topic_sys_flag
    )


def _as_registered(said: Said) -> BrokerRegistration:
    """Give what the model is told."""
    broker = said.broker
    timeout_ms = broker.heartbeat_timeout_millis
    assert isinstance(timeout_ms, int)
    assert isinstance(broker.id, int)
    who = builders.identity(
        str(broker.name),
        broker.id,
        addr=broker.addr,
        cluster=str(broker.cluster),
        acting=broker.enable_acting_master,
        timeout_ms=timeout_ms,
        zone=broker.zone,
        ha=broker.ha_addr,
    )
    return builders.registration(
        who,
        {topic.topic_name: topic for topic in said.topics},
        data_version=builders.version(said.counter, said.state_version, _VERSION_TIME),
        filter_servers=said.filters,
        connection=said.line,
    )


def _table_in(answer: Answer) -> dict[str, str] | None:
    table: dict[str, str] | None = answer.json()["table"] if answer.body else None
    return table
