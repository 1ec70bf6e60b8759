"""Why a topic has no route, or one that is of no use.

Owns: how a diagnosis of a topic is put together; what else is worth knowing.
Must not know: single situations (missing_topic.py, routed_topic.py).
"""

from collections.abc import Iterator

from cosmodrome.why.causes import DEFAULT_TOPIC, Cause, Findings, concluded, foreign_hint, peer_hints
from cosmodrome.why.diagnosis import Diagnosis, Evidence
from cosmodrome.why.facts import TopicFacts
from cosmodrome.why.missing_topic import MISSING_RULES, never_registered
from cosmodrome.why.routed_topic import ROUTED_RULES
from cosmodrome.why.words import some, span


def diagnose_topic(facts: TopicFacts) -> Diagnosis:
    """Say why a topic has no route, or what is wrong with the one it has; that all is well, when it is."""
    causes = [cause for rule in (ROUTED_RULES if facts.queues else MISSING_RULES) if (cause := rule(facts)) is not None]
    found = Findings(
        causes=causes,
        is_there=bool(facts.queues),
        otherwise=_well(facts) if facts.queues else never_registered(facts),
        hints=_hints(facts),
    )
    return concluded(facts.topic, facts.server, _headline(facts), found)


def _headline(facts: TopicFacts) -> str:
    if not facts.queues:
        return f"{facts.topic} has no route on {facts.server.address}."
    brokers = [each.broker for each in facts.queues]
    queues = sum(each.read for each in facts.queues), sum(each.write for each in facts.queues)
    return f"{facts.topic} has a route on {facts.server.address}: {queues[0]} read and {queues[1]} write queues on {some(brokers)}."


def _well(facts: TopicFacts) -> Cause:
    return Cause(
        "routed",
        "",
        "nothing is wrong here.",
        "if a client still fails, see whether it asks this server and reaches these addresses.",
        (f"cosmodrome admin topicStatus -n {facts.server.address} -t {facts.topic}",),
    )


def _hints(facts: TopicFacts) -> Iterator[Evidence]:
    if not facts.queues:
        yield from _hints_of_missing(facts)
    words = ("does not know it", "fail")
    yield from peer_hints(facts.peers, words, is_here=bool(facts.queues))
    if facts.order_conf is not None:
        yield Evidence("order_conf", "note", f"it is an ordered topic: {facts.order_conf}")
    yield from foreign_hint(facts.server)


def _hints_of_missing(facts: TopicFacts) -> Iterator[Evidence]:
    if facts.missed is not None:
        since = span(facts.server.now_s - facts.missed.first_s)
        text = f"asked for {facts.missed.count} times in the last {since} by {some(facts.missed.askers)}"
        yield Evidence("missed", "warning", text)
    if facts.default_topic == () and facts.server.brokers:
        text = f"auto-creation: {DEFAULT_TOPIC} is not registered, so brokers run with autoCreateTopicEnable=false"
        yield Evidence("no_auto_creation", "note", text)
