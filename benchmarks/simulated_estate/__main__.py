"""A whole estate around one NameServer, in one process beside it, every answer checked.

300 brokers register the same 10,000 topics each; 5,000 clients connect, and each asks for the routes of 20 topics every
30 seconds; brokers repeat their tables as often. After a quiet time all brokers restart within ten seconds, each with
a changed table. With --restart-server the server is killed in the end and comes back with nothing.

Printed for each phase: processor time and memory of the server, how long answers took, the longest stall of the server
(of its own: without the time in which it, or what looked, waited for a processor), and how many answers were wrong. An
answer is right if it names every broker that was registered for certain while it was asked for, none that was not, each
with the table of its present life. Durations are those of this one-process estate, which needs a core for itself.

    python -m benchmarks.simulated_estate
    python -m benchmarks.simulated_estate --brokers 30 --topics 2000 --clients 500 --period 10
    python -m benchmarks.simulated_estate --disjoint --topics 3000     each broker with topics of its own
    python -m benchmarks.simulated_estate --apache                     the same to Apache's NameServer (needs Java, Maven)

--disjoint with 10,000 topics makes three million topics, which is more than the 1 GiB that maxTableBytes allows by
default: add --set maxTableBytes=2147483647. The server had 0.6 GB then; the estate itself takes as much to make the tables.

Exit code 1: a wrong answer, a refused registration, a lost connection, an answer after more than 3 s, or a phase that does
not end. 2: cannot run.
"""

import argparse
import resource
import sys
import tempfile
from pathlib import Path

from tests.interop.rig.jars import V5_5, RigError
from tests.interop.rig.java import SERVER_JVM_FLAGS
from tests.interop.rig.name_servers import ApacheNameServer, NameServer, OurNameServer

from benchmarks.estate import FORMS
from benchmarks.simulated_estate.population import Population
from benchmarks.simulated_estate.report import delays, faults, table
from benchmarks.simulated_estate.run import SERVER_RESTARTS, Plan, simulate

_APACHE_LINGER_S = 1.0


def main() -> int:
    """Play it once, print the table."""
    options = _options()
    population = Population(
        brokers=options.brokers,
        topics=options.topics,
        is_disjoint=options.disjoint,
        clients=options.clients,
        polled=options.polled,
        form=options.form,
    )
    plan = Plan(
        period_s=options.period,
        quiet_s=options.quiet if options.quiet is not None else options.period,
        restart_s=options.restart,
        linger_s=_APACHE_LINGER_S if options.apache else 0.0,
        is_server_restarted=options.restart_server,
        seed=options.seed,
    )
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="cosmodrome-estate-") as folder:
        try:
            server = _server(Path(folder), options)
            server.start()
        except RigError as error:
            print(f"simulated_estate: {error}", file=sys.stderr)
            return 2
        try:
            tally = simulate(server, population, plan, _say)
        finally:
            server.kill()
    print(f"{_describe(population, options)}\n\n{table(tally)}")
    found = [*faults(tally, may_lose=SERVER_RESTARTS), *delays(tally)]
    for fault in found:
        print(f"fault: {fault}")
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.simulated_estate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--topics", type=int, default=10_000, help="of each broker (10,000)")
    parser.add_argument("--disjoint", action="store_true", help="no two brokers have a topic in common")
    parser.add_argument("--clients", type=int, default=5_000)
    parser.add_argument("--polled", type=int, default=20, help="topics that each client asks for (20)")
    parser.add_argument("--form", choices=list(FORMS), default="JSON", help="of registrations (JSON)")
    parser.add_argument("--period", type=float, default=30.0, help="seconds between two polls of a client (30)")
    parser.add_argument("--quiet", type=float, help="seconds before and after the restart of the brokers (a period)")
    parser.add_argument("--restart", type=float, default=10.0, help="seconds in which all brokers restart (10)")
    parser.add_argument("--restart-server", action="store_true", help="kill the server in the end and start it again")
    parser.add_argument("--apache", action="store_true", help=f"Apache's NameServer {V5_5} instead of ours")
    parser.add_argument("--seed", type=int, default=5, help="which client asks for what (5)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="configuration of the server")
    return parser.parse_args()


def _server(folder: Path, options: argparse.Namespace) -> NameServer:
    config = dict(each.split("=", 1) for each in options.set)
    if options.apache:
        return ApacheNameServer(V5_5, folder, config, jvm_flags=SERVER_JVM_FLAGS)
    return OurNameServer(folder, config)


def _describe(population: Population, options: argparse.Namespace) -> str:
    server = f"Apache RocketMQ {V5_5}, java {' '.join(SERVER_JVM_FLAGS)}" if options.apache else "this checkout"
    common = "of its own" if population.is_disjoint else "the same ones"
    return (
        f"{server}: {population.brokers} brokers x {population.topics:,} topics ({common}), {population.clients:,} "
        f"clients asking for {population.polled} topics every {options.period:g} s, all brokers restarting within "
        f"{options.restart:g} s, {population.form} registrations"
    )


def _say(phase: str) -> None:
    print(f"... {phase}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
