"""The metrics of a NameServer.

Owns: the name, kind, labels and meaning of each, once; how it is read from the parts of a running server.
Must not know: how text for Prometheus is written (exposition.py); who asks.

Labels are bounded by words of ours or by the number of brokers; never topics, clients or their addresses. Nothing here
looks at each topic.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from cosmodrome.metrics.family import Family, Kind, Sample, in_bytes, labelled, seconds
from cosmodrome.namesrv.config_keys import labels_of
from cosmodrome.namesrv.metrics.named import counts, few, one, spread, total
from cosmodrome.namesrv.metrics.traffic_families import connections, traffic
from cosmodrome.namesrv.misses import MOST_TOPICS
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode, ResponseCode

_REGISTER: Final = RequestCode.REGISTER_BROKER
_MISSED_LATELY_S: Final = 600.0


async def measured(view: View) -> Iterator[Family]:
    """Give every metric as it is now; what takes longer in large estates is done before, between other work."""
    for _ in view.tables.read.counting_queues():
        await asyncio.sleep(0)
    return families(view)


def families(view: View) -> Iterator[Family]:
    """Give every metric as it is now. A family without a series yet is given too, so that its name is known."""
    labels = labels_of(view.config.started_with.metrics_label)
    for each in _measured(view):
        yield labelled(each, labels) if labels else each


def _measured(view: View) -> Iterator[Family]:
    yield from _itself(view)
    yield from traffic(view)
    yield from connections(view)
    yield from _brokers(view)
    yield from _routes(view)
    yield from _cache(view)
    yield from _registrations(view)
    yield from _files(view)
    yield from _events(view)
    yield from _work(view)


def _itself(view: View) -> Iterator[Family]:
    about = view.about
    up = "1 while the process answers"
    yield Family("rocketmq_nameserver_up", Kind.GAUGE, up, (), [Sample((), 1)])
    yield few(
        "info",
        Kind.GAUGE,
        "1; the labels say what runs",
        [((about.version, about.compat_version, about.python, about.event_loop), 1)],
        ("version", "compat_version", "python", "event_loop"),
    )
    yield one("ready", "whether routes are answered, as /readyz says", int(not view.unready()))
    yield one("start_time_seconds", "when the server started, Unix time", about.started_s)


def _brokers(view: View) -> Iterator[Family]:
    now_ms = view.now_ms()
    roles: dict[tuple[str, ...], float] = {}
    ages: dict[tuple[str, ...], float] = {}
    for broker in view.tables.read.live_members():
        key = (broker.cluster, broker.role)
        roles[key] = roles.get(key, 0) + 1
        age_ms = max(0, now_ms - broker.last_update_ms)
        ages[broker.cluster, broker.broker_name, str(broker.broker_id)] = age_ms / 1000
    yield few("active_brokers", Kind.GAUGE, "brokers that live", roles.items(), ("cluster", "role"))
    yield few(
        "broker_last_heartbeat_age_seconds",
        Kind.GAUGE,
        "time since a broker was heard of",
        ages.items(),
        ("cluster", "broker", "broker_id"),
    )


def _routes(view: View) -> Iterator[Family]:
    tables = view.tables
    read = tables.read
    yield one("clusters", "clusters with a broker", read.cluster_count())
    yield one("topics", "topics with a route", read.topic_count())
    reads, writes = read.queue_counts()
    access = {("read",): reads, ("write",): writes}
    since_s = time.time() - _MISSED_LATELY_S
    missed = sum(miss.last_s >= since_s for miss in view.misses)
    lately = f"topics that were asked for and not found in the last ten minutes, at most {MOST_TOPICS}"
    yield one("route_missed_topics", lately, missed)
    yield few("queues", Kind.GAUGE, "queues of all topics", access.items(), ("access",))
    yield one("route_table_bytes", "what the tables are taken to cost, as maxTableBytes counts it", tables.held_bytes)
    yield counts("route_changes", "changes of routes; topics are counted each", "kind", view.tally.route_changes)


def _cache(view: View) -> Iterator[Family]:
    read, standing = view.tables.read, view.server.dispatcher.standing
    events = {
        "hit": read.reused_count + (0 if standing is None else standing.answered_count),
        "miss": read.made_count,
        "invalidated": read.invalidated_count(),
    }
    yield one("route_cache_bytes", "encoded routes that are kept", read.encoded_bytes())
    meaning = "encoded routes that were there, that were made, and that were dropped because something in them changed"
    yield counts("route_cache_events", meaning, "result", events)


def _registrations(view: View) -> Iterator[Family]:
    tally = view.tally
    register = dict(view.server.dispatcher.traffic).get(_REGISTER)
    accepted = 0 if register is None else register.responses.get(ResponseCode.SUCCESS, 0)
    said = tally.registrations["new"] + tally.registrations["changed"]
    registrations = dict(tally.registrations) | {"unchanged": max(0, accepted - said)}
    yield counts("registrations", "registrations of brokers", "result", registrations)
    sizes = in_bytes(view.processors.broker.body_sizes)
    yield spread("registration_body_bytes", "bodies of registrations, as they came", sizes)
    yield counts("unregistrations", "brokers that left", "reason", tally.unregistrations)
    scans = seconds(view.timings.expiry_scans)
    yield spread("expiry_scan_duration_seconds", "scans for silent brokers, with what was done about them", scans)


def _files(view: View) -> Iterator[Family]:
    tally, timings = view.tally, view.timings
    yield counts("kv_mutations", "changes of KV entries", "operation", tally.kv_changes)
    yield one("kv_entries", "KV entries and namespaces", view.kv_config.size.entries)
    writes = seconds(timings.kv_writes)
    yield spread("kv_persist_duration_seconds", "writes of the KV file, those that failed among them", writes)
    yield total("kv_persist_failures", "writes of the KV file that failed", timings.kv_write_failures)
    yield counts("config_reloads", "changes of the configuration while running", "result", tally.reloads)
    changed = "when the configuration was changed last, Unix time; no series before that"
    yield one("config_last_reload_timestamp_seconds", changed, tally.last_reload_s)
    yield total("storage_failures", "requests that the disk here could not serve", tally.storage_failures)


def _events(view: View) -> Iterator[Family]:
    yield counts("denied_requests", "requests refused by policy", "reason", view.tally.denials)
    yield counts("events", "what happened, by the names of the log", "event", view.tally.events)
    yield one("event_subscribers", "streams of events that are read", view.history.reader_count)
    yield total("events_dropped", "events that readers of streams came too late for", view.history.lost_count)


def _work(view: View) -> Iterator[Family]:
    brakes = {"registrations": view.brakes.registrations, "listings": view.brakes.listings}
    waiting = {(work,): brake.pending_count for work, brake in brakes.items()}
    refused = {work: brake.refused_count for work, brake in brakes.items()}
    engaged = {(work,): int(brake.is_engaged) for work, brake in brakes.items()}
    yield few("pending_work", Kind.GAUGE, "long work that waits for its turn", waiting.items(), ("work",))
    yield few("brake_engaged", Kind.GAUGE, "1 while such work is refused", engaged.items(), ("work",))
    yield counts("overload_refusals", "requests answered SYSTEM_BUSY because too much waited", "work", refused)
    meaning = "how late the event loop calls a timer; everything else waits as long"
    yield spread("event_loop_lag_seconds", meaning, seconds(view.lag.durations))
