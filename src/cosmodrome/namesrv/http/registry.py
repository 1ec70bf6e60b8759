"""What is registered, as JSON.

Owns: /api/v1/server, /clusters, /brokers, /topics and routes: their forms, with snake_case keys and RFC 3339 times.
Must not know: how the tables are kept; how errors are written.
"""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cosmodrome.http.paging import SortedNames, page_of
from cosmodrome.http.problems import Problem
from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG
from cosmodrome.namesrv.routing.reader import LiveMember
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.bodies.route import QueueData
from cosmodrome.protocol.json_dialects import JsonDialect


def json_response(value: object) -> Response:
    """Give a value as JSON."""
    return Response(msgspec.json.encode(value), media_type="application/json")


class Registry:
    """Answers questions about the tables of one server."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._topics = SortedNames(view.tables.read.all_topics, lambda: view.tables.read.revision)

    def routes(self) -> list[Route]:
        """Give the paths."""
        return [
            Route("/api/v1/server", self.server),
            Route("/api/v1/clusters", self.clusters),
            Route("/api/v1/brokers", self.brokers),
            Route("/api/v1/brokers/{name:path}", self.broker),
            Route("/api/v1/topics/{topic:path}/route", self.route),
            Route("/api/v1/topics", self.topics),
            Route("/api/v1/topics/{topic:path}", self.topic),
        ]

    async def server(self, _: Request) -> Response:
        """What runs, since when, and how much it holds."""
        view, about = self._view, self._view.about
        read = view.tables.read
        return json_response(
            {
                "version": about.version,
                "compat_version": about.compat_version,
                "address": view.server.address,
                "pid": about.pid,
                "started_at": _rfc3339(about.started_s),
                "ready": not view.unready(),
                "admin_policy": view.config.started_with.admin_policy.value,
                "clusters": read.cluster_count(),
                "brokers": len(list(read.live_members())),
                "topics": read.topic_count(),
                "connections": view.server.connection_count,
            }
        )

    async def clusters(self, _: Request) -> Response:
        """Every cluster with its broker names."""
        members: dict[str, set[str]] = {}
        for member in self._view.tables.read.live_members():
            members.setdefault(member.cluster, set()).add(member.broker_name)
        items = [{"cluster": cluster, "brokers": sorted(names)} for cluster, names in sorted(members.items())]
        return json_response({"items": items})

    async def brokers(self, request: Request) -> Response:
        """Broker groups by name, a page at a time."""
        page = page_of(request)
        groups = self._groups(self._view.tables.read.live_members())
        names = sorted(name for name in groups if name > page.cursor and name.startswith(page.prefix))
        shown = names[: page.limit]
        items = [groups[name] for name in shown]
        return json_response({"items": items, "next_cursor": shown[-1] if len(names) > page.limit else None})

    async def broker(self, request: Request) -> Response:
        """One broker group."""
        name = request.path_params["name"]
        read = self._view.tables.read
        group = self._groups(member for member in read.live_members() if member.broker_name == name).get(name)
        if group is None:
            raise Problem(
                HTTPStatus.NOT_FOUND, "unknown_broker", f"no broker {name} is registered", "see /api/v1/brokers"
            )
        return json_response(group | {"topic_count": read.topic_count_of(name)})

    async def topics(self, request: Request) -> Response:
        """Topic names in order, a page at a time."""
        page = page_of(request)
        names, cursor = await self._topics.page(page)
        return json_response({"items": names, "next_cursor": cursor})

    async def topic(self, request: Request) -> Response:
        """What each broker has for a topic."""
        topic = request.path_params["topic"]
        queues = self._view.tables.read.queue_datas(topic)
        if not queues:
            raise _unknown_topic(topic)
        items = [_queues(name, data) for name, data in sorted(queues.items())]
        return json_response({"topic": topic, "brokers": items})

    async def route(self, request: Request) -> Response:
        """The route as clients get it: the body of the answer to GET_ROUTEINFO_BY_TOPIC, in standard JSON."""
        topic = request.path_params["topic"]
        view = self._view
        has_order = view.config.current.order_message_enable
        order = view.kv_config.get(ORDER_TOPIC_CONFIG, topic) if has_order else None
        body = view.tables.read.encoded_route(topic, JsonDialect.STANDARD, order)
        if body is None:
            raise _unknown_topic(topic)
        return Response(body, media_type="application/json")

    def _groups(self, members: Iterable[LiveMember]) -> dict[str, dict[str, Any]]:
        now_ms, now_s = self._view.now_ms(), time.time()
        groups: dict[str, dict[str, Any]] = {}
        for member in members:
            age_s = max(0, now_ms - member.last_update_ms) / 1000
            group = groups.setdefault(
                member.broker_name, {"broker": member.broker_name, "cluster": member.cluster, "members": []}
            )
            group["members"].append(
                {
                    "id": member.broker_id,
                    "role": member.role,
                    "address": member.addr,
                    "last_heartbeat_at": _rfc3339(now_s - age_s),
                    "last_heartbeat_age_s": round(age_s, 3),
                    "expires_in_s": round(max(0.0, member.heartbeat_timeout_ms / 1000 - age_s), 3),
                }
            )
        for group in groups.values():
            group["members"].sort(key=lambda member: member["id"])
        return groups


def _queues(broker_name: str, data: QueueData) -> dict[str, Any]:
    return {
        "broker": broker_name,
        "read_queue_nums": data.read_queue_nums,
        "write_queue_nums": data.write_queue_nums,
        "perm": data.perm,
        "topic_sys_flag": data.topic_sys_flag,
    }


def _unknown_topic(topic: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, "unknown_topic", f"the topic {topic[:100]} has no route", "see /api/v1/topics")


def _rfc3339(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
