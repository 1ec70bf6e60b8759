"""What the rules of topics and of brokers share.

Owns: the form of what a rule comes to, and how all of it becomes a diagnosis; situations that are the server's; wording.
Must not know: situations of topics or of brokers alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cosmodrome.why.diagnosis import Diagnosis, Evidence
from cosmodrome.why.facts import Happening, Past, Peer, Server, TopicFacts
from cosmodrome.why.words import some, span

READ: Final = 4
WRITE: Final = 2
MASTER_ID: Final = 0
DEFAULT_TOPIC: Final = "TBW102"
JUST_S: Final = 60.0
"""Brokers register every 10 to 30 s: as long after a start, some may be missing."""
ENDS: Final = (Past.EXPIRED, Past.CLOSED, Past.UNREGISTERED, Past.SUPERSEDED)
"""How a broker can go."""


class Cause(NamedTuple):
    """What a rule came to. `text` is the evidence for it; a guess is what explains that something never happened."""

    situation: str
    text: str
    verdict: str
    advice: str
    commands: tuple[str, ...] = ()
    is_guess: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What all rules came to.

    Attributes:
        causes: The likeliest first.
        is_there: Whether the server has it.
        otherwise: What is said without causes: that all is well, or what is known of something that is not there.
        hints: What else is worth knowing.
    """

    causes: Sequence[Cause]
    is_there: bool
    otherwise: Cause
    hints: Iterable[Evidence]


def concluded(subject: str, server: Server, headline: str, found: Findings) -> Diagnosis:
    """Give the diagnosis: the likeliest cause, and the evidence for it before that for whatever else is wrong."""
    shown = list(found.causes)
    if not found.is_there and all(each.is_guess for each in shown):
        shown.insert(0, found.otherwise)
    likeliest = found.causes[0] if found.causes else found.otherwise
    evidence = (
        Evidence(each.situation, "hint" if each.is_guess else "warning" if place else "cause", each.text)
        for place, each in enumerate(shown)
    )
    return Diagnosis(
        subject=subject,
        server=server.address,
        is_well=found.is_there and not found.causes,
        headline=headline,
        evidence=(*evidence, *found.hints),
        situation=likeliest.situation,
        verdict=likeliest.verdict,
        advice=likeliest.advice,
        commands=likeliest.commands,
    )


def latest(past: tuple[Happening, ...], *whats: Past) -> Happening | None:
    """Give the latest of these that happened."""
    return next((each for each in past if each.what in whats), None)


def create_command(facts: TopicFacts) -> str:
    """Give the command that creates the topic, in the cluster in which brokers would create it."""
    cluster = next((each.cluster for each in (facts.default_topic or ()) if each.cluster), "DefaultCluster")
    return f"cosmodrome admin updateTopic -n {facts.server.address} -c {cluster} -t {facts.topic}"


def elsewhere(server: Server, peers: Sequence[Peer], verdict: str, advice: str) -> Cause | None:
    """Say that other NameServers have it."""
    knowing = [peer.address for peer in peers if peer.knows]
    if not knowing:
        return None
    command = f"cosmodrome peers diff -n {server.address},{knowing[0]}"
    return Cause("elsewhere", f"other NameServers have it: {some(knowing)}", verdict, advice, (command,))


def overloaded(server: Server, who_waits: str) -> Cause | None:
    """Say that the server refuses registrations."""
    if not server.is_braking:
        return None
    return Cause(
        "overloaded",
        "registrations are answered that there is too much to do",
        f"the server is overloaded, and {who_waits} to register.",
        "see its load in /metrics, and wait: brokers try again every 30 s.",
    )


def young_s(server: Server) -> float | None:
    """Give how long ago the server started, when that is so short that brokers may not have come back; else None."""
    up_s = None if server.up_since_s is None else server.now_s - server.up_since_s
    return up_s if up_s is not None and up_s < JUST_S else None


def never(server: Server, words: tuple[str, str, str]) -> str:
    """Say for how long something is known not to have happened: since the start, for a while, or now."""
    since_start, for_a_while, now = words
    if server.is_history_whole and server.up_since_s is not None:
        return f"{since_start} since the start {span(server.now_s - server.up_since_s)} ago"
    if server.known_since_s is not None:
        return f"{for_a_while} in the last {span(server.now_s - server.known_since_s)}"
    return now


def restoring(server: Server, brokers: Sequence[str]) -> tuple[str, ...]:
    """Give the commands that give brokers their write permission back: exactly, or as it usually is."""
    audit = f"cosmodrome audit -n {server.address} --request WIPE_WRITE_PERM_OF_BROKER"
    return (
        *([audit] if server.is_ours else []),  # it names the change, which `audit --undo ID` takes back
        *(f"cosmodrome admin addWritePerm -n {server.address} -b {broker}" for broker in brokers),
    )


def asking_why(server: Server, brokers: Sequence[str]) -> tuple[str, ...]:
    """Give the commands that explain the first brokers of these."""
    return tuple(f"cosmodrome why --broker {broker} -n {server.address}" for broker in brokers[:2])


def done_by(happening: Happening) -> str:
    """Give who did it, with a blank before; nothing when nobody knows."""
    return f" by {happening.by}" if happening.by else ""


def is_this_machine(address: str) -> bool:
    """Whether an address is valid on one machine only."""
    return address.startswith(("127.", "localhost", "[::1]"))


def peer_hints(peers: Iterable[Peer], words: tuple[str, str], *, is_here: bool) -> Iterator[Evidence]:
    """Say which other servers lack it, or say nothing; `words` are that they do, and what becomes of their clients."""
    lacks, hurts = words
    for peer in peers:
        if peer.fault is not None:
            yield Evidence("peer_silent", "note", f"{peer.address} could not be asked: {peer.fault}")
        elif peer.knows is False and is_here:
            yield Evidence("not_everywhere", "warning", f"{peer.address} {lacks}: clients that ask there {hurts}")
        elif peer.knows is False:
            yield Evidence("peer", "note", f"{peer.address} {lacks} either")


def foreign_hint(server: Server) -> Iterator[Evidence]:
    """Say that a server of others knows only the present."""
    if not server.is_ours:
        yield Evidence("foreign_server", "note", "this server says nothing about the past")
