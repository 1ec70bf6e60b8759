"""Many brokers that send their whole tables at once, and what that does to those who ask for routes meanwhile.

Owns: the tables, the rounds, what is measured in them.
Must not know: the package under test; which figures are good.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from tests.support.latency import p99
from tests.support.peer import HB, REG, SUCCESS, Peer, topics_named
from tests.support.process_figures import cpu_s_of, memory_of, peak_memory_of
from tests.support.server_log import log_lines
from tests.support.server_process import ServerProcess
from tests.support.steady_reader import SteadyReader
from tests.support.wire import (
    Broker,
    crc32_masked,
    data_version,
    dump,
    encode_request,
    identity_ext,
    registration_ext,
    topic_wrapper,
)

ANSWER_S: Final = 120.0
SYSTEM_BUSY: Final = 2
_NUMBER: Final = b"@@@@@"
_VERSION: Final = 1_111_111_111
_BEAT_S: Final = 0.05
_STEADY: Final = Broker(name="steady", cluster="steady-cluster", addr="192.0.2.240:10911")


@dataclass(frozen=True, kw_only=True)
class Storm:
    """What is sent. Half of each broker's topics are its own, half are those of all brokers."""

    brokers: int
    topics: int
    moving: float = 1.0
    """The part of the brokers whose version moves from the second round on; the others repeat themselves."""
    rounds: int = 3
    prefix: str = "storm"


@dataclass(kw_only=True)
class Round:
    """What was seen in one round: durations in seconds, memory in bytes."""

    durations_s: list[float] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    memory_bytes: int = 0
    cpu_s: float = 0.0
    """Processor time of the server, all that it did meanwhile."""

    @property
    def slowest_s(self) -> float:
        """The longest wait for the answer to a registration."""
        return max(self.durations_s)


@dataclass(kw_only=True)
class Report:
    """What was seen in all."""

    quiet_s: list[float]
    storm_s: list[float] = field(default_factory=list)
    beats_s: list[float] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    evictions: int = 0
    peak_bytes: int = 0
    before_bytes: int = 0
    after_bytes: int = 0

    def lines(self) -> Iterator[str]:
        """Say it in words."""
        for name, durations in (("quiet", self.quiet_s), ("storm", self.storm_s), ("heartbeats", self.beats_s)):
            p50 = sorted(durations)[len(durations) // 2]
            yield (
                f"{name:<10} {len(durations)} answers, p50 {p50 * 1000:.1f} ms, p99 {p99(durations) * 1000:.1f} ms, "
                f"slowest {max(durations) * 1000:.1f} ms"
            )
        for number, one in enumerate(self.rounds, 1):
            refused = sum(code == SYSTEM_BUSY for code in one.codes)
            yield (
                f"round {number}    {len(one.codes)} registrations, p50 {sorted(one.durations_s)[len(one.codes) // 2]:.2f} s, "
                f"slowest {one.slowest_s:.2f} s, {refused} answered busy, {one.cpu_s / len(one.codes) * 1000:.1f} ms of "
                f"processor time each, memory after it {_mb(one.memory_bytes)}"
            )
        yield f"memory     {_mb(self.before_bytes)} before, {_mb(self.peak_bytes)} at most, {_mb(self.after_bytes)} after"
        yield f"evictions  {self.evictions}"


def run_storm(server: ServerProcess, storm: Storm, *, pause_s: float = 0.0, quiet_s: float = 1.0) -> Report:
    """Let it pass over a server, and give what was seen. The brokers are gone afterwards."""
    topic = f"{storm.prefix}-steady"
    with Peer(server.address, ANSWER_S) as of_steady:
        of_steady.registered(_STEADY, topics_named(topic, f"{topic}-2"))
        with SteadyReader(server.address, topic) as quiet:
            time.sleep(quiet_s)
        report = Report(quiet_s=quiet.durations_s, before_bytes=memory_of(server.pid))
        lines = [Peer(server.address, ANSWER_S) for _ in range(storm.brokers)]
        logged = len(log_lines(server, storm.prefix, event="broker.unregistered"))
        try:
            with SteadyReader(server.address, topic) as reader:
                for number in range(storm.rounds):
                    if number:
                        time.sleep(pause_s)
                    cpu_before_s = cpu_s_of(server.pid)
                    seen = _round(server.address, storm, number, lines, report.beats_s)
                    seen.cpu_s = cpu_s_of(server.pid) - cpu_before_s
                    seen.memory_bytes = memory_of(server.pid)
                    report.rounds.append(seen)
            report.storm_s = reader.durations_s
            report.evictions = len(log_lines(server, storm.prefix, event="broker.unregistered")) - logged
            report.peak_bytes = peak_memory_of(server.pid)
        finally:
            for line in lines:
                line.close()
        of_steady.unreg(_STEADY)
    report.after_bytes = memory_of(server.pid)
    return report


def broker_of(storm: Storm, number: int) -> Broker:
    """Return one broker of the storm."""
    addr = f"10.78.{number // 250}.{number % 250}"
    return Broker(
        name=f"{storm.prefix}-{number:05}", cluster=f"{storm.prefix}-C", addr=f"{addr}:10911", ha_addr=f"{addr}:10912"
    )


def _round(address: str, storm: Storm, number: int, lines: Sequence[Peer], beats_s: list[float]) -> Round:
    """Send all registrations at once, while the broker that is steady goes on to speak."""
    seen = Round()
    template = _template(storm)
    moving = 1 if number == 0 else int(storm.brokers * storm.moving)

    def timed(at: int, line: Peer) -> tuple[float, int]:
        version = number if at < moving else 0
        body = template.replace(_NUMBER, b"%05d" % at).replace(b"%d" % _VERSION, b"%d" % (_VERSION + version))
        frame = encode_request(REG, registration_ext(broker_of(storm, at), crc=crc32_masked(body)), body, opaque=number)
        begin = time.monotonic()
        line.send(frame)
        code = line.answer_to(number).code
        return time.monotonic() - begin, code

    with ThreadPoolExecutor(len(lines)) as threads, Peer(address, ANSWER_S) as of_steady:
        sent = [threads.submit(timed, at, line) for at, line in enumerate(lines)]
        while not all(one.done() for one in sent):
            begin = time.monotonic()
            assert of_steady.request(HB, identity_ext(_STEADY)).code == SUCCESS
            beats_s.append(time.monotonic() - begin)
            time.sleep(_BEAT_S)
    for one in sent:
        duration_s, code = one.result()
        seen.durations_s.append(duration_s)
        seen.codes.append(code)
    return seen


def _template(storm: Storm) -> bytes:
    """Encode the table of a broker whose number and version are to be filled in."""
    own = [f"{storm.prefix}-own-{_NUMBER.decode()}-{number}" for number in range(storm.topics // 2)]
    shared = [f"{storm.prefix}-all-{number}" for number in range(storm.topics - len(own))]
    wrapper = topic_wrapper(topics_named(*own, *shared), data_version(_VERSION))
    return dump({"filterServerList": [], "topicConfigSerializeWrapper": wrapper})


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.0f} MB"
