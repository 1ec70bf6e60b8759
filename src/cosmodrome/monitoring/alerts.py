"""Alert rules for Prometheus.

Owns: when somebody is to be told of a NameServer or a broker, and what.
Must not know: how a metric is measured.

A rule refers to metrics that our servers show; those of brokers that do not begin with `rocketmq_broker_` are Apache's too.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

_OF_USERS: Final = '{is_system="false"}'
_MISSES: Final = 'rocketmq_namesrv_route_lookups_total{result="miss"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One alert.

    Attributes:
        name: What it is called.
        when: A query that gives something when somebody is to be told.
        lasting: How long it must give that, as Prometheus writes times; empty: at once.
        severity: `critical` is for whoever is on call, `warning` for the next morning.
        summary: One line, a template of Prometheus.
        action: What to do.
    """

    name: str
    when: str
    lasting: str
    severity: Literal["critical", "warning"]
    summary: str
    action: str


def gone(up: str) -> str:
    """Give a query for what answered within the last hour and does not now."""
    return f"max_over_time({up}[1h]) unless {up}"


def quantile(share: float, buckets: str, *labels: str) -> str:
    """Give a query for the value that this share of a histogram's entries of five minutes does not exceed."""
    return f"histogram_quantile({share}, sum by ({', '.join((*labels, 'le'))}) (rate({buckets}[5m])))"


def share(part: str, whole: str) -> str:
    """Give a query for the share of one counter in another, by instance, over five minutes."""
    return f"sum by (instance) (rate({part}[5m])) / sum by (instance) (rate({whole}[5m]))"


def _differs(gauge: str, *labels: str) -> str:
    by = ", ".join(("job", *labels))
    return f"max by ({by}) ({gauge}) - min by ({by}) ({gauge}) > 0"


NAME_SERVER: Final = (
    Rule(
        name="RocketMQNameServerDown",
        when=gone("rocketmq_nameserver_up"),
        lasting="1m",
        severity="critical",
        summary="The NameServer {{ $labels.instance }} does not answer any more.",
        action="Clients go on with the routes that they have and with other NameServers. Look at its log and start it.",
    ),
    Rule(
        name="RocketMQNameServerNotReady",
        when="rocketmq_namesrv_ready == 0",
        lasting="5m",
        severity="warning",
        summary="The NameServer {{ $labels.instance }} answers no routes.",
        action="/readyz says why: it waits for brokers, or it is being drained.",
    ),
    Rule(
        name="RocketMQBrokerSilent",
        when="rocketmq_namesrv_broker_last_heartbeat_age_seconds > 60",
        lasting="",
        severity="warning",
        summary="{{ $labels.broker }} (id {{ $labels.broker_id }}) has not been heard of at {{ $labels.instance }} for {{ $value | humanizeDuration }}.",
        action="Brokers speak every 30 s, and are forgotten after 120 s. Look at the broker and at the network between both.",
    ),
    Rule(
        name="RocketMQBrokerExpired",
        when='increase(rocketmq_namesrv_unregistrations_total{reason="heartbeat_expired"}[5m]) > 0',
        lasting="",
        severity="critical",
        summary="{{ $labels.instance }} has forgotten a broker that was silent for too long.",
        action="Its topics have lost their routes there. The log says which broker it was: broker.unregistered.",
    ),
    Rule(
        name="RocketMQRoutesMissed",
        when=f"{share(_MISSES, 'rocketmq_namesrv_route_lookups_total')} > 0.05",
        lasting="5m",
        severity="warning",
        summary="{{ $value | humanizePercentage }} of the routes that {{ $labels.instance }} is asked for do not exist.",
        action="/api/v1/misses says which topics are asked for, and by whom.",
    ),
    Rule(
        name="RocketMQNameServerSlow",
        when=f"{quantile(0.99, 'rocketmq_namesrv_event_loop_lag_seconds_bucket', 'instance')} > 0.1",
        lasting="5m",
        severity="warning",
        summary="The event loop of {{ $labels.instance }} is late by {{ $value | humanizeDuration }} (p99).",
        action="Everything there waits as long. Look at its processor time, and at registrations and listings.",
    ),
    Rule(
        name="RocketMQNameServerOverloaded",
        when="increase(rocketmq_namesrv_overload_refusals_total[5m]) > 0",
        lasting="",
        severity="warning",
        summary="{{ $labels.instance }} refuses {{ $labels.work }} because too much waits.",
        action="See docs/reliability.md; the limits are maxPendingRegistrations and maxPendingListings.",
    ),
    Rule(
        name="RocketMQNameServerStorageFails",
        when="increase(rocketmq_namesrv_storage_failures_total[5m]) > 0 or increase(rocketmq_namesrv_kv_persist_failures_total[5m]) > 0",
        lasting="",
        severity="critical",
        summary="{{ $labels.instance }} cannot write its files.",
        action="KV entries and settings cannot be changed there. Free some space, or make the folder writable.",
    ),
    Rule(
        name="RocketMQNameServerConfigRefused",
        when='increase(rocketmq_namesrv_config_reloads_total{result="refused"}[10m]) > 0',
        lasting="",
        severity="warning",
        summary="{{ $labels.instance }} was given a configuration that it cannot use.",
        action="The one of before is in force. The log names the line: config.reload_failed.",
    ),
    Rule(
        name="RocketMQNameServersDisagree",
        when=" or ".join(
            (
                _differs("rocketmq_namesrv_topics"),
                _differs("rocketmq_namesrv_queues", "access"),
                _differs("sum by (job, instance) (rocketmq_namesrv_active_brokers)"),
            )
        ),
        lasting="5m",
        severity="critical",
        summary="The NameServers of {{ $labels.job }} do not have the same routes.",
        action="`cosmodrome peers diff -n A:9876,B:9876` says what differs. Usually a broker reaches only some of them.",
    ),
)
"""About NameServers. Those of one job are expected to have the same routes."""

