"""Everything that goes on beside the checked history: good brokers and clients that churn, and bad peers.

Owns: who there is, how many of each, and what the good ones may expect whatever the bad ones do.
Must not know: the checked history; how the server is doing (run.py).

    python -m tests.soak.noise HOST:PORT SEED SECONDS

It prints one JSON object when it is over: how each kind of bad peer ended, what the good ones did, and what was wrong.
"""

import asyncio
import dataclasses
import itertools
import json
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from tests.soak.answers import SYSTEM_BUSY
from tests.support import bad_bytes, bad_peers
from tests.support.builders import AsyncWire
from tests.support.peer import GETKV, HB, NO_ROUTE, PUTKV, ROUTE, SUCCESS, UNREG, read_route
from tests.support.wire import Broker, data_version, identity_ext, register_body, registration_ext, topic_config

BROKERS: Final = 12
CLIENTS: Final = 6
KV_CLIENTS: Final = 2
KV_KEYS: Final = 20
SHARED_TOPICS: Final = 200
_MIB: Final = 1024 * 1024
_BROKER_NUMBERS: Final = itertools.count()
_PAUSE_S: Final = 0.1
_SILENT_MS: Final = 1000
_CLOSES_S: Final = 30.0
_LAST_WRONG: Final = 5

BAD_CROWDS: Final[tuple[tuple[str, Callable[[], bad_peers.BadPeer], int, float], ...]] = (
    ("random frames", lambda: bad_peers.random_frames, 6, 0.2),
    ("false lengths", lambda: bad_peers.says(bad_bytes.false_lengths()), 3, 0.2),
    ("strange headers", lambda: bad_peers.says(bad_bytes.strange_headers()), 1, 1.0),
    ("other greetings", lambda: bad_peers.says(bad_bytes.other_greetings()), 2, 0.2),
    ("half open", lambda: bad_peers.half_open(hold_s=3), 60, 0.5),
    ("tricklers", lambda: bad_peers.trickler(hold_s=3, pace_s=0.2), 30, 0.5),
    ("slow readers", lambda: bad_peers.slow_reader(hold_s=3, requests=500, bytes_per_s=2000), 3, 1.0),
    ("never reading", lambda: bad_peers.never_reader(hold_s=2, requests=3000), 3, 1.0),
    ("bombs", lambda: bad_peers.bomber(bad_bytes.inflate_bomb(0, 128 * _MIB)), 1, 2.0),
    ("junk registrations", lambda: bad_peers.bomber(bad_bytes.junk_registration(8 * _MIB)), 1, 3.0),
    ("idle", lambda: bad_peers.idle(hold_s=3), 150, 0.5),
    ("passers-by", lambda: bad_peers.passer_by, 2, 0.3),
)
"""Kind, what one of them does, how many at a time, and the pause between two lives in seconds."""


@dataclass
class Log:
    """What happened."""

    done: Counter[str] = field(default_factory=Counter)
    bad: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def expect(self, what: str, is_right: bool, answer: object) -> None:  # noqa: FBT001  # reads as a claim
        """Note an answer; one that is not right is a finding."""
        self.done[what] += 1
        if not is_right:
            self.wrong.append(f"{what}: {answer!r:.500}")


async def broker(address: str, rng: random.Random, log: Log, name: str) -> None:
    """Live one life of a broker: come, change tables, and end in one of the ways brokers do."""
    number = next(_BROKER_NUMBERS)  # two of one address would take it from each other
    host = f"10.{2 + number // 62_500}.{number // 250 % 250}.{number % 250}"
    how = rng.choice(("leave", "leave", "close", "die", "silence"))
    who = Broker(
        name=name,
        cluster="noise",
        addr=f"{host}:10911",
        ha_addr=f"{host}:10912",
    )
    async with await AsyncWire.connect(address) as line:
        for counter in range(1, rng.randrange(2, 6)):
            if not await _register(line, rng, log, who, counter):
                return
            await asyncio.sleep(_PAUSE_S)
        log.done[f"brokers: {how}"] += 1
        if how == "leave":
            answer = await line.request(UNREG, identity_ext(who))
            log.expect("broker leaves", answer.code == SUCCESS, answer)
            answer = await line.request(ROUTE, {"topic": f"{name}-own"})
            log.expect("no route of who left", answer.code in {NO_ROUTE, SYSTEM_BUSY}, answer)
        elif how == "die":
            line.abort()
        elif how == "silence":
            silent = dataclasses.replace(who, heartbeat_timeout_millis=_SILENT_MS)
            line.post(103, registration_ext(silent, crc=None))
            await line.closed(_CLOSES_S)


