"""Why a broker is not there, or what is wrong with one that is.

Owns: the situations a broker can be in, and in which order they are looked at.
Must not know: who asks, where facts come from.
"""

from collections.abc import Callable, Iterator
from typing import Final

from cosmodrome.why.causes import (
    ENDS,
    MASTER_ID,
    Cause,
    Findings,
    asking_why,
    concluded,
    done_by,
    elsewhere,
    foreign_hint,
    is_this_machine,
    latest,
    never,
    overloaded,
    peer_hints,
    restoring,
    young_s,
)
from cosmodrome.why.diagnosis import Diagnosis, Evidence
from cosmodrome.why.facts import BrokerFacts, Past
from cosmodrome.why.words import counted, moment, odd_address, some, span

Rule = Callable[[BrokerFacts], Cause | None]

_LATE_S: Final = 60.0
_SHOWN_PAST: Final = 4
_TOLD: Final = {
    Past.APPEARED: "registered",
    Past.EXPIRED: "expired: it was not heard of for too long",
    Past.CLOSED: "its connection was closed",
    Past.UNREGISTERED: "it unregistered itself",
    Past.SUPERSEDED: "another address took its place",
    Past.REFUSED: "its registration was refused",
    Past.PERM_WIPED: "its write permission was wiped",
    Past.PERM_RESTORED: "its write permission was given back",
}


def diagnose_broker(facts: BrokerFacts) -> Diagnosis:
    """Say why a broker is not registered, or what is wrong with one that is; that all is well, when it is."""
    causes = [cause for rule in (_THERE_RULES if facts.members else _GONE_RULES) if (cause := rule(facts)) is not None]
    found = Findings(
        causes=causes,
        is_there=bool(facts.members),
        otherwise=_well(facts) if facts.members else _never_seen(facts),
        hints=_hints(facts),
    )
    return concluded(facts.broker, facts.server, _headline(facts), found)


def _headline(facts: BrokerFacts) -> str:
    if facts.members:
        clusters = sorted({each.cluster for each in facts.members if each.cluster})
        members = some([f"{each.broker_id}={each.addr}" for each in facts.members])
        return f"{facts.broker} ({some(clusters)}) is registered on {facts.server.address}: {members}."
    last = latest(facts.past, *ENDS)
    since = "" if last is None else f" since {moment(last.time_s, facts.server.now_s)}"
    return f"{facts.broker} is {'gone' if last else 'not registered'} on {facts.server.address}{since}."


def _well(facts: BrokerFacts) -> Cause:
    return Cause(
        "alive",
        "",
        "nothing is wrong here.",
        "if clients do not reach it, look at the addresses above from where they are.",
        (f"cosmodrome admin brokerStatus -n {facts.server.address} -b {facts.members[0].addr}",),
    )


# Of brokers that are not there.


def _refused(facts: BrokerFacts) -> Cause | None:
    last = latest(facts.past, Past.REFUSED, *ENDS, Past.APPEARED)
    if last is None or last.what is not Past.REFUSED:
        return None
    return Cause(
        "refused",
        f"its registration was refused at {moment(last.time_s, facts.server.now_s)}: {last.text}",
        "the broker is there, and this server does not take what it says.",
        "correct what was refused; the broker tries again by itself.",
    )


def _went(facts: BrokerFacts) -> Cause | None:
    last = latest(facts.past, *ENDS)
    if last is None:
        return None
    when = moment(last.time_s, facts.server.now_s)
    also = [peer.address for peer in facts.peers if peer.knows is False]
    still = [peer.address for peer in facts.peers if peer.knows]
    verdict, advice = _VERDICTS[last.what]
    if still and last.what is not Past.UNREGISTERED:
        verdict = f"the broker lives, {some(still)} still {'has' if len(still) == 1 else 'have'} it: the network between it and this server is at fault."
        advice = f"see whether the broker reaches {facts.server.address}."
    elif also and last.what is not Past.UNREGISTERED:
        verdict = f"the broker or its network: {some(also)} {'has' if len(also) == 1 else 'have'} lost it too."
    text = f"{_TOLD[last.what]} at {when}"
    return Cause(f"gone_{last.what.value}", f"{text} ({last.text})" if last.text else text, verdict, advice)


_VERDICTS: Final = {
    Past.EXPIRED: (
        "the broker hangs, or its heartbeats do not arrive.",
        "look at the broker's log and its garbage collection.",
    ),
    Past.CLOSED: ("the broker ended, or its connection was cut.", "see whether its process runs."),
    Past.UNREGISTERED: ("somebody stopped the broker.", "start it again when it is wanted."),
    Past.SUPERSEDED: ("the same broker came back with another address.", "see its brokerIP1 and listenPort."),
}


def _elsewhere(facts: BrokerFacts) -> Cause | None:
    advice = f"add {facts.server.address} to its namesrvAddr."
    return elsewhere(facts.server, facts.peers, "the broker registers at other NameServers only.", advice)


def _overloaded(facts: BrokerFacts) -> Cause | None:
    return overloaded(facts.server, "the broker waits")


