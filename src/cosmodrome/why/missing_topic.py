"""Why a topic has no route.

Owns: the situations of topics that nobody serves, and in which order they are looked at.
Must not know: who asks, where facts come from.
"""

from collections.abc import Callable
from typing import Final

from cosmodrome.why.causes import (
    DEFAULT_TOPIC,
    ENDS,
    Cause,
    asking_why,
    create_command,
    done_by,
    elsewhere,
    latest,
    never,
    overloaded,
    young_s,
)
from cosmodrome.why.facts import Past, TopicFacts
from cosmodrome.why.words import moment, some, span

_RETRY: Final = "%RETRY%"
_DEAD: Final = "%DLQ%"
_WENT: Final = {
    Past.EXPIRED: "was not heard of for too long",
    Past.CLOSED: "lost its connection",
    Past.UNREGISTERED: "unregistered itself",
    Past.SUPERSEDED: "was replaced by another address",
}


def _refused_name(facts: TopicFacts) -> Cause | None:
    if facts.refused is None:
        return None
    return Cause("refused_name", facts.refused, "no topic can have this name.", "correct the name in the client.")


def draining(facts: TopicFacts) -> Cause | None:
    """Say that the server is going away."""
    if not facts.server.is_draining:
        return None
    return Cause(
        "draining",
        "this server is being taken out of use and sends clients away",
        "somebody takes the server out of use (`cosmodrome drain`), or it is stopping.",
        "use the other NameServers, or put it back:",
        (f"cosmodrome drain --undo -n {facts.server.address}",),
    )


def not_ready(facts: TopicFacts) -> Cause | None:
    """Say that the server serves nobody yet."""
    if not facts.server.unready:
        return None
    return Cause(
        "not_ready",
        f"this server answers no routes yet: {facts.server.unready}",
        "the server has just started, and waits for brokers (needWaitForService).",
        "wait, or ask another NameServer.",
    )


def _deleted(facts: TopicFacts) -> Cause | None:
    last = latest(facts.past, Past.TOPIC_DELETED, Past.TOPIC_ADDED)
    if last is None or last.what is not Past.TOPIC_DELETED:
        return None
    return Cause(
        "deleted",
        f"deleted here{done_by(last)} at {moment(last.time_s, facts.server.now_s)}",
        "an administrator deleted the topic.",
        "if a broker still has it, it comes back with the broker's next change; else create it again:",
        (create_command(facts),),
    )


def _dropped(facts: TopicFacts) -> Cause | None:
    last = latest(facts.past, Past.TOPIC_DROPPED, Past.TOPIC_ADDED, *ENDS)
    if last is None or last.what is not Past.TOPIC_DROPPED:
        return None
    return Cause(
        "dropped_by_broker",
        f"its last broker does not announce it any more since {moment(last.time_s, facts.server.now_s)}",
        "the topic was deleted on its broker, or the broker came back with another store.",
        "see the broker's topics, or create it again:",
        (create_command(facts),),
    )


def _broker_gone(facts: TopicFacts) -> Cause | None:
    last = latest(facts.past, *ENDS, Past.APPEARED)
    if last is None or last.what not in _WENT:
        return None
    gone = [each for each in facts.past if each.what in _WENT]
    names = sorted({each.broker for each in gone if each.broker})
    when = moment(last.time_s, facts.server.now_s)
    return Cause(
        f"brokers_{last.what.value}",
        f"its broker {last.broker} {_WENT[last.what]} at {when}"
        + (f"; gone are {some(names)}" if len(names) > 1 else ""),
        f"all brokers that have the topic are gone: {some(names)}.",
        "see why, and start them again:"
        if last.what is not Past.UNREGISTERED
        else "start them again; they were stopped:",
        asking_why(facts.server, names),
    )


def _elsewhere(facts: TopicFacts) -> Cause | None:
    advice = f"give the brokers this server too (namesrvAddr with {facts.server.address})."
    return elsewhere(facts.server, facts.peers, "its brokers are registered at other NameServers only.", advice)


def _overloaded(facts: TopicFacts) -> Cause | None:
    return overloaded(facts.server, "brokers wait")


def _no_brokers(facts: TopicFacts) -> Cause | None:
    if facts.server.brokers:
        return None
    if facts.server.came:
        return Cause(
            "all_brokers_gone",
            f"no broker is registered here any more; {some(facts.server.came)} "
            f"{'was' if len(facts.server.came) == 1 else 'were'}",
            "all brokers are gone.",
            "see why, and start them again:",
            asking_why(facts.server, facts.server.came),
        )
    up_s = young_s(facts.server)
    if up_s is not None:
        return Cause(
            "just_started",
            f"the server started {span(up_s)} ago and no broker has registered yet",
            "brokers have not come back since the start; they register every 10 to 30 s.",
            "wait half a minute and ask again.",
        )
    return Cause(
        "no_brokers",
        "no broker is registered here at all",
        "brokers do not know this NameServer, or cannot reach it.",
        f"set namesrvAddr={facts.server.address} at a broker and look at its log.",
        (f"cosmodrome admin clusterList -n {facts.server.address}",),
    )


def _just_started(facts: TopicFacts) -> Cause | None:
    up_s = young_s(facts.server)
    if up_s is None or facts.past or facts.near or not facts.server.brokers:
        return None
    return Cause(
        "just_started",
        f"the server started {span(up_s)} ago; brokers that come back later than others may have it",
        "its brokers have not come back since the start.",
        "wait half a minute and ask again.",
    )


def _made_by_use(facts: TopicFacts) -> Cause | None:
    for prefix, what, when in (
        (_RETRY, "retry_topic", "the first member of the group connects to a broker"),
        (_DEAD, "dead_letter_topic", "the first message of the group is given up"),
    ):
        if facts.topic.startswith(prefix):
            group = facts.topic.removeprefix(prefix)
            return Cause(
                what,
                f"brokers make this topic of group {group} by themselves, when {when}",
                "this has not happened yet.",
                "nothing: it comes by itself.",
                is_guess=True,
            )
    return None


def _misspelt(facts: TopicFacts) -> Cause | None:
    if not facts.near:
        return None
    return Cause(
        "misspelt",
        f"similar: {some(facts.near)}",
        "a misspelt topic.",
        "fix the client, or create it:",
        (create_command(facts),),
        is_guess=True,
    )


def _to_be_created(facts: TopicFacts) -> Cause | None:
    if not facts.default_topic:
        return None
    brokers = [each.broker for each in facts.default_topic]
    return Cause(
        "auto_creation",
        f"auto-creation: {DEFAULT_TOPIC} is registered by {some(brokers)}",
        "nobody has sent to it yet: brokers create it with the first message.",
        "send to it, or create it:",
        (create_command(facts),),
        is_guess=True,
    )


def never_registered(facts: TopicFacts) -> Cause:
    """Say what is known of a topic that nothing else explains."""
    return Cause(
        "never_registered" if facts.server.is_history_whole else "unknown",
        never(
            facts.server,
            ("never registered by any broker", "not registered by any broker", "not registered by any broker now"),
        ),
        "nobody has created the topic."
        if facts.server.is_history_whole or not facts.server.is_ours
        else "nobody has created the topic, or what happened to it is forgotten.",
        "create it:",
        (create_command(facts),),
    )


MISSING_RULES: Final[tuple[Callable[[TopicFacts], Cause | None], ...]] = (
    _refused_name, draining, not_ready, _deleted, _dropped, _broker_gone, _elsewhere, _overloaded, _no_brokers,
    _just_started, _made_by_use, _misspelt, _to_be_created,
)  # fmt: skip
"""The first that says something is the likeliest cause."""
