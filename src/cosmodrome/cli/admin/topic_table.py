"""Commands that change topics on brokers, or ask brokers about them.

Owns: their declarations.
Must not know: what they ask and print (cosmodrome.admin).
"""

from collections.abc import Callable
from typing import Any, Final

from cosmodrome.cli.admin.declaration import (
    BROKER_ADDR,
    CLUSTER,
    TOPIC,
    Declared,
    integer,
    java_bool,
    natural,
    option,
    required,
    switch,
)

WHERE: Final = ("broker_addr", "cluster")
_LIST_FILE: Final = "a JSON list of {}, as exportMetadata writes them"


def attributes(text: str) -> dict[str, str]:
    """Read `+a=b,-c`. Raises ValueError."""
    from cosmodrome.admin.settings_text import attributes_from  # noqa: PLC0415  # only these commands need it

    return attributes_from(text)


def _perm(text: str) -> int:
    number = natural(text)
    if number > 7:
        raise ValueError(f"{number} is no permission: 2 writing, 4 reading, 6 both")
    return number


def _bool(flags: str, name: str, text: str) -> Any:
    return option(flags, name, text, "true|false", convert=java_bool)


def _count(flags: str, name: str, text: str, convert: Callable[[str], int] = natural) -> Any:
    return option(flags, name, text, "N", convert=convert)


TOPIC_COMMANDS: Final = (
    Declared(
        name="updateTopic",
        text="Update or create topic.",
        runs="topic_changes:update_topic",
        options=(
            BROKER_ADDR,
            CLUSTER,
            TOPIC,
            option("-a --attributes", "attributes", "attribute(+a=b,+c=d,-e)", "ATTRIBUTES", convert=attributes),
            _count("-r --readQueueNums", "read_queue_nums", "set read queue nums (8)"),
            _count("-w --writeQueueNums", "write_queue_nums", "set write queue nums (8)"),
            option("-p --perm", "perm", "set topic's permission: 2 W, 4 R, 6 RW (6)", "PERM", convert=_perm),
            _bool("-o --order", "order", "whether the order of its queues is kept in NameServers"),
            _bool("-u --unit", "unit", "is unit topic"),
            _bool("-s --hasUnitSub", "has_unit_sub", "has unit sub"),
        ),
        one_of=WHERE,
    ),
    Declared(
        name="updateTopicList",
        text="Create or update topic in batch.",
        runs="topic_changes:update_topic_list",
        options=(BROKER_ADDR, CLUSTER, required("-f --filename", "file", _LIST_FILE.format("TopicConfig"), "FILE")),
        one_of=WHERE,
    ),
    Declared(
        name="updateTopicPerm",
        text="Update topic perm.",
        runs="topic_changes:update_topic_perm",
        options=(
            BROKER_ADDR,
            CLUSTER,
            TOPIC,
            required("-p --perm", "perm", "set topic's permission: 2 W, 4 R, 6 RW", "PERM", convert=_perm),
        ),
        any_of=WHERE,
    ),
    Declared(
        name="deleteTopic",
        text="Delete topic from broker and NameServer.",
        runs="topic_changes:delete_topic",
        options=(
            TOPIC,
            required("-c --clusterName", "cluster", "delete topic from which cluster", "NAME"),
            switch("--nameServersOnly", "name_servers_only", "Not from brokers: they are gone. (Not in mqadmin.)"),
        ),
    ),
    Declared(
        name="topicStatus",
        text="Examine topic Status info.",
        runs="topic_status:topic_status",
        options=(TOPIC, option("-c --cluster", "cluster", "ask the brokers of this topic's route instead", "NAME")),
    ),
    Declared(
        name="statsAll",
        text="Topic and Consumer tps stats.",
        runs="stats_all:stats_all",
        options=(
            switch("-a --activeTopic", "active_only", "print active topic only"),
            option("-t --topic", "topic", "print select topic only", "TOPIC"),
        ),
    ),
    Declared(
        name="queryCq",
        text="Query cq command.",
        runs="consume_queue:query_cq",
        options=(
            TOPIC,
            required("-q --queue", "queue_id", "queue num, ie. 1", "N", convert=natural),
            required("-i --index", "index", "start queue index", "N", convert=integer),
            _count("-c --count", "count", "how many (10)"),
            option("-b --broker", "broker_addr", "broker addr", "HOST:PORT"),
            option("-g --consumer", "consumer_group", "consumer group", "GROUP"),
        ),
    ),
)
