"""Rules about role and id of one broker, and what it takes to be safe in it.

Owns: contradictions of role, id and election; what is lost by a power cut or a dead host.
Must not know: other files (estate_rules.py).
"""

from collections.abc import Iterator
from typing import Final

from cosmodrome.configuring.linting.broker_file import MASTER_ID, SYNC_MASTER, BrokerFile
from cosmodrome.configuring.linting.finding import Finding, Rule

_IN_MEMORY: Final = frozenset({"tmpfs", "ramfs"})
_OF_CONTAINERS: Final = frozenset({"overlay", "aufs"})


def role_and_id(broker: BrokerFile) -> Iterator[Finding]:
    """Find an id that does not go with the role."""
    rule = Rule("role-and-id", broker.file)
    broker_id = broker.number("brokerId")
    if broker.is_elected:
        yield from _peers(Rule("dledger-peers", broker.file), broker)
    elif broker.is_slave and (broker_id is None or broker_id <= MASTER_ID):
        shown = broker.value("brokerId")
        text = f"brokerRole=SLAVE needs a brokerId above 0, and it is {shown}; Apache's broker ends at once."
        yield rule.error(broker.at("brokerId"), text, "Give each slave of a name its own: brokerId=1")
    elif not broker.is_slave and broker_id not in (None, MASTER_ID):
        text = (
            f"brokerId={broker_id} with brokerRole={broker.value('brokerRole')[:40]}: Apache's broker registers as "
            "master 0 all the same, in the place of another one of this name."
        )
        yield rule.error(broker.at("brokerId"), text, "Set brokerRole=SLAVE, or brokerId=0")
    if broker.is_slave and not broker.is_on("slaveReadEnable"):
        text = "a slave without slaveReadEnable=true: from 5.0 on it refuses every pull, also while its master is gone."
        yield Rule("slave-reads", broker.file).note(broker.at("slaveReadEnable"), text)


def _peers(rule: Rule, broker: BrokerFile) -> Iterator[Finding]:
    if not broker.is_on("enableDLegerCommitLog"):
        return
    if broker.is_on("enableControllerMode"):
        text = "enableControllerMode and enableDLegerCommitLog are both true; Apache's broker ends at once."
        yield rule.error(broker.at("enableControllerMode"), text, "Set one of them to false.")
    own, peers = broker.value("dLegerSelfId"), broker.value("dLegerPeers")
    names = [peer.partition("-")[0].strip() for peer in peers.split(";") if peer.strip()]
    if not own or own not in names:
        text = f'dLegerSelfId="{own[:40]}" is not among dLegerPeers="{peers[:120]}"; the broker cannot take part.'
        yield rule.error(broker.at("dLegerSelfId"), text, "Use one of the names before the '-' of dLegerPeers.")


def durability(broker: BrokerFile) -> Iterator[Finding]:
    """Find what an answer of success does not promise."""
    if broker.is_elected:
        return
    role, flush = broker.value("brokerRole"), broker.value("flushDiskType")
    rule = Rule("durability", broker.file)
    if broker.is_on("transientStorePoolEnable") and flush == "ASYNC_FLUSH" and not broker.is_slave:
        text = (
            "transientStorePoolEnable=true: a kill of the process alone loses messages that were answered with success."
        )
        yield rule.warning(broker.at("transientStorePoolEnable"), text, "Remove it unless that is accepted.")
    if role == SYNC_MASTER and (broker.number("inSyncReplicas") or 1) < 2:
        text = "brokerRole=SYNC_MASTER waits for no slave from 5.0 on, unless inSyncReplicas is above 1."
        yield rule.warning(broker.at("inSyncReplicas"), text, "Set inSyncReplicas=2")
    if role == "ASYNC_MASTER" and flush == "ASYNC_FLUSH":
        text = (
            "brokerRole=ASYNC_MASTER and flushDiskType=ASYNC_FLUSH: a power cut loses the last half second or so, a dead "
            "disk all that no slave has."
        )
        remedy = "If that is too much: flushDiskType=SYNC_FLUSH, or brokerRole=SYNC_MASTER with a slave."
        yield rule.note(broker.at("flushDiskType"), text, remedy)


def store_path(broker: BrokerFile) -> Iterator[Finding]:
    """Find folders in which messages do not last, or which are others than they seem."""
    rule = Rule("store-path", broker.file)
    for key in ("storePathRootDir", "storePathCommitLog"):
        entry = broker.entry(key)
        if entry is None:
            continue
        path = entry.value.strip()
        said = f"{key}={path[:100]}"
        if "${" in path or path.startswith("~"):
            text = (
                f"{said}: Apache's broker takes it as it stands, and makes a folder of that name where it was started."
            )
            yield rule.error(entry, text, "Write the whole path.")
        elif not path.startswith("/") and path[1:2] != ":":
            text = f"{said} is not a whole path: it depends on the folder in which the broker is started."
            yield rule.warning(entry, text, "Write the whole path.")
        elif path == "/tmp" or path.startswith(("/tmp/", "/var/tmp/")):  # noqa: S108 -- compared, not used
            text = f"{said} is in a folder that systems clean."
            yield rule.warning(entry, text, "Keep messages elsewhere, for example in /var/lib/rocketmq/store")
        yield from _on_what(rule, broker, key, path)


def _on_what(rule: Rule, broker: BrokerFile, key: str, path: str) -> Iterator[Finding]:
    if not path.startswith("/"):
        return
    kind = broker.host.file_system(path)
    if kind in _IN_MEMORY:
        text = f"{key}={path[:100]} is in memory here ({kind}): a restart of this host loses all messages."
        yield rule.error(broker.at(key), text, "Keep messages on a disk.")
    elif kind in _OF_CONTAINERS:
        text = f"{key}={path[:100]} is in the container's own files here ({kind}): they go with the container."
        yield rule.warning(broker.at(key), text, "Mount a volume there.")


def open_doors(broker: BrokerFile) -> Iterator[Finding]:
    """Find switches that are handy while trying, and costly later."""
    rule = Rule("open-doors", broker.file)
    topics = broker.entry("autoCreateTopicEnable")
    if topics is None or topics.value.strip().lower() == "true":
        text = (
            "autoCreateTopicEnable=true"
            + (" (the default)" if topics is None else "")
            + ": a misspelt topic is made by the first send, on one broker only, and never goes away."
        )
        remedy = "In production set autoCreateTopicEnable=false, and make topics with updateTopic."
        at = broker.at("autoCreateTopicEnable")
        yield rule.note(at, text, remedy) if topics is None else rule.warning(at, text, remedy)
    if broker.value("adminPolicy").lower() == "open":
        text = "adminPolicy=open: whoever can connect may change topics, groups, offsets and settings."
        yield rule.warning(broker.at("adminPolicy"), text, "Set adminPolicy=compatible, and adminAllow.")
    if not (broker.is_on("aclEnable") or broker.is_on("authenticationEnabled")):
        text = "neither aclEnable nor authenticationEnabled: whoever can connect may send and read everything."
        yield rule.note("aclEnable", text, "Keep the ports from strangers, or set one of them to true.")
