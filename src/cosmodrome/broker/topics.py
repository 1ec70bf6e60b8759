"""The topics of a broker (Java: TopicConfigManager).

Owns: the table and its version; which topics every broker has; how a topic comes to be when somebody sends to it.
Must not know: files; NameServers; what is stored in a topic.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig, BrokerTopicTable
from cosmodrome.protocol.messages.checks import DLQ_PREFIX, RETRY_PREFIX, REVIVE_PREFIX

INHERIT: Final = 1
WRITE: Final = 2
READ: Final = 4
READ_WRITE: Final = READ | WRITE

TEMPLATE_TOPIC: Final = "TBW102"
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
GIVEN_UP_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
SYSTEM_PREFIX: Final = "rmq_sys_"
REVIVE_QUEUES: Final = 8
"""Of the topic of what is popped."""
_UNIT: Final = 1
_UNIT_SUBSCRIPTION: Final = 2
SYSTEM_TOPICS: Final = frozenset(
    {
        "SELF_TEST_TOPIC", TEMPLATE_TOPIC, "BenchmarkTest", "OFFSET_MOVED_EVENT", SCHEDULE_TOPIC, "RMQ_SYS_TRACE_TOPIC",
        HALF_TOPIC, OP_TOPIC, GIVEN_UP_TOPIC,
    }
)  # fmt: skip


class Topics:
    """The table. Every change moves the version, and the topic is in `take_changed` once afterwards."""

    def __init__(self, cluster: str, broker: str, template_queues: int, now_ms: int) -> None:
        """Begin with the topics that every broker has; no template topic if `template_queues` is 0."""
        self._own = SYSTEM_TOPICS | {cluster, broker, reply_topic(cluster), revive_topic(cluster)}
        self._configs: dict[str, BrokerTopicConfig] = {}
        self._changed: dict[str, None] = {}
        self.version = DataVersion(counter=0, timestamp=now_ms)
        self._make_own(cluster, broker, template_queues)

    def _make_own(self, cluster: str, broker: str, template_queues: int) -> None:
        sizes = {
            "SELF_TEST_TOPIC": (1, READ_WRITE),
            "BenchmarkTest": (1024, READ_WRITE),
            cluster: (16, READ_WRITE | INHERIT),
            broker: (1, READ_WRITE | INHERIT),
            "OFFSET_MOVED_EVENT": (1, READ_WRITE),
            SCHEDULE_TOPIC: (18, READ_WRITE),
            reply_topic(cluster): (1, READ_WRITE),
            HALF_TOPIC: (1, READ_WRITE),
            OP_TOPIC: (1, READ_WRITE),
            TIMER_TOPIC: (1, READ_WRITE),
            revive_topic(cluster): (REVIVE_QUEUES, READ_WRITE),
        }
        if template_queues:
            sizes[TEMPLATE_TOPIC] = (template_queues, READ_WRITE | INHERIT)
        for name, (queues, perm) in sizes.items():
            self._configs[name] = _config(name, queues, perm)

    def load(self, table: BrokerTopicTable) -> None:
        """Take over a table that was kept; topics of every broker that are missing in it stay as they are."""
        for name, config in table.topic_config_table.items():
            self._configs[name] = msgspec.structs.replace(
                config, topic_name=name, attributes=dict(config.attributes or {})
            )
        if table.data_version is not None:
            self.version = table.data_version

    def get(self, name: str) -> BrokerTopicConfig | None:
        """Give a topic; None when there is none."""
        return self._configs.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self._configs

    def __len__(self) -> int:
        return len(self._configs)

    def table(self, names: Iterable[str] | None = None) -> BrokerTopicTable:
        """Give the table, or the part of it with these names, as it is kept and registered."""
        configs = self._configs
        if names is not None:
            configs = {name: configs[name] for name in names if name in configs}
        return BrokerTopicTable(data_version=self.version, topic_config_table=dict(configs))

    def published(self, names: Iterable[str] | None, permission: int) -> BrokerTopicTable:
        """Give the table as NameServers are told it: a broker that may not be read or written takes that from all topics."""
        table = self.table(names)
        if permission & READ_WRITE == READ_WRITE:
            return table
        configs = {
            name: msgspec.structs.replace(config, perm=config.perm & permission)
            for name, config in table.topic_config_table.items()
        }
        return msgspec.structs.replace(table, topic_config_table=configs)

    def put(self, config: BrokerTopicConfig, now_ms: int) -> None:
        """Make a topic, or replace its settings; one that is like this already is no change."""
        if self._configs.get(config.topic_name) != config:
            self._configs[config.topic_name] = config
            self._moved(config.topic_name, now_ms)

    def remove(self, name: str, now_ms: int) -> bool:
        """Forget a topic; tell whether there was one."""
        if self._configs.pop(name, None) is None:
            return False
        self._moved(name, now_ms)
        return True

    def make_by_template(
        self, name: str, template: str, queues: int, now_ms: int, *, is_unit: bool = False
    ) -> BrokerTopicConfig | None:
        """Make a topic for whoever sends to it; None when there is no such template, or none that may be one.

        It has at least one queue: Apache's broker makes one without any, and refuses the send then.
        """
        pattern = self._configs.get(template)
        if pattern is None or not pattern.perm & INHERIT:
            return None
        queues = max(1, min(queues, pattern.write_queue_nums))
        config = msgspec.structs.replace(
            _config(name, queues, pattern.perm & ~INHERIT),
            topic_filter_type=pattern.topic_filter_type,
            topic_sys_flag=_UNIT if is_unit else 0,
        )
        self.put(config, now_ms)
        return config

    def ensure(self, name: str, queues: int, now_ms: int, *, is_unit: bool = False) -> BrokerTopicConfig:
        """Give a topic of the broker's own making (retry, dead letters), which is made if it is missing."""
        config = self._configs.get(name)
        if config is None:
            config = msgspec.structs.replace(
                _config(name, queues, READ_WRITE), topic_sys_flag=_UNIT_SUBSCRIPTION if is_unit else 0
            )
            self.put(config, now_ms)
        return config

    def ensure_marked(
        self, name: str, queues: int, now_ms: int, *, is_ordered: bool = False, is_unit: bool = False
    ) -> BrokerTopicConfig:
        """As `ensure`; one that is there is marked as ordered, or not, as it is said here.

        COMPAT: TopicConfigManager.createTopicInSendMessageBackMethod does so, hence the mark is that of who came last.
        """
        config = msgspec.structs.replace(self.ensure(name, queues, now_ms, is_unit=is_unit), order=is_ordered)
        self.put(config, now_ms)
        return config

    def is_ordered(self, name: str) -> bool:
        """Whether there is such a topic, and it is marked as ordered."""
        config = self._configs.get(name)
        return config is not None and config.order

    def is_system(self, name: str) -> bool:
        """Whether a topic is the broker's own, and not for anybody to change."""
        return name in self._own or name.startswith(SYSTEM_PREFIX)

    def system_topics(self) -> tuple[str, ...]:
        """Give the names of the broker's own topics."""
        return tuple(sorted(self._own))

    def take_changed(self) -> tuple[str, ...]:
        """Give, once, the topics that were made, changed or removed since this was asked last."""
        changed, self._changed = tuple(self._changed), {}
        return changed

    def _moved(self, name: str, now_ms: int) -> None:
        self._changed[name] = None
        self.move_version(now_ms)

    def move_version(self, now_ms: int) -> None:
        """Move the version, so that whoever has the table reads it anew."""
        self.version = DataVersion(
            counter=(self.version.counter or 0) + 1, state_version=self.version.state_version, timestamp=now_ms
        )


def retry_topic(group: str) -> str:
    """Give the topic to which a group's failed messages go."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """Give the topic of messages that a group has given up."""
    return DLQ_PREFIX + group


def revive_topic(cluster: str) -> str:
    """Give the topic of what is popped and acknowledged."""
    return f"{REVIVE_PREFIX}{cluster}"


def reply_topic(cluster: str) -> str:
    """Give the topic of replies to requests."""
    return f"{cluster}_REPLY_TOPIC"


def _config(name: str, queues: int, perm: int) -> BrokerTopicConfig:
    return BrokerTopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=perm, attributes={})
