"""Every configuration key does what it says, in the real process: how much long work may wait.

All of them wait for the next start; tests/field/test_overload_cases.py has the scenarios they are for.
"""

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from tests.support.field import Names
from tests.support.peer import REG, SUCCESS, TOPICS, Peer, peers, topics_named
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.shown_keys import When, shows
from tests.support.wire import crc32_masked, data_version, encode_request, register_body, registration_ext

SYSTEM_BUSY: Final = 2
BUSY_REMARK: Final = "[OVERLOAD]system busy, start flow control for a while"
AT_ONCE: Final = 12
TOPICS_EACH: Final = 4000
"""Enough for milliseconds of work, and for a body of 700 kB."""
TRIES: Final = 20
_VERSIONS: Final = itertools.count(2)


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    return Names(request.node.name.partition("[")[0])


def registrations(names: Names) -> list[bytes]:
    """Return registrations of many brokers, each with news."""
    body = register_body(topics_named(*map(names, map(str, range(TOPICS_EACH)))), data_version(next(_VERSIONS)))
    brokers = [names.broker(f"b{number}", addr=f"10.9.9.{number}:10911") for number in range(AT_ONCE)]
    return [encode_request(REG, registration_ext(one, crc=crc32_masked(body)), body, opaque=1) for one in brokers]


def answers_at_once(server: ServerProcess, first: bytes, frames: list[bytes]) -> Counter[int]:
    """Send all of these over a connection each, behind `first`, and count the answers to them."""
    codes: Counter[int] = Counter()
    with Peer(server.address, 60) as before, peers(server.address, len(frames), 60) as lines:
        if first:
            before.send(first)
        for line, frame in zip(lines, frames, strict=True):
            line.send(frame)
        for line in lines:
            answer = line.read_answer()
            codes[answer.code] += 1
            assert answer.code == SUCCESS or (answer.code, answer.remark) == (SYSTEM_BUSY, BUSY_REMARK)
        if first:
            before.read_answer()
    return codes


def is_ever_busy(send: Callable[[], Counter[int]]) -> bool:
    """Try until somebody is refused: what comes at once depends on the machine."""
    return any(send()[SYSTEM_BUSY] for _ in range(TRIES))


@pytest.mark.parametrize(
    ("key", "little"), [("maxPendingRegistrations", 1), ("maxPendingRegistrationBytes", TOPICS_EACH * 200)]
)
@shows("maxPendingRegistrations", "maxPendingRegistrationBytes", when=When.START)
def test_how_many_registrations_wait(tmp_path: Path, names: Names, key: str, little: int) -> None:
    with ServerProcess(tmp_path / "little", config={key: little}) as server:
        assert is_ever_busy(lambda: answers_at_once(server, b"", registrations(names)))
        assert wait_for_line(server, event="brake.engaged")["work"] == "registrations"
    with ServerProcess(tmp_path / "plenty") as server:
        assert answers_at_once(server, b"", registrations(names)) == {SUCCESS: AT_ONCE}
        assert not log_lines(server, event="brake.engaged")


@shows("maxPendingListings", when=When.START)
def test_how_many_listings_wait(tmp_path: Path, names: Names) -> None:
    """Behind a registration, which comes first."""
    listings = [encode_request(TOPICS, opaque=number) for number in range(AT_ONCE)]

    def send() -> Counter[int]:
        return answers_at_once(server, registrations(names)[0], listings)

    for limit, expected in ((1, True), (AT_ONCE, False)):
        config = {"maxPendingListings": limit}
        with ServerProcess(tmp_path / str(limit), config=config) as server, Peer(server.address, 60) as stays:
            stays.registered(names.broker("stays"), topics_named(*map(names, map(str, range(1000)))))
            assert is_ever_busy(send) is expected
            assert bool(log_lines(server, "listings", event="brake.engaged")) is expected
