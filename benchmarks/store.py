"""What storing a message costs, beside a plain write of the same bytes: `python -m benchmarks.store`.

Owns: the two ways; the figures.
Must not know: brokers; the network.

Processor time of this thread, not time: a busy machine changes it less.
"""

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.settings import StoreSettings

_ROUNDS: Final = 5
_TURNS: Final = 1000
_TURN_MESSAGES: Final = 64
_BODY: Final = b"x" * 100
_QUEUES: Final = 4
_NOW_MS: Final = 1_700_000_000_000
_HOST: Final = encode_host("10.0.0.5", 50001)
_BARE: Final = b"WAIT\x01true\x02"
_FULL: Final = (
    b"UNIQ_KEY\x010A000005%024X\x02KEYS\x01order-%d\x02TAGS\x01TagA\x02WAIT\x01true\x02CLUSTER\x01DefaultCluster\x02"
)

Turns = list[list[NewMessage]]


def _turns(properties: Callable[[int], bytes]) -> Turns:
    numbers = iter(range(_TURNS * _TURN_MESSAGES))
    return [
        [
            NewMessage("BenchTopic", number % _QUEUES, _BODY, properties(number), _NOW_MS, _HOST)
            for number in (next(numbers) for _ in range(_TURN_MESSAGES))
        ]
        for _ in range(_TURNS)
    ]


def _stored(turns: Turns, *, is_indexed: bool) -> tuple[float, int]:
    """Store everything; give the processor time, and the bytes of the log."""
    folder = Path(tempfile.mkdtemp(prefix="cosmodrome-bench-"))
    try:
        settings = StoreSettings(root=folder, store_host=_HOST, is_index_enabled=is_indexed)
        with MessageStore.open(settings) as store:
            begin_s = time.thread_time()
            for turn in turns:
                for message in turn:
                    store.add(message, _NOW_MS)
                store.write()
            return time.thread_time() - begin_s, store.end
    finally:
        shutil.rmtree(folder)


def _written(size: int) -> float:
    """Write so many bytes, as much in each call as one turn has; give the processor time."""
    chunk = bytes(size // _TURNS)
    with tempfile.TemporaryFile() as file:
        os.ftruncate(file.fileno(), size)
        begin_s = time.thread_time()
        for turn in range(_TURNS):
            os.pwrite(file.fileno(), chunk, turn * len(chunk))
        return time.thread_time() - begin_s


def main() -> None:
    """Measure, and print a line for each kind of message."""
    count = _TURNS * _TURN_MESSAGES
    print(f"{count} messages of {len(_BODY)} bytes, {_TURN_MESSAGES} a turn, {_QUEUES} queues; median of {_ROUNDS}")
    kinds = {
        "no keys, no index": (lambda _: _BARE, False),
        "id, key and tag, no index": (lambda number: _FULL % (number, number), False),
        "id, key and tag, all three indexed": (lambda number: _FULL % (number, number), True),
    }
    for name, (properties, is_indexed) in kinds.items():
        turns = _turns(properties)
        ours, plain = [], []
        for _ in range(_ROUNDS):
            took_s, size = _stored(turns, is_indexed=is_indexed)
            ours.append(took_s)
            plain.append(_written(size))
        own_us, plain_us = (statistics.median(each) / count * 1e6 for each in (ours, plain))
        print(f"{name:36} {own_us:5.2f} us a message; plain pwrite {plain_us:5.3f} us; ratio {own_us / plain_us:5.1f}")


if __name__ == "__main__":
    main()
