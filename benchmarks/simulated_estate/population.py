"""Who is in the estate, and what a right answer about a topic looks like.

Owns: names, addresses and queue numbers; registration bodies; reading an answer down to who is in it.
Must not know: who is registered when (truth.py); connections.

A topic's number of queues tells which topic it is and which life of the broker sent it, so that an answer that mixes
topics, or is older than it may be, is seen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec
from tests.support.wire import Broker

from benchmarks.estate import FORMS

LIVES: Final = 4
"""Lives of a broker that are told apart; the fifth looks like the first again."""
CLUSTER: Final = "Simulated"
_KINDS: Final = 16
_PERM: Final = 6
_MOST_KNOWN: Final = 512


class WrongAnswerError(Exception):
    """An answer says what no state of the estate could."""


class _QueueData(msgspec.Struct, rename="camel"):
    broker_name: str
    perm: int
    read_queue_nums: int
    write_queue_nums: int
    topic_sys_flag: int = 0


class _BrokerData(msgspec.Struct, rename="camel"):
    broker_addrs: dict[str, str]
    broker_name: str
    cluster: str


class _Route(msgspec.Struct, rename="camel"):
    broker_datas: list[_BrokerData]
    queue_datas: list[_QueueData]


_ROUTES: Final = msgspec.json.Decoder(_Route)


@dataclass(frozen=True, kw_only=True)
class Population:
    """How many of what. `topics` are those of one broker; `is_disjoint` says that no two brokers have one in common."""

    brokers: int = 300
    topics: int = 10_000
    is_disjoint: bool = False
    clients: int = 5_000
    polled: int = 20
    """Topics that each client asks for."""
    form: str = "JSON"
    """Of registrations, see `benchmarks.estate.FORMS`."""

    @property
    def all_topics(self) -> int:
        """How many topics there are in all."""
        return self.topics * self.brokers if self.is_disjoint else self.topics

    def broker(self, number: int) -> Broker:
        """Give what a broker says about itself."""
        addr = f"10.90.{number // 250}.{number % 250}"
        return Broker(
            name=f"simulated-{number:04}", addr=f"{addr}:10911", ha_addr=f"{addr}:10912", cluster=CLUSTER, id=0
        )

    def bit(self, broker: int, life: int) -> int:
        """Give the bit that stands for one life of a broker in a set of them."""
        return 1 << (broker * LIVES + life % LIVES)

    def owners(self, topic: int) -> int:
        """Give all lives of the brokers that have a topic, as bits."""
        if not self.is_disjoint:
            return (1 << (self.brokers * LIVES)) - 1
        return (1 << LIVES) - 1 << (topic // self.topics * LIVES)

    def body(self, broker: int, life: int) -> bytes:
        """Give the table that a broker registers in one of its lives."""
        if self.is_disjoint:
            return self._make_body(broker * self.topics, life)
        if life not in self._shared_bodies:
            self._shared_bodies[life] = self._make_body(0, life)
        return self._shared_bodies[life]

    def read(self, topic: int, body: bytes) -> int:
        """Give which brokers, in which of their lives, an answer about a topic names, as bits.

        Raises:
            WrongAnswerError: It cannot be read, or is of another topic, or contradicts itself.
        """
        key = (body, topic % _KINDS)
        seen = self._known.get(key)
        if seen is None:
            seen = self._read(topic, body)
            if len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = seen
        return seen

    def _read(self, topic: int, body: bytes) -> int:
        try:
            route = _ROUTES.decode(body)
        except msgspec.MsgspecError as error:
            raise WrongAnswerError(f"not a route: {error}") from None
        seen = 0
        for data in route.queue_datas:
            seen |= self._life_in(topic, data)
        names = {data.broker_name for data in route.queue_datas}
        if not len(names) == len(route.queue_datas) == len(route.broker_datas):
            raise WrongAnswerError("a broker twice, or queues without a broker")
        for group in route.broker_datas:
            identity = self._identities.get(group.broker_name)
            if group.broker_name not in names or group.cluster != CLUSTER or group.broker_addrs != {"0": identity}:
                raise WrongAnswerError(f"no such group: {group}")
        return seen

    def _life_in(self, topic: int, data: _QueueData) -> int:
        number = self._numbers.get(data.broker_name)
        life, rest = divmod(data.read_queue_nums - 1 - topic % _KINDS, _KINDS)
        if number is None or rest or not 0 <= life < LIVES:
            raise WrongAnswerError(f"not what any broker sent for this topic: {data}")
        if data.write_queue_nums != data.read_queue_nums or data.perm != _PERM or data.topic_sys_flag:
            raise WrongAnswerError(f"not as it was sent: {data}")
        return self.bit(number, life)

    def _make_body(self, first: int, life: int) -> bytes:
        make: Callable[..., bytes] = FORMS[self.form]
        topics = range(first, first + self.topics)
        return make([(topic_name(topic), queues_of(topic, life)) for topic in topics], 1 + life)

    @cached_property
    def _numbers(self) -> dict[str | None, int]:
        return {self.broker(number).name: number for number in range(self.brokers)}

    @cached_property
    def _identities(self) -> dict[str | None, str | None]:
        return {broker.name: broker.addr for broker in map(self.broker, range(self.brokers))}

    @cached_property
    def _shared_bodies(self) -> dict[int, bytes]:
        return {}

    @cached_property
    def _known(self) -> dict[tuple[bytes, int], int]:
        return {}


def topic_name(topic: int) -> str:
    """Give the name of a topic."""
    return f"Simulated-{topic:07}"


def queues_of(topic: int, life: int) -> int:
    """Give how many queues a broker has for a topic in one of its lives, to read and to write alike."""
    return 1 + topic % _KINDS + _KINDS * (life % LIVES)
