"""What the rules of topics and of brokers share.

Owns: the form of what a rule comes to; permissions and topics that mean something.
Must not know: any situation.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cosmodrome.why.diagnosis import Evidence
from cosmodrome.why.facts import Happening, Past, TopicFacts

READ: Final = 4
WRITE: Final = 2
MASTER_ID: Final = 0
DEFAULT_TOPIC: Final = "TBW102"
AUDIT_OF_WIPES: Final = "cosmodrome audit -n {} --request WIPE_WRITE_PERM_OF_BROKER"
"""What names the change, which `cosmodrome audit --undo ID` takes back exactly."""
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


def evidence_of(causes: Sequence[Cause], fallback: Cause | None) -> tuple[Cause | None, list[Evidence]]:
    """Give the likeliest cause, and the evidence: of the likeliest first, then of whatever else is wrong.

    `fallback` is what is known when there are nothing but guesses; None of what is there.
    """
    shown = [fallback, *causes] if fallback is not None and all(each.is_guess for each in causes) else [*causes]
    evidence = [
        Evidence(each.situation, "hint" if each.is_guess else "warning" if place else "cause", each.text)
        for place, each in enumerate(shown)
    ]
    return (causes[0] if causes else fallback), evidence


def latest(past: tuple[Happening, ...], *whats: Past) -> Happening | None:
    """Give the latest of these that happened."""
    return next((each for each in past if each.what in whats), None)


def create_command(facts: TopicFacts) -> str:
    """Give the command that creates the topic, in the cluster in which brokers would create it."""
    cluster = next((each.cluster for each in (facts.default_topic or ()) if each.cluster), "DefaultCluster")
    return f"cosmodrome admin updateTopic -n {facts.server.address} -c {cluster} -t {facts.topic}"