def _misspelt(facts: BrokerFacts) -> Cause | None:
    if not facts.near:
        return None
    return Cause(
        "misspelt",
        f"similar: {some(facts.near)}",
        "a misspelt name.",
        "ask for the right one:",
        asking_why(facts.server, facts.near),
        is_guess=True,
    )


def _cluster_name(facts: BrokerFacts) -> Cause | None:
    if facts.broker not in facts.clusters:
        return None
    return Cause(
        "cluster_name",
        f"{facts.broker} is the name of a cluster, not of a broker",
        "the name of a cluster was taken for that of a broker.",
        "see the brokers of the cluster:",
        (f"cosmodrome admin clusterList -n {facts.server.address} -c {facts.broker}",),
        is_guess=True,
    )


def _just_started(facts: BrokerFacts) -> Cause | None:
    up_s = young_s(facts.server)
    if up_s is None:
        return None
    return Cause(
        "just_started",
        f"the server started {span(up_s)} ago",
        "the broker has not come back since the start; brokers register every 10 to 30 s.",
        "wait half a minute and ask again.",
    )


def _never_seen(facts: BrokerFacts) -> Cause:
    server = facts.server
    text = never(server, ("never seen", "not seen", "not registered now"))
    return Cause(
        "never_seen" if server.is_history_whole else "unknown",
        text,
        "the broker does not know this NameServer, cannot reach it, or has never run.",
        f"see its namesrvAddr (it must hold {server.address}) and its log.",
    )


_GONE_RULES: Final[tuple[Rule, ...]] = (
    _refused, _went, _elsewhere, _overloaded, _cluster_name, _misspelt, _just_started,
)  # fmt: skip


# Of brokers that are there.


def _expiring(facts: BrokerFacts) -> Cause | None:
    late = [each for each in facts.members if each.silent_s is not None and each.silent_s >= _LATE_S]
    if not late:
        return None
    one = max(late, key=lambda each: each.silent_s or 0.0)
    left = "" if one.expires_in_s is None else f", and is unregistered in {span(one.expires_in_s)}"
    return Cause(
        "expiring",
        f"id {one.broker_id} ({one.addr}) was last heard of {span(one.silent_s or 0.0)} ago{left}",
        "the broker hangs, or its heartbeats do not arrive.",
        "look at the broker's log now, while clients still have its route.",
    )


def _no_master(facts: BrokerFacts) -> Cause | None:
    if any(each.broker_id == MASTER_ID for each in facts.members):
        return None
    last = latest(facts.past, *ENDS)
    since = "" if last is None else f" since {moment(last.time_s, facts.server.now_s)}"
    return Cause(
        "no_master",
        f"no member has id 0{since}: only slaves are there",
        "the master is gone: consumers go on, producers cannot send to this broker.",
        "start the master again.",
    )


def _wiped(facts: BrokerFacts) -> Cause | None:
    last = latest(facts.past, Past.PERM_WIPED, Past.PERM_RESTORED)
    if last is None or last.what is not Past.PERM_WIPED:
        return None
    return Cause(
        "perm_wiped",
        f"its write permission was wiped{done_by(last)} at {moment(last.time_s, facts.server.now_s)}",
        "producers leave it out on purpose: somebody prepares maintenance.",
        "give it back when the maintenance is over:",
        restoring(facts.server, [facts.broker]),
    )


def _odd(facts: BrokerFacts) -> Cause | None:
    for each in facts.members:
        oddness = odd_address(each.addr)
        peer = "" if each.peer is None else f", and it connects from {each.peer}"
        if oddness is not None and not is_this_machine(each.peer or facts.server.address):
            return Cause(
                "odd_address",
                f"it announced {each.addr}: {oddness}{peer}",
                "clients on other machines cannot connect to it.",
                "set brokerIP1 to an address that clients reach.",
                ("cosmodrome lint broker.conf",),
            )
    return None


def _two_clusters(facts: BrokerFacts) -> Cause | None:
    clusters = sorted({each.cluster for each in facts.members if each.cluster})
    if len(clusters) < 2:
        return None
    return Cause(
        "two_clusters",
        f"the name is used in {len(clusters)} clusters: {some(clusters)}",
        "two brokers share a name, and take routes from each other.",
        "give one of them another brokerName.",
    )


_THERE_RULES: Final[tuple[Rule, ...]] = (_expiring, _two_clusters, _no_master, _wiped, _odd)


def _hints(facts: BrokerFacts) -> Iterator[Evidence]:
    server = facts.server
    for each in facts.members:
        if each.silent_s is not None:
            topics = "" if each.topics is None else f", {counted(each.topics, 'topic')}"
            yield Evidence(
                "heard",
                "ok",
                f"id {each.broker_id} was heard of {span(each.silent_s)} ago from {each.peer or each.addr}{topics}",
            )
    for happening in facts.past[:_SHOWN_PAST]:
        text = f" ({happening.text})" if happening.text else ""
        yield Evidence(
            "past",
            "note",
            f"{moment(happening.time_s, server.now_s)} {_TOLD.get(happening.what, happening.what.value)}{done_by(happening)}{text}",
        )
    words = ("does not have it", "do not find it")
    yield from peer_hints(facts.peers, words, is_here=bool(facts.members))
    yield from foreign_hint(server)
