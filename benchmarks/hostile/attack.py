"""One stage's bad peers, as a process of their own.

    python -m benchmarks.hostile.attack STAGE HOST:PORT TOPIC SEED SECONDS

It prints `ready`, begins when a line comes on standard input, and prints how the peers ended, as JSON, when it is over.

Owns: the process around a crowd of bad peers.
Must not know: what they do (stages.py); who watches the server.
"""

import asyncio
import json
import random
import resource
import sys
from collections import Counter

from tests.support import bad_peers

from benchmarks.hostile.stages import Stage, stage_named


def main() -> None:
    """Attack as the arguments say."""
    name, address, topic, seed, seconds = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    host, _, port = address.rpartition(":")
    target = bad_peers.Target(host=host, port=int(port), topic=topic)
    stage = stage_named(name)
    outcomes = asyncio.run(_attack(stage, target, random.Random(seed), float(seconds)))  # noqa: S311  # to be repeated
    json.dump(outcomes, sys.stdout)


async def _attack(stage: Stage, target: bad_peers.Target, rng: random.Random, seconds: float) -> Counter[str]:
    assert stage.peer is not None, f"{stage.name} has no bad peers"
    peer = stage.peer(seconds)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    until_s = asyncio.get_running_loop().time() + seconds
    return await bad_peers.crowd(
        peer, target, rng, size=stage.size, until_s=until_s, pause_s=stage.pause_s, ramp_s=stage.ramp_s
    )


if __name__ == "__main__":
    main()
