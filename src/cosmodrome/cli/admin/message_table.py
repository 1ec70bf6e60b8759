"""Commands about messages, and about how far groups have consumed them.

Owns: their declarations.
Must not know: what they ask and print (cosmodrome.admin).
"""

from typing import Final

from cosmodrome.cli.admin.declaration import (
    TOPIC,
    Declared,
    Option,
    integer,
    java_bool,
    natural,
    option,
    positive_s,
    required,
    switch,
)

_MESSAGE_BYTES: Final = 4 * 1024 * 1024
"""A broker's own limit."""


def _at_least_one(text: str) -> int:
    number = natural(text)
    if number == 0:
        raise ValueError("it must be above 0")
    return number


def _size(text: str) -> int:
    number = _at_least_one(text)
    if number > _MESSAGE_BYTES:
        raise ValueError(f"a message has at most {_MESSAGE_BYTES} bytes")
    return number


def _offset(text: str) -> int:
    number = integer(text)
    if number < 0:
        raise ValueError("offsets begin at 0")
    return number


def _ids(text: str) -> list[str]:
    ids = list(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if not ids:
        raise ValueError("there is no id in -i")
    return ids


def _moment(text: str) -> int:
    from cosmodrome.admin.moments import moment_ms  # noqa: PLC0415  # few commands have moments

    return moment_ms(text)


def _charset(text: str) -> str:
    from cosmodrome.admin.message_rows import charset  # noqa: PLC0415

    return charset(text)


def _begin(flags: str) -> Option:
    return option(flags, "begin_ms", "Begin timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]", convert=_moment)


def _end(flags: str) -> Option:
    return option(flags, "end_ms", "End timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]", convert=_moment)


def _true_or_false(flags: str, name: str, text: str) -> Option:
    return option(flags, name, text, "true|false", convert=java_bool)


_ID: Final = required("-i --msgId", "msg_id", "Message Id", "ID")
_QUEUE: Final = required("-i --queueId", "queue_id", "Queue Id", "N", convert=natural)
_BROKER: Final = required("-b --brokerName", "broker_name", "Broker name", "NAME")
_GROUP: Final = option("-g --consumerGroup", "group", "consumer group name", "GROUP")
_CLIENT: Final = option("-d --clientId", "client_id", "have this member of the group (-g) consume it again", "ID")
_OF_GROUP: Final = required("-g --group", "group", "set the consumer group", "GROUP")
_CLUSTER: Final = option("-c --cluster", "cluster", "in this cluster only", "NAME")
_ROUTE: Final = option("-c --cluster", "cluster", "accepted; all brokers of the topic are asked", "NAME")
_CHARSET: Final = option("-f --bodyFormat", "body_format", "charset of the body, for example UTF-8", convert=_charset)
_FOLDER: Final = option(
    "--bodyFolder", "body_folder", "write the body to a file in this folder (mqadmin: /tmp/rocketmq/msgbodys)", "FOLDER"
)
_CHARSET_NAME: Final = option("-c --charsetName", "charset_name", "CharsetName(eg: UTF-8,GBK)", convert=_charset)
_EXPRESSION: Final = option("-s --subExpression", "expression", "Subscribe Expression(eg: TagA || TagB)", "TAGS")
_FORCE: Final = _true_or_false("-f --force", "is_forced", "accepted; a group always goes where it is told")
_MAX_NUM: Final = "The maximum number of messages returned by the query of each broker, default 64"

_QUERIES: Final = (
    Declared(
        name="queryMsgById",
        text="Query Message by Id.",
        runs="messages:query_msg_by_id",
        options=(
            TOPIC,
            required("-i --msgId", "msg_ids", "Message Id, several with commas", "IDS", convert=_ids),
            _CHARSET,
            _FOLDER,
            _GROUP,
            _CLIENT,
            _true_or_false("-s --sendMessage", "resends", "send the message again"),
            option("-u --unitName", "unit_name", "unit name of the sender"),
            _ROUTE,
        ),
        more="The body is printed; mqadmin writes it to a file, as --bodyFolder does.",
    ),
    Declared(
        name="queryMsgByKey",
        text="Query Message by Key.",
        runs="messages:query_msg_by_key",
        options=(
            TOPIC,
            required("-k --msgKey", "key", "Message Key", "KEY"),
            _begin("-b --beginTimestamp"),
            _end("-e --endTimestamp"),
            option("-m --maxNum", "limit", _MAX_NUM, "N", convert=_at_least_one),
            option("-p --keyType", "key_type", "K for keys (default), T for tags (brokers of 5.5)", choices=("K", "T")),
            option("-l --lastKey", "last_key", "go on behind this index key (an index in RocksDB)", "KEY"),
            _ROUTE,
        ),
    ),
    Declared(
        name="queryMsgByUniqueKey",
        text="Query Message by Unique key.",
        runs="messages:query_msg_by_unique_key",
        options=(
            TOPIC,
            _ID,
            switch("-a --showAll", "shows_all", "Print all message, the limit is 32"),
            _FOLDER,
            _GROUP,
            _CLIENT,
            _begin("-s --startTime"),
            _end("-e --endTime"),
            _ROUTE,
        ),
    ),
    Declared(
        name="queryMsgByOffset",
        text="Query Message by offset.",
        runs="messages:query_msg_by_offset",
        options=(
            TOPIC,
            _BROKER,
            _QUEUE,
            required("-o --offset", "offset", "Queue Offset", "N", convert=_offset),
            _CHARSET,
            _FOLDER,
            option("-r --routeTopic", "route_topic", "the topic which is used to find route info", "TOPIC"),
        ),
    ),
    Declared(
        name="queryMsgTraceById",
        text="Query a message trace.",
        runs="message_traces:query_msg_trace_by_id",
        options=(
            _ID,
            option("-t --traceTopic", "trace_topic", "The name value of message trace topic", "TOPIC"),
            _begin("-b --beginTimestamp"),
            _end("-e --endTimestamp"),
            option("-c --maxNum", "limit", _MAX_NUM, "N", convert=_at_least_one),
        ),
    ),
    Declared(
        name="DecodeMessageId",
        text="Decode a sender's message ID. (mqadmin has it, but does not offer it.)",
        runs="message_traces:decode_message_id",
        options=(required("-i --messageId", "msg_id", "unique message ID", "ID"),),
    ),
)

_PRINTS: Final = (
    Declared(
        name="printMsg",
        text="Print Message Detail.",
        runs="printing:print_msg",
        options=(
            TOPIC,
            _CHARSET_NAME,
            _EXPRESSION,
            _begin("-b --beginTimestamp"),
            _end("-e --endTimestamp"),
            _true_or_false("-d --printBody", "with_body", "print body"),
            option("-l --lmqParentTopic", "parent_topic", "the topic which is used to find route info", "TOPIC"),
        ),
    ),
    Declared(
        name="printMsgByQueue",
        text="Print Message Detail by queueId.",
        runs="printing:print_msg_by_queue",
        options=(
            TOPIC,
            required("-a --brokerName", "broker_name", "broker name", "NAME"),
            _QUEUE,
            _CHARSET_NAME,
            _EXPRESSION,
            _begin("-b --beginTimestamp"),
            _end("-e --endTimestamp"),
            _true_or_false("-p --print", "with_messages", "print msg. eg: true | false(default)"),
            _true_or_false("-d --printBody", "with_body", "print body. eg: true | false(default)"),
            _true_or_false("-f --calculate", "counts_tags", "calculate by tag. eg: true | false(default)"),
        ),
    ),
    Declared(
        name="consumeMessage",
        text="Consume message. (Only prints: no offset of a group moves.)",
        runs="printing:consume_message",
        options=(
            TOPIC,
            option("-b --brokerName", "broker_name", "Broker name", "NAME"),
            option("-i --queueId", "queue_id", "Queue Id", "N", convert=natural),
            option("-o --offset", "offset", "Queue offset", "N", convert=_offset),
            _GROUP,
            _begin("-s --beginTimestamp"),
            _end("-e --endTimestamp"),
            option(
                "-c --MessageNumber",
                "count",
                "Number of message to be consumed, default 128",
                "N",
                convert=_at_least_one,
            ),
        ),
    ),
)

_SENDS: Final = (
    Declared(
        name="sendMessage",
        text="Send a message.",
        runs="sending:send_message",
        options=(
            TOPIC,
            required("-p --body", "body", "UTF-8 string format of the message body", "TEXT", is_verbatim=True),
            option("-k --key", "keys", "Message keys, with blanks between them", "KEYS"),
            option("-c --tags", "tag", "Message tags", "TAG"),
            option("-b --broker", "broker_name", "Send message to target broker", "NAME"),
            option("-i --qid", "queue_id", "Send message to target queue", "N", convert=natural),
            _true_or_false("-m --msgTraceEnable", "is_traced", "Message Trace Enable, Default: false"),
        ),
    ),
    Declared(
        name="checkMsgSendRT",
        text="Check message send response time.",
        runs="sending:check_msg_send_rt",
        options=(
            TOPIC,
            option("-a --amount", "amount", "message amount | default 100", "N", convert=_at_least_one),
            option("-s --size", "size", "message size | default 128", "BYTES", convert=_size),
        ),
    ),
    Declared(
        name="sendMsgStatus",
        text="Send msg to broker.",
        runs="sending:send_msg_status",
        options=(
            required(
                "-b --brokerName", "broker_name", "Broker Name, or CLUSTER_BROKER: the topic of this name", "NAME"
            ),
            option("-s --messageSize", "size", "Message Size, Default: 128", "BYTES", convert=_size),
            option("-c --count", "count", "send message count, Default: 50", "N", convert=_at_least_one),
        ),
    ),
    Declared(
        name="clusterRT",
        text="List All clusters Message Send RT.",
        runs="sending:cluster_rt",
        options=(
            option("-a --amount", "amount", "message amount | default 100", "N", convert=_at_least_one),
            option("-s --size", "size", "message size | default 128", "BYTES", convert=_size),
            option("-c --cluster", "cluster", "cluster name | default display all cluster", "NAME"),
            _true_or_false("-p --print", "as_log", "print as tlog | default false"),
            option("-m --machine", "machine_room", "machine room name | default noname", "NAME"),
            option("-i --interval", "interval_s", "print interval | default 10 seconds", "S", convert=positive_s),
            option(
                "--rounds", "rounds", "end after so many; without, it ends when it is interrupted", "N", convert=natural
            ),
        ),
    ),
)

_GROUPS: Final = (
    Declared(
        name="consumerProgress",
        text="Query consumer's progress, speed.",
        runs="consumer_progress:consumer_progress",
        options=(
            option("-g --groupName", "group", "consumer group name; without, all groups in a line each", "GROUP"),
            option("-t --topicName", "topic", "topic name", "TOPIC"),
            _true_or_false("-s --showClientIP", "shows_ip", "Show Client IP per Queue"),
            _CLUSTER,
        ),
    ),
    Declared(
        name="resetOffsetByTime",
        text="Reset consumer offset by timestamp(without client restart).",
        runs="offset_resets:reset_offset_by_time",
        options=(
            _OF_GROUP,
            TOPIC,
            required("-s --timestamp", "when", "set the timestamp[now|currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]"),
            _FORCE,
            option("-b --broker", "broker", "broker addr, or its name; with -q", "BROKER"),
            option("-q --queue", "queue_id", "queue id; with -b", "N", convert=natural),
            option(
                "-o --offset", "offset", "Expect queue offset; with -b and -q, in place of -s", "N", convert=_offset
            ),
            _CLUSTER,
        ),
    ),
    Declared(
        name="skipAccumulatedMessage",
        text="Skip all messages that are accumulated (not consumed) currently.",
        runs="offset_resets:skip_accumulated_message",
        options=(_OF_GROUP, TOPIC, _FORCE, _CLUSTER),
    ),
)

MESSAGE_COMMANDS: Final[tuple[Declared, ...]] = (*_QUERIES, *_PRINTS, *_SENDS, *_GROUPS)
