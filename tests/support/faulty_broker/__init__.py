"""A broker whose every word a test can choose: a double for tests of clients.

It registers with a real NameServer, keeps messages in memory and does what clients need of a broker, in the words of
5.5.0 (or `release=V4_9_7`): sends, batches, delay levels and timers, pulls with long polling and filters, members and
notices, offsets, locks, send back with retry and dead letter topics, transactions, request and reply, queries, POP. Then
anything may go wrong, by request code and count. It speaks with codecs of its own, not with those under test, and its
answers are held against recordings of real brokers (tests/unit/support/test_faulty_broker_answers.py).

    async with faulty_cluster(tmp_path, "broker-a", "broker-b", topics={"T": 4}) as cluster:
        a, b = cluster.brokers                      # registered; clients begin at cluster.name_server
        a.faults.add(Refuse(2, "busy"), SENDS)      # the next send to a is refused
        a.faults.add(DropAnswer(), 310, times=3, after=10)
        a.faults.add(Delay(0.2), PULLS, times=None, when=lambda arrival: arrival.ext["queueId"] == "1")
        ...
        await a.journal.arrived(310, 2)             # waits; so do journal.until(...) and journal.arrived(34)
        assert a.journal.requests(15, consumerGroup="g")[-1].ext["commitOffset"] == "7"
        assert a.store.unique_keys("T") == {"ID": 1}

Faults (faults.py; the first rule that matches decides)

    Refuse(code, remark)     nothing is done                    Alter(change)            any change of the answer
    AnswerWith(code)         done, another code (10, 11, 12)    Delay(s[, is_before])    late, or acted upon late
    Hold()                   until `hold.release()`             Paced(per_second)        a slow broker
    Silence()                nothing done, nothing said         DropAnswer()             done, nothing said
    CloseBefore([is_reset])  nothing done, closed               CloseUnanswered()        done, closed
    CloseInAnswer([count])   closed in the middle of it         CloseAfter()             answered, closed
    WrongOpaque()            for somebody else                  Garbage(data)            no frame at all
    AnswerTwice()            one too many                       InPieces(size)           byte by byte
    Trigger(act)             served, and `act()` is called: Trigger(broker.die) at the 300th send
    faults.sequence(code, [...])  one each, in order            faults.chaos = Chaos(seed, rate)

The whole broker: refuse_connects, accept_connects, black_hole, mute, is_slamming, close_lines, die, restart.
A name server that hangs or lies: FaultyBroker() without name servers; mute(), black_hole(), or
    double.works[105] = lambda under: route_reply([Place(name="broker-a", addresses={0: a.address}, queues=4)])
Chaos of whole brokers: Disturbances([a, b], seed).run() in a task, then calm().
Routes: announce, withdraw, set_topic, delete_topic, `advertised=` another address; brokers that die keep their route.
A slave: `FaultyBroker(ns, name, broker_id=1, store=master.store)`; pulls.settings.suggested_broker_id sends readers there.
Messages: put (any record), store.messages / bodies / unique_keys, store.drop_before (a raised minimum).
Clients: ask_client (220, 221, 307, 309), tell_client, groups.notify(group, times), check_transaction(unique_key).
Times: sends.settings.level_s (every delay level), timer_s; pulls.settings.longest_hold_s, extra_hold_s; groups.lock_s;
    pops.invisible_s; check_every_s (checks of transactions by itself).
SQL92: groups.sql = function of expression and properties; without it SQL92 is refused as by a default broker.
Own requests: broker.works[code] = function of `Under` that gives a `Reply`, or None to call `under.answer` later.
State to look at: groups.groups, producers, offsets, offset_history, locks; transactions.open, ended; pulls.held.

Owns: the names that tests use, and a cluster of a name server and brokers.
Must not know: the package under test, but to start its NameServer.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.builders import Running, running
from tests.support.faulty_broker.broker import FaultyBroker
from tests.support.faulty_broker.disturbances import Disturbances
from tests.support.faulty_broker.faults import (
    PULLS,
    SENDS,
    Alter,
    AnswerTwice,
    AnswerWith,
    Chaos,
    CloseAfter,
    CloseBefore,
    CloseInAnswer,
    CloseUnanswered,
    Delay,
    DropAnswer,
    Fault,
    Faults,
    Garbage,
    Hold,
    InPieces,
    Paced,
    Refuse,
    Rule,
    Silence,
    Trigger,
    WrongOpaque,
)
from tests.support.faulty_broker.groups import queue_table
from tests.support.faulty_broker.journal import Arrival, Reply
from tests.support.faulty_broker.line import Under
from tests.support.faulty_broker.records import Record, decode_records, encode_properties, offset_msg_id, tag_hash
from tests.support.faulty_broker.routes import Place, no_route, route_reply
from tests.support.faulty_broker.rules import V4_9_7, V5_5_0, RefusedError, Release
from tests.support.faulty_broker.store import MemoryStore, Topic

__all__ = [
    "PULLS",
    "SENDS",
    "V4_9_7",
    "V5_5_0",
    "Alter",
    "AnswerTwice",
    "AnswerWith",
    "Arrival",
    "Chaos",
    "CloseAfter",
    "CloseBefore",
    "CloseInAnswer",
    "CloseUnanswered",
    "Delay",
    "Disturbances",
    "DropAnswer",
    "Fault",
    "Faults",
    "FaultyBroker",
    "FaultyCluster",
    "Garbage",
    "Hold",
    "InPieces",
    "MemoryStore",
    "Paced",
    "Place",
    "Record",
    "Refuse",
    "RefusedError",
    "Release",
    "Reply",
    "Rule",
    "Silence",
    "Topic",
    "Trigger",
    "Under",
    "WrongOpaque",
    "decode_records",
    "encode_properties",
    "faulty_cluster",
    "no_route",
    "offset_msg_id",
    "queue_table",
    "route_reply",
    "tag_hash",
]


@dataclass(frozen=True, slots=True)
class FaultyCluster:
    """A NameServer in this process and the brokers that are registered with it."""

    running: Running
    brokers: tuple[FaultyBroker, ...]

    @property
    def name_server(self) -> str:
        """The address at which clients begin."""
        return self.running.server.address

    @property
    def broker(self) -> FaultyBroker:
        """The first broker."""
        return self.brokers[0]


@asynccontextmanager
async def faulty_cluster(
    folder: Path, *names: str, topics: Mapping[str, int] | None = None, **how: Any
) -> AsyncIterator[FaultyCluster]:
    """Run a NameServer and masters of these names (one, "broker-a", if none is given); `how` as FaultyBroker takes it."""
    async with running(folder) as name_server, AsyncExitStack() as stack:
        brokers = [
            await stack.enter_async_context(FaultyBroker(name_server.server.address, name, topics, **how))
            for name in names or ("broker-a",)
        ]
        yield FaultyCluster(name_server, tuple(brokers))
