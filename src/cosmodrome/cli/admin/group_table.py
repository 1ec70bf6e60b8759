"""Commands about consumer groups and producers on brokers.

Owns: their declarations.
Must not know: what they ask and print (cosmodrome.admin).
"""

from typing import Any, Final

from cosmodrome.cli.admin.declaration import (
    BROKER_ADDR,
    CLUSTER,
    GROUP,
    TOPIC,
    Declared,
    integer,
    java_bool,
    natural,
    option,
    required,
    switch,
)
from cosmodrome.cli.admin.topic_table import WHERE, attributes

_CONSUMER_GROUP: Final = required("-g --consumerGroup", "group", "consumer group name", "GROUP")


def _policy(text: str) -> Any:
    from cosmodrome.admin.group_changes import retry_policy  # noqa: PLC0415  # only this command needs it

    return retry_policy(text)


def _bool(flags: str, name: str, text: str) -> Any:
    return option(flags, name, text, "true|false", convert=java_bool)


GROUP_COMMANDS: Final = (
    Declared(
        name="updateSubGroup",
        text="Update or create subscription group.",
        runs="group_changes:update_sub_group",
        options=(
            BROKER_ADDR,
            CLUSTER,
            required("-g --groupName", "group_name", "consumer group name", "GROUP"),
            _bool("-s --consumeEnable", "consume_enable", "consume enable (true)"),
            _bool("-m --consumeFromMinEnable", "consume_from_min_enable", "from min offset (false)"),
            _bool("-d --consumeBroadcastEnable", "consume_broadcast_enable", "broadcast (false)"),
            _bool("-o --consumeMessageOrderly", "consume_message_orderly", "consume message orderly (false)"),
            option("-q --retryQueueNums", "retry_queue_nums", "retry queue nums (1)", "N", convert=natural),
            option("-r --retryMaxTimes", "retry_max_times", "retry max times (16)", "N", convert=integer),
            option("-p --groupRetryPolicy", "group_retry_policy", "the retry policy as JSON", "JSON", convert=_policy),
            option("-i --brokerId", "broker_id", "consumer from which broker id (0)", "ID", convert=integer),
            option(
                "-w --whichBrokerWhenConsumeSlowly",
                "which_broker_when_consume_slowly",
                "which broker id when consume slowly (1)",
                "ID",
                convert=integer,
            ),
            _bool(
                "-a --notifyConsumerIdsChanged",
                "notify_consumer_ids_changed_enable",
                "notify consumerId changed (true)",
            ),
            option("--attributes", "attributes", "attribute(+a=b,+c=d,-e)", "ATTRIBUTES", convert=attributes),
        ),
        any_of=WHERE,
    ),
    Declared(
        name="updateSubGroupList",
        text="Update or create subscription group in batch.",
        runs="group_changes:update_sub_group_list",
        options=(
            BROKER_ADDR,
            CLUSTER,
            required("-f --filename", "file", "a JSON list of SubscriptionGroupConfig", "FILE"),
        ),
        one_of=WHERE,
    ),
    Declared(
        name="setConsumeMode",
        text="Set consume message mode. pull/pop etc.",
        runs="group_changes:set_consume_mode",
        options=(
            BROKER_ADDR,
            CLUSTER,
            required("-t --topicName", "topic", "topic name", "TOPIC"),
            GROUP,
            required("-m --mode", "mode", "consume mode", choices=("PULL", "POP")),
            option(
                "-q --popShareQueueNum",
                "pop_share_queue_num",
                "num of queue which share in pop mode (0)",
                "N",
                convert=integer,
            ),
        ),
        any_of=WHERE,
    ),
    Declared(
        name="deleteSubGroup",
        text="Delete subscription group from broker.",
        runs="group_changes:delete_sub_group",
        options=(
            BROKER_ADDR,
            CLUSTER,
            GROUP,
            _bool("-r --removeOffset", "remove_offset", "remove offset (false)"),
        ),
        any_of=WHERE,
    ),
    Declared(
        name="getConsumerConfig",
        text="Get consumer config by subscription group name.",
        runs="broker_settings:get_consumer_config",
        options=(GROUP,),
    ),
    Declared(
        name="producerConnection",
        text="Query producer's socket connection and client version.",
        runs="connections:producer_connection",
        options=(required("-g --producerGroup", "group", "producer group name", "GROUP"), TOPIC),
    ),
    Declared(
        name="consumerConnection",
        text="Query consumer's socket connection, client version and subscription.",
        runs="connections:consumer_connection",
        options=(_CONSUMER_GROUP, BROKER_ADDR),
    ),
    Declared(
        name="consumerStatus",
        text="Query consumer's internal data structure.",
        runs="consumer_status:consumer_status",
        options=(
            _CONSUMER_GROUP,
            option("-i --clientId", "client_id", "the consumer's client id", "ID"),
            BROKER_ADDR,
            switch("-s --jstack", "jstack", "with the stacks of the consumer's threads"),
        ),
        more="Without -i a file for each consumer is written, in a folder below the current one.",
    ),
    Declared(
        name="cloneGroupOffset",
        text="Clone offset from other group.",
        runs="broker_progress:clone_group_offset",
        options=(
            required("-s --srcGroup", "source", "source consumer group", "GROUP"),
            required("-d --destGroup", "target", "destination consumer group", "GROUP"),
            TOPIC,
            option("-o --offline", "offline", "accepted without effect, as in mqadmin"),
        ),
    ),
    Declared(
        name="producer",
        text="Query producer's instances, connection, status, etc.",
        runs="connections:producer",
        options=(required("-b --broker", "broker_addr", "broker address", "HOST:PORT"),),
    ),
)
