"""The metrics of a NameServer about requests and connections.

Owns: the name, kind, labels and meaning of each; how it is read from the counts of a running server.
Must not know: the tables; how text for Prometheus is written; who asks.

What is counted elsewhere is joined here, at a scrape: answers that need no dispatching have counts of their own.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from cosmodrome.metrics.family import Family, Kind, family, milliseconds, seconds
from cosmodrome.namesrv.metrics.named import code_word, counts, few, one, response_word
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.transport.dispatch import Dispatcher
from cosmodrome.transport.traffic import CodeTraffic

_ROUTE: Final = RequestCode.GET_ROUTEINFO_BY_TOPIC
_LOOKUP_RESULTS: Final = {
    ResponseCode.SUCCESS: "hit",
    ResponseCode.TOPIC_NOT_EXIST: "miss",
    ResponseCode.NO_PERMISSION: "denied",
}
_KINDS_OF_REFUSAL: Final = {
    "bad_protocol": "bad_frame",
    "frame_too_large": "bad_frame",
    "greeting_refused": "bad_frame",
    "header_too_large": "bad_frame",
    "malformed_frame": "bad_frame",
    "malformed_header": "bad_frame",
    "tls_failed": "tls_error",
}
"""Causes of refusals that are the peer's language; the others are limits of ours."""
_REJECTED: Final = "rejected"


def traffic(view: View) -> Iterator[Family]:
    """Give what was asked and answered."""
    dispatcher = view.server.dispatcher
    codes = _by_code(dispatcher)
    names = {code: code_word(code) for code in codes}
    answered = {
        (names[code], response_word(response)): count
        for code, each in codes.items()
        for response, count in sorted(each.responses.items())
    }
    labels = ("request_code", "response_code")
    yield few("requests", Kind.COUNTER, "requests answered", answered.items(), labels)
    yield few(
        "request_duration_seconds",
        Kind.HISTOGRAM,
        "time from a request's being read to its answer's being there; one in 64 of repeated route reads is timed",
        [((names[code],), seconds(each.durations)) for code, each in codes.items()],
        ("request_code",),
    )
    in_flight = "requests whose answers are being worked on; most are answered at once and never are"
    yield one("requests_in_flight", in_flight, dispatcher.in_flight_count)
    for name, meaning, sizes in (
        ("request_bytes", "bodies of requests", [((names[code],), each.request_bytes) for code, each in codes.items()]),
        (
            "response_bytes",
            "bodies of answers",
            [((names[code],), each.response_bytes) for code, each in codes.items()],
        ),
    ):
        yield few(name, Kind.COUNTER, meaning, sizes, ("request_code",))
    not_ready = view.processors.route.not_ready_count
    yield counts("route_lookups", "routes asked for", "result", _lookups(codes.get(_ROUTE), not_ready))
    if view.config.started_with.metrics_java_names:
        yield _rpc_latency(view.server.address, codes)


def connections(view: View) -> Iterator[Family]:
    """Give who is connected, who came and went, and who was not let in."""
    server = view.server
    brokers = len({info.connection for info in view.tables.live_brokers()})
    unknown = server.unproven_count
    roles = {
        ("broker",): brokers,
        ("client",): max(0, server.connection_count - brokers - unknown),
        ("unknown",): unknown,
    }
    yield few("connections", Kind.GAUGE, "open connections, by who is at the other end", roles.items(), ("role",))
    events = {
        "accepted": server.accepted_count,
        "closed": server.closed_count,
        "idle": server.idle_count,
        _REJECTED: 0,
        "tls_error": 0,
        "bad_frame": 0,
    }
    for cause, count in server.refusals.items():
        events[_KINDS_OF_REFUSAL.get(cause, _REJECTED)] += count
    meaning = (
        "connections let in, ended, closed for being silent, kept out or sent away by a limit, and those whose peer "
        "could not agree on TLS or does not speak the protocol"
    )
    yield counts("connection_events", meaning, "event", events)
    yield counts("refused_connections", "connections refused or sent away", "cause", server.refusals)


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


def _lookups(traffic: CodeTraffic | None, not_ready_count: int) -> Mapping[str, int]:
    """Give how often a route was asked for with which result; a server that is not ready answers an error of the same code as others."""
    results = dict.fromkeys([*_LOOKUP_RESULTS.values(), "error"], 0)
    for code, count in (traffic.responses if traffic is not None else {}).items():
        result = next((word for known, word in _LOOKUP_RESULTS.items() if known == code), "error")
        results[result] += count
    not_ready = min(not_ready_count, results["error"])
    return results | {"error": results["error"] - not_ready, "not_ready": not_ready}


def _rpc_latency(address: str, codes: Mapping[int, CodeTraffic]) -> Family:
    """Give the durations as RocketMQ 5 names them at brokers, for dashboards that know no other name."""
    samples = [
        (("nameserver", address, code_word(code).lower(), "remoting", "false"), milliseconds(each.durations))
        for code, each in codes.items()
    ]
    meaning = "the times of rocketmq_namesrv_request_duration_seconds, as brokers name them (metricsJavaNames)"
    labels = ("node_type", "node_id", "request_code", "protocol_type", "is_long_polling")
    return family("rocketmq_rpc_latency_milliseconds", Kind.HISTOGRAM, meaning, samples, labels)
