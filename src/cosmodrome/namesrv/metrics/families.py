"""The metrics of a NameServer.

Owns: the name, kind, labels and meaning of each, once; how it is read from the parts of a running server.
Must not know: how text for Prometheus is written (exposition.py); who asks.

Labels are bounded by words of ours or by the number of brokers; never topics, clients or their addresses.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from cosmodrome.metrics import family as _families
from cosmodrome.metrics.family import Family, Histogram, Kind, Sample, seconds
from cosmodrome.namesrv.audit import request_name
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.transport.dispatch import Dispatcher
from cosmodrome.transport.traffic import NO_ANSWER, UNSERVED, CodeTraffic

PREFIX: Final = "rocketmq_namesrv_"
_ROUTE: Final = RequestCode.GET_ROUTEINFO_BY_TOPIC
_REGISTER: Final = RequestCode.REGISTER_BROKER
_LOOKUP_RESULTS: Final = {
    ResponseCode.SUCCESS: "hit",
    ResponseCode.TOPIC_NOT_EXIST: "miss",
    ResponseCode.NO_PERMISSION: "denied",
}


def families(view: View) -> Iterator[Family]:
    """Give every metric as it is now. A family without a series yet is given too, so that its name is known."""
    yield from _itself(view)
    yield from _traffic(view.server.dispatcher)
    yield from _connections(view)
    yield from _routes(view)
    yield from _changes(view)
    yield from _work(view)


def _family(
    name: str,
    kind: Kind,
    meaning: str,
    samples: Iterable[tuple[tuple[str, ...], float | Histogram]],
    labels: tuple[str, ...] = (),
) -> Family:
    return _families.family(PREFIX + name, kind, meaning, samples, labels)


def _one(name: str, meaning: str, value: float) -> Family:
    return _families.gauge(PREFIX + name, meaning, value)


def _counts(name: str, meaning: str, label: str, counts: Mapping[str, int]) -> Family:
    return _families.counts(PREFIX + name, meaning, label, counts)


def _itself(view: View) -> Iterator[Family]:
    about = view.about
    up = "1 while the process answers"
    yield Family("rocketmq_nameserver_up", Kind.GAUGE, up, (), [Sample((), 1)])
    yield _family(
        "info",
        Kind.GAUGE,
        "1; the labels say what runs",
        [((about.version, about.compat_version, about.python, about.event_loop), 1)],
        ("version", "compat_version", "python", "event_loop"),
    )
    yield _one("ready", "whether routes are answered, as /readyz says", int(not view.unready()))
    yield _one("start_time_seconds", "when the server started, Unix time", about.started_s)


def _traffic(dispatcher: Dispatcher) -> Iterator[Family]:
    codes = _by_code(dispatcher)
    names = {code: "other" if code == UNSERVED else request_name(code) for code in codes}
    answered = {
        (names[code], _response_name(response)): count
        for code, traffic in codes.items()
        for response, count in sorted(traffic.responses.items())
    }
    labels = ("request_code", "response_code")
    yield _family("requests", Kind.COUNTER, "requests answered", answered.items(), labels)
    label = ("request_code",)
    yield _family(
        "request_duration_seconds",
        Kind.HISTOGRAM,
        "time from a request's being read to its answer's being there; one in 64 of repeated route reads is timed",
        [((names[code],), seconds(traffic.durations)) for code, traffic in codes.items()],
        label,
    )
    for name, sizes in (
        ("request_bytes", [((names[code],), traffic.request_bytes) for code, traffic in codes.items()]),
        ("response_bytes", [((names[code],), traffic.response_bytes) for code, traffic in codes.items()]),
    ):
        yield _family(name, Kind.COUNTER, "bytes of bodies", sizes, label)
    yield _counts("route_lookups", "routes asked for", "result", _lookups(codes.get(_ROUTE)))


def _by_code(dispatcher: Dispatcher) -> dict[int, CodeTraffic]:
    """Give the counts of each code, those of answers that were given without dispatching among them."""
    codes = dict(dispatcher.traffic)
    standing = dispatcher.standing
    if standing is not None and standing.answered_count:
        dispatched, joined = codes.get(standing.code) or CodeTraffic(), CodeTraffic()
        joined.responses = dict(dispatched.responses)
        joined.responses[ResponseCode.SUCCESS] = joined.responses.get(0, 0) + standing.answered_count
        joined.request_bytes = dispatched.request_bytes
        joined.response_bytes = dispatched.response_bytes + standing.body_bytes
        joined.durations = dispatched.durations + standing.durations
        codes[standing.code] = joined
    return codes


def _response_name(code: int) -> str:
    if code == NO_ANSWER:
        return "oneway"
    try:
        return ResponseCode(code).name
    except ValueError:
        return str(code)


def _lookups(traffic: CodeTraffic | None) -> Mapping[str, int]:
    results = dict.fromkeys([*_LOOKUP_RESULTS.values(), "error"], 0)
    for code, count in (traffic.responses if traffic is not None else {}).items():
        result = next((word for known, word in _LOOKUP_RESULTS.items() if known == code), "error")
        results[result] += count
    return results


def _connections(view: View) -> Iterator[Family]:
    server = view.server
    brokers = len({info.connection for info in view.tables.live_brokers()})
    unknown = server.unproven_count
    roles = {
        ("broker",): brokers,
        ("client",): max(0, server.connection_count - brokers - unknown),
        ("unknown",): unknown,
    }
    yield _family("connections", Kind.GAUGE, "open connections, by who is at the other end", roles.items(), ("role",))
    events = {"accepted": server.accepted_count, "closed": server.closed_count, "idle": server.idle_count}
    refused = {cause: count for cause, count in server.refusals.items() if cause not in events}
    yield _counts(
        "connection_events",
        "connections let in, ended, closed for being silent, and refused or sent away, by cause",
        "event",
        events | refused,
    )


def _routes(view: View) -> Iterator[Family]:
    tables, now_ms = view.tables, view.now_ms()
    read = tables.read
    roles: dict[tuple[str, ...], float] = {}
    ages: dict[tuple[str, ...], float] = {}
    for broker in read.live_members():
        key = (broker.cluster, broker.role)
        roles[key] = roles.get(key, 0) + 1
        age_ms = max(0, now_ms - broker.last_update_ms)
        ages[broker.cluster, broker.broker_name, str(broker.broker_id)] = age_ms / 1000
    yield _family("active_brokers", Kind.GAUGE, "brokers that live", roles.items(), ("cluster", "role"))
    yield _family(
        "broker_last_heartbeat_age_seconds",
        Kind.GAUGE,
        "time since a broker was heard of",
        ages.items(),
        ("cluster", "broker", "broker_id"),
    )
    yield _one("clusters", "clusters with a broker", read.cluster_count())
    yield _one("topics", "topics with a route", read.topic_count())
    reads, writes = read.queue_counts()
    access = {("read",): reads, ("write",): writes}
    yield _family("queues", Kind.GAUGE, "queues of all topics", access.items(), ("access",))
    yield _one("route_table_bytes", "what the tables are taken to cost, as maxTableBytes counts it", tables.held_bytes)
    yield _one("route_cache_bytes", "encoded routes that are kept", read.encoded_bytes())


def _changes(view: View) -> Iterator[Family]:
    tally = view.tally
    traffic = dict(view.server.dispatcher.traffic).get(_REGISTER)
    accepted = 0 if traffic is None else traffic.responses.get(ResponseCode.SUCCESS, 0)
    said = tally.registrations["new"] + tally.registrations["changed"]
    registrations = dict(tally.registrations) | {"unchanged": max(0, accepted - said)}
    yield _counts("registrations", "registrations of brokers", "result", registrations)
    yield _counts("unregistrations", "brokers that left", "reason", tally.unregistrations)
    yield _counts("route_changes", "changes of routes; topics are counted each", "kind", tally.route_changes)
    yield _counts("kv_mutations", "changes of KV entries", "operation", tally.kv_changes)
    yield _one("kv_entries", "KV entries and namespaces", view.kv_config.size.entries)
    yield _counts("config_reloads", "changes of the configuration while running", "result", tally.reloads)
    yield _counts("denied_requests", "requests refused by policy", "reason", tally.denials)
    failures = [((), tally.storage_failures)]
    yield _family("storage_failures", Kind.COUNTER, "requests that the disk here could not serve", failures)


def _work(view: View) -> Iterator[Family]:
    brakes = {"registrations": view.brakes.registrations, "listings": view.brakes.listings}
    waiting = {(work,): brake.pending_count for work, brake in brakes.items()}
    refused = {work: brake.refused_count for work, brake in brakes.items()}
    yield _family("pending_work", Kind.GAUGE, "long work that waits for its turn", waiting.items(), ("work",))
    yield _counts("overload_refusals", "requests answered SYSTEM_BUSY because too much waited", "work", refused)
    lag = [((), seconds(view.lag.durations))]
    meaning = "how late the event loop calls a timer; everything else waits as long"
    yield _family("event_loop_lag_seconds", Kind.HISTOGRAM, meaning, lag)
