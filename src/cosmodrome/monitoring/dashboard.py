"""A dashboard for Grafana.

Owns: what is drawn of NameServers and brokers, in which order and unit.
Must not know: how a metric is measured.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from cosmodrome.monitoring.alerts import quantile, share

_UID: Final = "cosmodrome-rocketmq"
_WIDTH: Final = 24
_HEIGHT: Final = 8
_TILE_HEIGHT: Final = 4
_DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_SERVER: Final = '{instance=~"$instance"}'
_BROKER: Final = '{cluster=~"$cluster", node_id=~"$node"}'
_USERS: Final = '{cluster=~"$cluster", node_id=~"$node", is_system="false"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture: its queries with the names of their lines. A tile shows the last value alone."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    is_tile: bool = False
    meaning: str = ""


def _tile(title: str, query: str, unit: str = "short", meaning: str = "") -> Panel:
    return Panel(title=title, queries=((query, ""),), unit=unit, is_tile=True, meaning=meaning)


def _lines(title: str, *queries: tuple[str, str], unit: str = "short", meaning: str = "") -> Panel:
    return Panel(title=title, queries=queries, unit=unit, meaning=meaning)


def _rate(counter: str, chosen: str, *labels: str) -> str:
    by = f" by ({', '.join(labels)})" if labels else ""
    return f"sum{by} (rate({counter}{chosen}[$__rate_interval]))"


def _of_server(gauge: str) -> str:
    return f"{gauge}{_SERVER}"


_MISS: Final = 'rocketmq_namesrv_route_lookups_total{instance=~"$instance", result="miss"}'
ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "NameServers": (
        _tile("Up", f"sum(rocketmq_nameserver_up{_SERVER})"),
        _tile("Ready", f"sum(rocketmq_namesrv_ready{_SERVER})"),
        _tile("Brokers alive", f"max(sum by (instance) (rocketmq_namesrv_active_brokers{_SERVER}))"),
        _tile("Topics", f"max(rocketmq_namesrv_topics{_SERVER})"),
        _tile(
            "Oldest heartbeat",
            f"max(rocketmq_namesrv_broker_last_heartbeat_age_seconds{_SERVER})",
            "s",
            "120 s is the end",
        ),
        _tile(
            "Topics missed",
            f"max(rocketmq_namesrv_route_missed_topics{_SERVER})",
            meaning="asked for and not found in ten minutes",
        ),
        _lines(
            "Route lookups",
            (_rate("rocketmq_namesrv_route_lookups_total", _SERVER, "result"), "{{result}}"),
            unit="reqps",
        ),
        _lines(
            "Misses",
            (share(_MISS, f"rocketmq_namesrv_route_lookups_total{_SERVER}"), "{{instance}}"),
            unit="percentunit",
        ),
        _lines(
            "Requests",
            (_rate("rocketmq_namesrv_requests_total", _SERVER, "request_code"), "{{request_code}}"),
            unit="reqps",
        ),
        _lines(
            "Answers that are no success",
            (
                _rate(
                    "rocketmq_namesrv_requests_total",
                    '{instance=~"$instance", response_code!~"SUCCESS|oneway"}',
                    "request_code",
                    "response_code",
                ),
                "{{request_code}} {{response_code}}",
            ),
            unit="reqps",
        ),
        _lines(
            "Time of requests, p99",
            (
                quantile(0.99, f"rocketmq_namesrv_request_duration_seconds_bucket{_SERVER}", "request_code"),
                "{{request_code}}",
            ),
            unit="s",
        ),
        _lines(
            "Event loop, how late",
            (
                quantile(0.99, f"rocketmq_namesrv_event_loop_lag_seconds_bucket{_SERVER}", "instance"),
                "p99 {{instance}}",
            ),
            (quantile(0.5, f"rocketmq_namesrv_event_loop_lag_seconds_bucket{_SERVER}", "instance"), "p50 {{instance}}"),
            unit="s",
        ),
    ),
    "Brokers as NameServers see them": (
        _lines(
            "Last heartbeat",
            (
                _of_server("rocketmq_namesrv_broker_last_heartbeat_age_seconds"),
                "{{broker}} {{broker_id}} at {{instance}}",
            ),
            unit="s",
        ),
        _lines(
            "Brokers",
            (
                f"sum by (instance, cluster, role) (rocketmq_namesrv_active_brokers{_SERVER})",
                "{{cluster}} {{role}} at {{instance}}",
            ),
        ),
        _lines(
            "Registrations",
            (_rate("rocketmq_namesrv_registrations_total", _SERVER, "result"), "{{result}}"),
            unit="reqps",
        ),
        _lines(
            "Brokers that left",
            (
                f"sum by (reason) (increase(rocketmq_namesrv_unregistrations_total{_SERVER}[$__rate_interval]))",
                "{{reason}}",
            ),
        ),
        _lines(
            "Changes of routes",
            (f"sum by (kind) (increase(rocketmq_namesrv_route_changes_total{_SERVER}[$__rate_interval]))", "{{kind}}"),
        ),
        _lines(
            "Topics and queues",
            (_of_server("rocketmq_namesrv_topics"), "topics at {{instance}}"),
            (_of_server("rocketmq_namesrv_queues"), "queues to {{access}} at {{instance}}"),
        ),
    ),
    "NameServer resources": (
        _lines("Connections", (f"sum by (role) (rocketmq_namesrv_connections{_SERVER})", "{{role}}")),
        _lines(
            "Connections that come and go",
            (_rate("rocketmq_namesrv_connection_events_total", _SERVER, "event"), "{{event}}"),
            (_rate("rocketmq_namesrv_refused_connections_total", _SERVER, "cause"), "refused: {{cause}}"),
        ),
        _lines(
            "Memory",
            (_of_server("process_resident_memory_bytes"), "process {{instance}}"),
            (_of_server("rocketmq_namesrv_route_table_bytes"), "tables {{instance}}"),
            (_of_server("rocketmq_namesrv_route_cache_bytes"), "encoded routes {{instance}}"),
            unit="bytes",
        ),
        _lines(
            "Processor",
            (f"rate(process_cpu_seconds_total{_SERVER}[$__rate_interval])", "{{instance}}"),
            unit="percentunit",
        ),
        _lines(
            "Refused",
            (_rate("rocketmq_namesrv_denied_requests_total", _SERVER, "reason"), "policy: {{reason}}"),
            (_rate("rocketmq_namesrv_overload_refusals_total", _SERVER, "work"), "overload: {{work}}"),
            unit="reqps",
        ),
        _lines(
            "KV file and events",
            (_rate("rocketmq_namesrv_kv_mutations_total", _SERVER, "operation"), "{{operation}}"),
            (_rate("rocketmq_namesrv_kv_persist_failures_total", _SERVER), "writes that failed"),
            (_rate("rocketmq_namesrv_events_dropped_total", _SERVER), "events that streams lost"),
        ),
    ),
    "Brokers": (
        _tile("Topics", f"sum(rocketmq_topic_number{_BROKER})"),
        _tile("Consumer groups", f"sum(rocketmq_consumer_group_number{_BROKER})"),
        _tile("Producers", f"sum(rocketmq_producer_connections{_BROKER})"),
        _tile("Consumers", f"sum(rocketmq_consumer_connections{_BROKER})"),
        _tile("Messages behind", f"sum(rocketmq_consumer_lag_messages{_USERS})"),
        _tile("Longest behind", f"max(rocketmq_consumer_lag_latency_milliseconds{_USERS})", "ms"),
        _lines(
            "Messages in and out",
            (_rate("rocketmq_messages_in_total", _BROKER, "node_id"), "in {{node_id}}"),
            (_rate("rocketmq_messages_out_total", _BROKER, "node_id"), "out {{node_id}}"),
            unit="cps",
        ),
        _lines(
            "Bytes in and out",
            (_rate("rocketmq_throughput_in_total", _BROKER, "node_id"), "in {{node_id}}"),
            (_rate("rocketmq_throughput_out_total", _BROKER, "node_id"), "out {{node_id}}"),
            unit="Bps",
        ),
        _lines(
            "Topics with most messages in",
            (f"topk(10, {_rate('rocketmq_messages_in_total', _USERS, 'topic')})", "{{topic}}"),
            unit="cps",
        ),
        _lines(
            "Groups most behind",
            (
                f"topk(10, sum by (consumer_group, topic) (rocketmq_consumer_lag_messages{_USERS}))",
                "{{consumer_group}} {{topic}}",
            ),
        ),
        _lines(
            "Time of requests, p99",
            (quantile(0.99, f"rocketmq_rpc_latency_milliseconds_bucket{_BROKER}", "request_code"), "{{request_code}}"),
            unit="ms",
        ),
        _lines(
            "Given up and lost",
            (_rate("rocketmq_send_to_dlq_messages_total", _USERS, "consumer_group"), "given up: {{consumer_group}}"),
            (
                _rate("rocketmq_broker_lost_messages_total", _USERS, "consumer_group"),
                "deleted unread: {{consumer_group}}",
            ),
            unit="cps",
        ),
        _lines(
            "Disk",
            (f"rocketmq_storage_size_bytes{_BROKER}", "used {{node_id}}"),
            (f"rocketmq_storage_flush_behind_bytes{_BROKER}", "not known to be on it {{node_id}}"),
            unit="bytes",
        ),
        _lines(
            "Timers and transactions",
            (f"rocketmq_timing_messages{_BROKER}", "timer messages {{node_id}}"),
            (f"sum by (node_id) (rocketmq_half_messages{_BROKER})", "open transactions {{node_id}}"),
            (f"rocketmq_pop_checkpoint_buffer_size{_BROKER}", "pops not acknowledged {{node_id}}"),
        ),
        _lines(
            "Event loop, how late (p99)",
            (quantile(0.99, f"rocketmq_broker_event_loop_lag_seconds_bucket{_BROKER}", "node_id"), "{{node_id}}"),
            unit="s",
        ),
    ),
}
"""What is drawn, by row."""

VARIABLES: Final = {
    "instance": "label_values(rocketmq_nameserver_up, instance)",
    "cluster": "label_values(rocketmq_broker_permission, cluster)",
    "node": 'label_values(rocketmq_broker_permission{cluster=~"$cluster"}, node_id)',
}
"""What can be chosen, and where the values come from."""


def dashboard() -> dict[str, Any]:
    """Give the dashboard as Grafana keeps it."""
    return {
        "uid": _UID,
        "title": "RocketMQ (Cosmodrome)",
        "tags": ["rocketmq"],
        "timezone": "browser",
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_choice_of_datasource(), *(_choice(name, query) for name, query in VARIABLES.items())]},
        "panels": list(_panels()),
    }


def dashboard_json() -> str:
    """Give the dashboard as a file to be imported."""
    return json.dumps(dashboard(), indent=2, ensure_ascii=False)


def _choice_of_datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _choice(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": _DATASOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> Iterator[dict[str, Any]]:
    number = y = 0
    for row, panels in ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row,
            "collapsed": False,
            "panels": [],
            "gridPos": _place(0, y, _WIDTH, 1),
        }
        y += 1
        for height, width, those in _shelves(panels):
            x = 0
            for panel in those:
                if x + width > _WIDTH:
                    x, y = 0, y + height
                number += 1
                yield {"id": number, "gridPos": _place(x, y, width, height), **_drawn(panel)}
                x += width
            y += height if those else 0


def _shelves(panels: Iterable[Panel]) -> Iterator[tuple[int, int, list[Panel]]]:
    """Give tiles, six in a line, then pictures, two in a line: their height, their width, and them."""
    every = list(panels)
    yield _TILE_HEIGHT, _WIDTH // 6, [panel for panel in every if panel.is_tile]
    yield _HEIGHT, _WIDTH // 2, [panel for panel in every if not panel.is_tile]


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _drawn(panel: Panel) -> dict[str, Any]:
    return {
        "type": "stat" if panel.is_tile else "timeseries",
        "title": panel.title,
        "description": panel.meaning,
        "datasource": _DATASOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": _DATASOURCE,
                "expr": query,
                "legendFormat": legend or "__auto",
                "instant": panel.is_tile,
                "range": not panel.is_tile,
            }
            for number, (query, legend) in enumerate(panel.queries)
        ],
    }
