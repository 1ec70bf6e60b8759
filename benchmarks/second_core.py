"""What reader processes on a second core could give at most: `python -m benchmarks.second_core`.

One server, and then two that share nothing, each on a core of its own, answer as many route reads as they can; the load
generators run where there is room. No design of several processes behind one port can do better than two servers that know
nothing of each other, so their ratio is the most that there is to gain on this machine.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec
from tests.interop.rig.name_servers import OurNameServer

from benchmarks.estate import Estate, topic_names
from benchmarks.native import Native

ROUNDS: Final = 5
SECONDS: Final = 3
CONNECTIONS: Final = 64
_PREFIX: Final = "Core"
_TOPICS: Final = 100


def main() -> int:
    """Measure in turn, and print each round and the medians."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("this needs two cores", file=sys.stderr)
        return 2
    native = Native()
    ratios = []
    with tempfile.TemporaryDirectory(prefix="cosmodrome-cores-") as folder, ExitStack() as stack:
        servers = [stack.enter_context(_server(Path(folder) / str(core), core)) for core in cores[:2]]
        for _ in range(ROUNDS):
            one = _rate(native, servers[:1])
            two = _rate(native, servers)
            ratios.append(two / one)
            print(f"one server {one:,.0f} reads/s, two {two:,.0f}: {two / one:.2f}", flush=True)
    print(f"median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    return 0


@contextmanager
def _server(folder: Path, core: int) -> Iterator[OurNameServer]:
    """Give a server on one core that knows the topics."""
    server = OurNameServer(folder)
    try:
        server.start()
        os.sched_setaffinity(server.process.pid, {core})
        with Estate(server.address) as estate:
            estate.add(topic_names(_TOPICS, _PREFIX), prefix="cores")
            yield server
    finally:
        server.kill()


def _rate(native: Native, servers: Sequence[OurNameServer]) -> float:
    """Give how many reads a second all of them answer, with as many connections in total."""

    def load(server: OurNameServer) -> float:
        port = server.address.rpartition(":")[2]
        arguments = {"port": port, "conns": CONNECTIONS // len(servers), "seconds": SECONDS, "topics": _TOPICS}
        command = [str(native.path("nsload")), "--prefix", _PREFIX]
        command += [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return float(msgspec.json.decode(done.stdout)["rps"])

    with ThreadPoolExecutor(len(servers)) as pool:
        return sum(pool.map(load, servers))


if __name__ == "__main__":
    sys.exit(main())