async def _register(line: AsyncWire, rng: random.Random, log: Log, who: Broker, counter: int) -> bool:
    """Register a changed table, and see it; give whether the server was not too busy."""
    topics = [f"noise-shared-{number}" for number in rng.sample(range(SHARED_TOPICS), rng.randrange(2, 40))]
    configs = [topic_config(topic) for topic in (f"{who.name}-own", *topics)]
    answer = await line.register(who, body=register_body(configs, data_version(counter)))
    log.expect("registration", answer.code in {SUCCESS, SYSTEM_BUSY}, answer)
    if answer.code != SUCCESS:
        return False
    answer = await line.request(HB, identity_ext(who))
    log.expect("heartbeat", answer.code == SUCCESS, answer)
    answer = await line.request(ROUTE, {"topic": f"{who.name}-own"})
    is_shown = answer.code == SUCCESS and dict(read_route(answer).brokers) == {str(who.name): {"0": str(who.addr)}}
    log.expect("own route", is_shown or answer.code == SYSTEM_BUSY, answer)
    return True


async def client(address: str, rng: random.Random, log: Log, _: str) -> None:
    """Ask for routes that may and that cannot be there, and for listings."""
    async with await AsyncWire.connect(address) as line:
        for _question in range(rng.randrange(1, 50)):
            topic = f"noise-shared-{rng.randrange(SHARED_TOPICS)}"
            answer = await line.request(ROUTE, {"topic": topic})
            is_right = answer.code in {NO_ROUTE, SYSTEM_BUSY} or bool(answer.json())
            log.expect("route", is_right, answer)
            answer = await line.request(ROUTE, {"topic": f"noise-nobody-{rng.randrange(1000)}"})
            log.expect("route of nobody", answer.code in {NO_ROUTE, SYSTEM_BUSY}, answer)
            if rng.randrange(10) == 0:
                answer = await line.request(rng.choice((106, 206, 224, 304, 311)), {"cluster": "noise"})
                log.expect("listing", answer.code in {SUCCESS, SYSTEM_BUSY}, answer)
            await asyncio.sleep(_PAUSE_S)


async def kv_client(address: str, rng: random.Random, log: Log, name: str) -> None:
    """Write an entry of its own and read it."""
    key, value = f"key-{name}-{rng.randrange(KV_KEYS // KV_CLIENTS)}", str(rng.random())
    async with await AsyncWire.connect(address) as line:
        answer = await line.request(PUTKV, {"namespace": "noise", "key": key, "value": value})
        log.expect("entry written", answer.code in {SUCCESS, SYSTEM_BUSY}, answer)
        is_written = answer.code == SUCCESS
        answer = await line.request(GETKV, {"namespace": "noise", "key": key})
        log.expect("entry read", not is_written or answer.ext == {"value": value}, answer)
        await asyncio.sleep(_PAUSE_S)


Life = Callable[[str, random.Random, Log, str], Coroutine[Any, Any, None]]


async def lives(life: Life, who: tuple[str, str], rng: random.Random, log: Log, until_s: float) -> None:
    """Live one life after the other; one that breaks is a finding: these peers do nothing bad.

    `who` is the server's address and the own name.
    """
    address, name = who
    loop = asyncio.get_running_loop()
    number = 0
    while loop.time() < until_s:
        number += 1
        try:
            await life(address, rng, log, f"{name}-{number}" if life is broker else name)
        except (OSError, AssertionError):
            log.wrong.append(f"{life.__name__} {name} broke: {traceback.format_exc(limit=-3)}")
            await asyncio.sleep(_PAUSE_S)


async def noise(address: str, seed: int, seconds: float) -> Log:
    """Make noise for so long."""
    rng, log = random.Random(seed), Log()
    crowds = [(kind, make(), size, pause_s) for kind, make, size, pause_s in BAD_CROWDS]  # takes a second or two
    until_s = asyncio.get_running_loop().time() + seconds
    host, _, port = address.rpartition(":")
    target = bad_peers.Target(host=host, port=int(port), topic="noise-shared-1")

    async def bad(kind: str, peer: bad_peers.BadPeer, size: int, pause_s: float) -> None:
        chance = random.Random(rng.random())
        log.bad[kind] = await bad_peers.crowd(peer, target, chance, size=size, until_s=until_s, pause_s=pause_s)

    async with asyncio.TaskGroup() as group:
        for life, count in ((broker, BROKERS), (client, CLIENTS), (kv_client, KV_CLIENTS)):
            for number in range(count):
                chance = random.Random(rng.random())
                name = f"noise-{seed}-{life.__name__}-{number}"
                group.create_task(lives(life, (address, name), chance, log, until_s))
        for crowd in crowds:
            group.create_task(bad(*crowd))
    return log


def main() -> None:
    """Make noise as the arguments say, and print what happened."""
    address, seed, seconds = sys.argv[1:]
    log = asyncio.run(noise(address, int(seed), float(seconds)))
    shown = {"done": log.done, "bad": log.bad, "wrong": len(log.wrong), "examples": log.wrong[:_LAST_WRONG]}
    json.dump(shown, sys.stdout)


if __name__ == "__main__":
    main()
