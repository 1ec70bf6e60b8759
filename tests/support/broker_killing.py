"""A broker that is killed, or stopped, again and again while producers send, and what it promised.

Owns: the producers, the instants of the ends, the books on every acknowledged message, and the final count.
Must not know: the package under test, beyond its command line and the protocol.
"""

import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support import wire
from tests.support.broker_process import BrokerProcess
from tests.support.faulty_broker.records import Record, decode_records
from tests.support.waiting import wait_until
from tests.support.wire import Wire

TOPIC: Final = "Killed"
QUEUES: Final = 4
PRODUCERS: Final = 2
WINDOW: Final = 64
"""Messages that a producer has on their way at once."""
LOAD_S: Final = 120.0
LONGEST_DELAY_S: Final = 0.05
SEND, PULL = 310, 11


@dataclass(slots=True)
class Figures:
    """What a campaign did and found."""

    kills: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    stored: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills in {self.seconds:.0f} s: {self.acknowledged} acknowledged messages, 0 lost; "
            f"{self.unanswered} unanswered, {self.stored} stored in all"
        )


@dataclass(slots=True)
class _Book:
    """What one producer knows: which numbers were acknowledged and where, which were sent."""

    number: int
    sent: int = 0
    acknowledged: dict[int, tuple[int, int]] = field(default_factory=dict)
    refusal: wire.Answer | None = None


class BrokerKillCampaign:
    """Kills a broker many times on one store while it takes messages with SYNC_FLUSH; or ends it with SIGTERM."""

    def __init__(self, folder: Path, *, seed: int = 1, is_stopped: bool = False) -> None:
        """Prepare; nothing is started."""
        self.figures = Figures()
        self._is_stopped = is_stopped
        self._folder = folder
        self._random = random.Random(seed)
        self._books = [_Book(number) for number in range(PRODUCERS)]

    def run(self, kills: int, messages: int) -> Figures:
        """Have so many messages acknowledged with so many kills between, then count."""
        began = time.monotonic()
        for number in range(kills):
            share = messages * (number + 1) // kills
            self._load(share - self._random.randrange(messages // kills // 2), is_killed=True)
            self.figures.kills += 1
        self._load(messages, is_killed=False)
        self.figures.acknowledged = self._acknowledged()
        self.figures.unanswered = sum(book.sent for book in self._books) - self.figures.acknowledged
        self.figures.seconds = time.monotonic() - began
        return self.figures

    def _acknowledged(self) -> int:
        return sum(len(book.acknowledged) for book in self._books)

    def _load(self, wanted: int, *, is_killed: bool) -> None:
        with BrokerProcess(self._folder, flushDiskType="SYNC_FLUSH") as broker:
            self._look_at_ends(broker.address)
            goes_on = threading.Event()
            goes_on.set()
            producers = [
                threading.Thread(target=self._produce, args=(broker.address, book, goes_on)) for book in self._books
            ]
            for producer in producers:
                producer.start()
            wait_until(lambda: self._acknowledged() >= wanted or self._refusals(), f"{wanted} messages", LOAD_S)
            if is_killed:
                time.sleep(self._random.uniform(0, LONGEST_DELAY_S))  # the instant is the point
                self._end(broker)
            goes_on.clear()
            for producer in producers:
                producer.join()
            if is_killed and self._is_stopped:
                self._forget_refusals()  # a broker that is stopping may refuse
            assert not self._refusals(), self._refusals()
            if not is_killed:
                self._look_at_all(broker.address)
                assert broker.stop() == 0

    def _end(self, broker: BrokerProcess) -> None:
        if self._is_stopped:
            assert broker.stop() == 0
            assert not (self._folder / "store" / "abort").exists()
        else:
            broker.kill()

    def _forget_refusals(self) -> None:
        for book in self._books:
            book.refusal = None

    def _refusals(self) -> list[wire.Answer]:
        return [book.refusal for book in self._books if book.refusal is not None]

    def _produce(self, address: str, book: _Book, goes_on: threading.Event) -> None:
        """Send windows of messages until the broker is gone or all is done."""
        try:
            with Wire(address, timeout=30) as connection:
                while goes_on.is_set() and book.refusal is None:
                    first = book.sent
                    book.sent += WINDOW
                    numbers = range(first, first + WINDOW)
                    connection.send(b"".join(self._frame(book.number, each) for each in numbers))
                    for number in numbers:
                        self._noted(book, number, connection.answer_to(number))
        except OSError:
            return

    def _frame(self, producer: int, number: int) -> bytes:
        fields = {
            "a": "pg", "b": TOPIC, "c": "TBW102", "d": str(QUEUES), "e": str(number % QUEUES), "f": "0", "g": "1700000000000",
            "h": "0", "i": f"UNIQ_KEY\x01{producer}-{number}\x02", "j": "0", "k": "false", "m": "false",
        }  # fmt: skip
        body = f"{producer}-{number}:".encode() + b"x" * (number * 37 % 400)
        return wire.encode_request(SEND, fields, body, opaque=number)

    def _noted(self, book: _Book, number: int, answer: wire.Answer) -> None:
        if answer.code != 0:
            book.refusal = answer
            return
        assert answer.ext is not None
        book.acknowledged[number] = (int(answer.ext["queueId"]), int(answer.ext["queueOffset"]))

    def _look_at_ends(self, address: str) -> None:
        """Fail unless the last acknowledged message of each producer is where it was said to be."""
        with Wire(address, timeout=30) as connection:
            for book in self._books:
                for number in list(book.acknowledged)[-QUEUES:]:
                    queue_id, offset = book.acknowledged[number]
                    (record, *_) = _pulled(connection, queue_id, offset)
                    assert record.unique_key == f"{book.number}-{number}"

    def _look_at_all(self, address: str) -> None:
        """Fail unless every acknowledged message is there once, where it was said to be, with its bytes."""
        places: dict[tuple[int, int], str] = {}
        with Wire(address, timeout=30) as connection:
            for queue_id in range(QUEUES):
                offset = 0
                while records := _pulled(connection, queue_id, offset):
                    for record in records:
                        assert record.queue_offset == offset, "queues have no gap"
                        assert record.body.startswith(f"{record.unique_key}:".encode())
                        places[queue_id, offset] = record.unique_key
                        offset += 1
        for book in self._books:
            for number, place in book.acknowledged.items():
                assert places.get(place) == f"{book.number}-{number}", (book.number, number, place)
        assert len(set(places.values())) == len(places), "nothing is there twice"
        self.figures.stored = len(places)


def _pulled(connection: Wire, queue_id: int, offset: int) -> list[Record]:
    fields = {
        "consumerGroup": "g", "topic": TOPIC, "queueId": str(queue_id), "queueOffset": str(offset), "maxMsgNums": "32",
        "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*",
    }  # fmt: skip
    answer = connection.request(PULL, fields)
    assert answer.code in (0, 19), answer
    return decode_records(answer.body) if answer.code == 0 else []
