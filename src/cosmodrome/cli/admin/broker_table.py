"""Commands about brokers themselves: settings, state, cleaning, replication, exports.

Owns: their declarations.
Must not know: what they ask and print (cosmodrome.admin).
"""

from typing import Final

from cosmodrome.cli.admin.declaration import (
    BROKER_ADDR,
    CLUSTER,
    INTERVAL,
    Declared,
    integer,
    java_bool,
    natural,
    option,
    required,
    switch,
)
from cosmodrome.cli.admin.topic_table import WHERE

_WHICH: Final = (BROKER_ADDR, option("-c --cluster", "cluster", "of all brokers of this cluster", "NAME"))
_FOLDER: Final = option(
    "-f --filePath", "folder", "folder of the file that is written; default: standard output", "DIR"
)
_OF_CLUSTER: Final = required("-c --clusterName", "cluster", "choose a cluster to export", "NAME")

BROKER_COMMANDS: Final = (
    Declared(
        name="updateBrokerConfig",
        text="Update broker's config.",
        runs="broker_settings:update_broker_config",
        options=(
            BROKER_ADDR,
            CLUSTER,
            option("-a --updateAllBroker", "update_all", "update all brokers include slave"),
            required("-k --key", "key", "config key", "KEY"),
            required("-v --value", "value", "config value"),
        ),
        any_of=WHERE,
    ),
    Declared(
        name="getBrokerConfig",
        text="Get broker config by cluster or special broker.",
        runs="broker_settings:get_broker_config",
        options=(BROKER_ADDR, CLUSTER),
        one_of=WHERE,
    ),
    Declared(
        name="brokerStatus",
        text="Fetch broker runtime status data.",
        runs="broker_settings:broker_status",
        options=(BROKER_ADDR, CLUSTER),
        one_of=WHERE,
    ),
    Declared(
        name="brokerConsumeStats",
        text="Fetch broker consume stats data.",
        runs="broker_progress:broker_consume_stats",
        options=(
            required("-b --brokerAddr", "broker_addr", "broker address", "HOST:PORT"),
            option("-t --timeoutMillis", "timeout_ms", "request timeout Millis (50000)", "MS", convert=natural),
            option("-l --level", "level", "threshold of print diff (0)", "N", convert=integer),
            option("-o --order", "order", "order topic (false)", "true|false", convert=java_bool),
        ),
    ),
    Declared(
        name="cleanExpiredCQ",
        text="Clean expired ConsumeQueue on broker.",
        runs="broker_cleaning:clean_expired_cq",
        options=_WHICH,
        more="Without both: on all brokers.",
    ),
    Declared(
        name="deleteExpiredCommitLog",
        text="Delete expired CommitLog files.",
        runs="broker_cleaning:delete_expired_commit_log",
        options=_WHICH,
        more="Without both: on all brokers.",
    ),
    Declared(
        name="cleanUnusedTopic",
        text="Clean unused topic on broker.",
        runs="broker_cleaning:clean_unused_topic",
        options=_WHICH,
        more="Without both: on all brokers.",
    ),
    Declared(
        name="haStatus",
        text="Fetch ha runtime status data.",
        runs="ha_status:ha_status",
        options=(CLUSTER, BROKER_ADDR, INTERVAL),
        any_of=WHERE,
    ),
    Declared(
        name="exportMetadata",
        text="Export metadata.",
        runs="exports:export_metadata",
        options=(
            CLUSTER,
            BROKER_ADDR,
            _FOLDER,
            switch("-t --topic", "topics_only", "only export topic metadata"),
            switch("-g --subscriptionGroup", "groups_only", "only export subscriptionGroup metadata"),
            switch("-s --specialTopic", "special_topics", "need retryTopic and dlqTopic"),
        ),
        any_of=WHERE,
    ),
    Declared(
        name="exportConfigs",
        text="Export configs.",
        runs="exports:export_configs",
        options=(_OF_CLUSTER, _FOLDER),
    ),
    Declared(
        name="exportMetrics",
        text="Export metrics.",
        runs="export_metrics:export_metrics",
        options=(_OF_CLUSTER, _FOLDER),
    ),
)
