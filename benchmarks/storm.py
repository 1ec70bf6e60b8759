"""A storm of whole registrations, and what it does to those who ask for routes.

Starts the real command on a free port of loopback. All brokers register at once, each round again with a moving version
on a part of them; meanwhile one client asks for a route a hundred times a second and one broker sends heartbeats. Prints
how long routes and heartbeats took before and during the storm, in one run; the slowest registration of each round and
the memory after it; how many brokers were evicted.

    python -m benchmarks.storm                                              300 brokers with 10,000 topics each
    python -m benchmarks.storm --brokers 60 --topics 20000 --rounds 20 --moving 1
"""

import argparse
import resource
import tempfile
from pathlib import Path

from tests.support.server_process import ServerProcess
from tests.support.storm import Storm, run_storm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--topics", type=int, default=10_000, help="of each broker, half of them its own")
    parser.add_argument("--moving", type=float, default=0.1, help="part of the brokers whose version moves each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pause", type=float, default=30.0, help="seconds between two rounds")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="configuration of the server")
    given = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    storm = Storm(brokers=given.brokers, topics=given.topics, moving=given.moving, rounds=given.rounds)
    config = dict(each.split("=", 1) for each in given.set)
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder), config=config) as server:
        print(f"{storm.brokers} brokers x {storm.topics} topics")
        for line in run_storm(server, storm, pause_s=given.pause, quiet_s=5).lines():
            print(line, flush=True)


if __name__ == "__main__":
    main()
