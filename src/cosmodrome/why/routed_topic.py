"""What can be wrong with a route.

Owns: the situations of topics that have one, and in which order they are looked at.
Must not know: who asks, where facts come from.
"""

from collections.abc import Callable
from typing import Final

from cosmodrome.why.causes import (
    MASTER_ID,
    READ,
    WRITE,
    Cause,
    asking_why,
    create_command,
    done_by,
    is_this_machine,
    latest,
    restoring,
)
from cosmodrome.why.facts import Happening, Past, Queues, TopicFacts
from cosmodrome.why.missing_topic import draining, not_ready
from cosmodrome.why.words import moment, odd_address, some


def _no_queues(facts: TopicFacts) -> Cause | None:
    if any(each.write for each in facts.queues):
        return None
    return Cause(
        "no_queues",
        "all brokers have 0 write queues for it",
        "nobody can send: somebody shrank it to no queues.",
        "give it queues:",
        (f"{create_command(facts)} -w 8 -r 8",),
    )


def _wiped(facts: TopicFacts) -> Cause | None:
    wiped = [each for each in facts.queues if not each.perm & WRITE and _wipe_of(facts, each.broker) is not None]
    wipe = _wipe_of(facts, wiped[0].broker) if wiped else None
    if wipe is None:
        return None
    when = moment(wipe.time_s, facts.server.now_s)
    is_all = len(wiped) == len(facts.queues)
    return Cause(
        "perm_wiped",
        f"write permission of {some([each.broker for each in wiped])} was wiped{done_by(wipe)} at {when}",
        "nobody can send: write permission was taken from all its brokers."
        if is_all
        else "a part of its queues takes no messages.",
        "give it back when the maintenance is over:",
        restoring(facts.server, [each.broker for each in wiped[:2]]),
    )


def _not_writable(facts: TopicFacts) -> Cause | None:
    if any(each.perm & WRITE for each in facts.queues) or _wiped(facts) is not None:
        return None
    return Cause(
        "not_writable",
        f"its permission is {_perms(facts.queues)}: none of its brokers lets clients write",
        "the topic, or the brokers, are set to be read only.",
        "change the topic's permission, or brokerPermission of the brokers:",
        (f"cosmodrome admin updateTopicPerm -n {facts.server.address} -t {facts.topic} -p 6",),
    )


def _not_readable(facts: TopicFacts) -> Cause | None:
    if any(each.perm & READ for each in facts.queues):
        return None
    return Cause(
        "not_readable",
        f"its permission is {_perms(facts.queues)}: none of its brokers lets clients read",
        "consumers get nothing from it.",
        "change the topic's permission:",
        (f"cosmodrome admin updateTopicPerm -n {facts.server.address} -t {facts.topic} -p 6",),
    )


def _no_master(facts: TopicFacts) -> Cause | None:
    if any(MASTER_ID in each.addresses for each in facts.queues):
        return None
    return Cause(
        "no_master",
        f"only slaves are there: {some([f'{each.broker}:{min(each.addresses)}' for each in facts.queues if each.addresses])}",
        "the masters are gone: consumers go on, producers cannot send.",
        "start the masters again:",
        asking_why(facts.server, [each.broker for each in facts.queues]),
    )


def _odd(facts: TopicFacts) -> Cause | None:
    found = [
        (each.broker, address, oddness)
        for each in facts.queues
        for address in each.addresses.values()
        if (oddness := odd_address(address)) is not None
    ]
    if not found or is_this_machine(facts.server.address):
        return None
    broker, address, oddness = found[0]
    return Cause(
        "odd_address",
        f"{broker} announced {address}: {oddness}",
        "clients on other machines cannot connect to the broker.",
        f"set brokerIP1 of {broker} to an address that clients reach.",
        ("cosmodrome lint broker.conf",),
    )


ROUTED_RULES: Final[tuple[Callable[[TopicFacts], Cause | None], ...]] = (
    draining,
    not_ready,
    _no_queues,
    _wiped,
    _not_writable,
    _not_readable,
    _no_master,
    _odd,
)


def _wipe_of(facts: TopicFacts, broker: str) -> Happening | None:
    """Give the wipe that a broker's write permission was not given back after."""
    past = tuple(each for each in facts.past if each.broker == broker)
    last = latest(past, Past.PERM_WIPED, Past.PERM_RESTORED)
    return last if last is not None and last.what is Past.PERM_WIPED else None


def _perms(queues: tuple[Queues, ...]) -> str:
    return some(sorted({str(each.perm) for each in queues}))
