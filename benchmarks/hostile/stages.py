"""The hostile stages, the same for every server.

Owns: which bad peers each stage has, how many, and at what pace.
Must not know: who is attacked; what is measured meanwhile.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.support import bad_bytes, bad_peers
from tests.support.bad_bytes import MIB

BOMB_PACKED_MIB: Final = 15
BOMB_INFLATED_MIB: Final = 400
LARGE_MIB: Final = 8
NEVER_READ_REQUESTS: Final = 10_000
NEVER_READING: Final = "a peer that never reads"
CONNECTIONS: Final = 5_000


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One kind of bad peer.

    Attributes:
        name: As the table shows it.
        tells: What they do, in a line.
        peer: What one of them does with one connection, told how long the stage is in seconds; None for no bad peers.
        size: How many there are at a time.
        pause_s: Between two connections of each.
        ramp_s: In which they come.
    """

    name: str
    tells: str
    peer: Callable[[float], bad_peers.BadPeer] | None
    size: int = 0
    pause_s: float = 0.0
    ramp_s: float = 1.0


STAGES: Final = (
    Stage(name="quiet", tells="no bad peer", peer=None),
    Stage(
        name="random frames",
        tells="20 peers, each about twice a second: noise, noise in frames, requests with changed bytes",
        peer=lambda _: bad_peers.random_frames,
        size=20,
        pause_s=0.2,
    ),
    Stage(
        name="false lengths",
        tells="20 peers: frames, headers, texts and fields that claim up to 2 GiB or less than nothing",
        peer=lambda _: bad_peers.says(bad_bytes.false_lengths()),
        size=20,
        pause_s=0.2,
    ),
    Stage(
        name="strange headers",
        tells="3 peers: JSON 100,000 levels deep, texts and keys of 1 MiB, type hints",
        peer=lambda _: bad_peers.says(bad_bytes.strange_headers()),
        size=3,
        pause_s=0.5,
    ),
    Stage(
        name="slow readers",
        tells="30 peers pipeline 1,000 route requests each and read 2,000 bytes a second",
        peer=lambda seconds: bad_peers.slow_reader(seconds, requests=1000, bytes_per_s=2000),
        size=30,
    ),
    Stage(
        name="inflate bombs",
        tells=f"2 peers register with {BOMB_PACKED_MIB} MiB that inflate to {BOMB_INFLATED_MIB} MiB, again and again",
        peer=lambda _: bad_peers.bomber(bad_bytes.inflate_bomb(BOMB_PACKED_MIB * MIB, BOMB_INFLATED_MIB * MIB)),
        size=2,
        pause_s=2.0,
    ),
    Stage(
        name="large frames, then idle",
        tells=f"20 peers send one frame of {LARGE_MIB} MiB, are answered, and keep the connection",
        peer=lambda seconds: bad_peers.lingerer(bad_bytes.junk_registration(LARGE_MIB * MIB), seconds),
        size=20,
        ramp_s=4.0,
    ),
    Stage(
        name="half-open flood",
        tells="2,000 connections with the beginning of a frame, then silence",
        peer=bad_peers.half_open,
        size=2000,
        ramp_s=4.0,
    ),
    Stage(
        name="tricklers",
        tells="500 connections send a 16 MiB frame, one byte a second",
        peer=lambda seconds: bad_peers.trickler(seconds, pace_s=1.0),
        size=500,
        ramp_s=2.0,
    ),
    Stage(
        name="idle connections",
        tells=f"{CONNECTIONS:,} connections that say nothing",
        peer=bad_peers.idle,
        size=CONNECTIONS,
        ramp_s=6.0,
    ),
    Stage(
        name=NEVER_READING,
        tells=f"1 peer pipelines {NEVER_READ_REQUESTS:,} route requests and reads nothing",
        peer=lambda seconds: bad_peers.never_reader(2 * seconds, requests=NEVER_READ_REQUESTS),
        size=1,
    ),
)


def stage_named(name: str) -> Stage:
    """Give a stage.

    Raises:
        KeyError: There is none of this name.
    """
    return {stage.name: stage for stage in STAGES}[name]