BROKER: Final = (
    Rule(
        name="RocketMQBrokerDown",
        when=gone("rocketmq_broker_up"),
        lasting="1m",
        severity="critical",
        summary="The broker {{ $labels.node_id }} of {{ $labels.cluster }} does not answer any more.",
        action="Look at its log and start it.",
    ),
    Rule(
        name="RocketMQBrokerNotReady",
        when="rocketmq_broker_ready == 0",
        lasting="2m",
        severity="critical",
        summary="The broker {{ $labels.node_id }} of {{ $labels.cluster }} takes no messages.",
        action="/readyz says why: it recovers, its disk is full or fails, or it is being drained.",
    ),
    Rule(
        name="RocketMQBrokerNotRegistered",
        when=(
            "(rocketmq_broker_up unless on (cluster, node_id) "
            'label_replace(rocketmq_namesrv_broker_last_heartbeat_age_seconds, "node_id", "$1", "broker", "(.*)")) '
            "and on () (count(rocketmq_nameserver_up) > 0)"
        ),
        lasting="2m",
        severity="critical",
        summary="The broker {{ $labels.node_id }} of {{ $labels.cluster }} is up, and no NameServer that is watched knows it.",
        action="Clients cannot find it. Look at namesrvAddr of the broker, and at brokerAllow and brokerAuth of the NameServers.",
    ),
    Rule(
        name="RocketMQConsumerBehind",
        when=f"rocketmq_consumer_lag_latency_milliseconds{_OF_USERS} > 300000",
        lasting="5m",
        severity="warning",
        summary="{{ $labels.consumer_group }} is more than five minutes behind in {{ $labels.topic }}.",
        action="Look whether its consumers are connected, and how long they take for a message.",
    ),
    Rule(
        name="RocketMQMessagesGivenUp",
        when="increase(rocketmq_send_to_dlq_messages_total[5m]) > 0",
        lasting="",
        severity="warning",
        summary="{{ $labels.consumer_group }} has given up messages of {{ $labels.topic }}.",
        action="They are in the topic %DLQ%{{ $labels.consumer_group }}.",
    ),
    Rule(
        name="RocketMQMessagesLost",
        when="increase(rocketmq_broker_lost_messages_total[5m]) > 0",
        lasting="",
        severity="critical",
        summary="Messages of {{ $labels.topic }} were deleted before {{ $labels.consumer_group }} had read them.",
        action="Keep them for longer (fileReservedTime), or give them more disk.",
    ),
    Rule(
        name="RocketMQBrokerSyncBehind",
        when="rocketmq_storage_flush_behind_bytes > 268435456",
        lasting="5m",
        severity="warning",
        summary="{{ $labels.node_id }} has {{ $value | humanize1024 }}B that are not known to be on disk.",
        action="The disk is slower than what is sent.",
    ),
    Rule(
        name="RocketMQBrokerSlow",
        when=f"{quantile(0.99, 'rocketmq_broker_event_loop_lag_seconds_bucket', 'cluster', 'node_id')} > 0.1",
        lasting="5m",
        severity="warning",
        summary="The event loop of {{ $labels.node_id }} is late by {{ $value | humanizeDuration }} (p99).",
        action="Everything there waits as long. Look at its processor time and at its disk.",
    ),
)
"""About brokers."""

GROUPS: Final = {"rocketmq-namesrv": NAME_SERVER, "rocketmq-broker": BROKER}


def rules_yaml() -> str:
    """Give the rules as a file for `rule_files` of Prometheus."""
    return "".join(("groups:\n", *(line for group in GROUPS for line in _group(group))))


def _group(name: str) -> Iterator[str]:
    yield f"  - name: {name}\n    rules:\n"
    for rule in GROUPS[name]:
        yield f"      - alert: {rule.name}\n"
        yield f"        expr: {_quoted(rule.when)}\n"
        if rule.lasting:
            yield f"        for: {rule.lasting}\n"
        yield f"        labels:\n          severity: {rule.severity}\n"
        yield f"        annotations:\n          summary: {_quoted(rule.summary)}\n"
        yield f"          description: {_quoted(rule.action)}\n"


def _quoted(text: str) -> str:
    """Write a text as YAML has it in double quotes, which is as JSON has it."""
    return json.dumps(text, ensure_ascii=False)
