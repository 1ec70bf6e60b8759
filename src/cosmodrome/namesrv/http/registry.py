"""What is registered, as JSON.

Owns: /api/v1/server, /clusters, /brokers, /topics and routes; which request each change is.
Must not know: how the tables are kept; how errors are written.
"""

import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response

from cosmodrome.http.api import NO_STORE
from cosmodrome.http.operations import Asked, Parameter, get, write
from cosmodrome.http.paging import PREFIXED, SortedNames, page_of
from cosmodrome.http.problems import Problem
from cosmodrome.namesrv.event_form import rfc3339
from cosmodrome.namesrv.http import shapes
from cosmodrome.namesrv.http.asking import answer_of
from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG
from cosmodrome.namesrv.routing.reader import LiveMember
from cosmodrome.namesrv.table_digest import ServerDigest
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.bodies.route import QueueData
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.broker import AddWritePermOfBrokerResponseHeader, WipeWritePermOfBrokerResponseHeader
from cosmodrome.protocol.json_dialects import JsonDialect

_CLUSTER: Final = Parameter(
    name="cluster", meaning="only at the brokers of this cluster", schema={"type": "string", "minLength": 1}
)
_DIGEST: Final = Parameter(
    name="digest", meaning="tell route_digest; it is null while the tables change", schema={"type": "string"}
)
_UNKNOWN_BROKER: Final = {HTTPStatus.NOT_FOUND: "no broker of that name is registered"}


class Registry:
    """Answers questions about the tables of one server."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._digest = ServerDigest(view.tables.read, view.kv_config, view.config)
        self._topics = SortedNames(view.tables.read.all_topics, lambda: view.tables.read.revision)

    @get("/api/v1/server", answers=shapes.ServerInfo, query=(_DIGEST,))
    async def server(self, asked: Asked) -> object:
        """What runs, since when, and how much it holds; with `digest`, a text that equal tables have in common, too."""
        view, about = self._view, self._view.about
        digest = await self._digest.current() if "digest" in asked.request.query_params else None
        read = view.tables.read
        return shapes.ServerInfo(
            version=about.version,
            compat_version=about.compat_version,
            address=view.server.address,
            pid=about.pid,
            started_at=rfc3339(about.started_s),
            ready=not view.unready(),
            draining=view.control.drained_since_s() is not None,
            admin_policy=view.config.started_with.admin_policy.value,
            clusters=read.cluster_count(),
            brokers=len(list(read.live_members())),
            topics=read.topic_count(),
            connections=view.server.connection_count,
            route_digest=digest,
        )

    @get("/api/v1/clusters", answers=shapes.Clusters, like=RequestCode.GET_BROKER_CLUSTER_INFO)
    async def clusters(self, _: Asked) -> object:
        """Every cluster with its broker names."""
        members: dict[str, set[str]] = {}
        for member in self._view.tables.read.live_members():
            members.setdefault(member.cluster, set()).add(member.broker_name)
        items = [shapes.Cluster(cluster=cluster, brokers=sorted(names)) for cluster, names in sorted(members.items())]
        return shapes.Clusters(items=items)

    @get("/api/v1/brokers", answers=shapes.BrokerGroups, query=PREFIXED, like=RequestCode.GET_BROKER_CLUSTER_INFO)
    async def brokers(self, asked: Asked) -> object:
        """Broker groups by name, a page at a time."""
        page = page_of(asked.request)
        groups = self._groups(self._view.tables.read.live_members())
        names = sorted(name for name in groups if name > page.cursor and name.startswith(page.prefix))
        shown = names[: page.limit]
        cursor = shown[-1] if len(names) > page.limit else None
        return shapes.BrokerGroups(items=[groups[name] for name in shown], next_cursor=cursor)

    @get("/api/v1/brokers/{name}", answers=shapes.BrokerDetail, like=RequestCode.GET_BROKER_CLUSTER_INFO)
    async def broker(self, asked: Asked) -> object:
        """One broker group."""
        name = asked.names["name"]
        read = self._view.tables.read
        group = self._groups(member for member in read.live_members() if member.broker_name == name).get(name)
        if group is None:
            raise _unknown_broker(name)
        return shapes.BrokerDetail(
            broker=group.broker,
            cluster=group.cluster,
            members=group.members,
            topic_count=read.topic_count_of(name),
        )

    @write(
        "PUT",
        "/api/v1/brokers/{name}/write-permission",
        answers=shapes.WritePermissionSet,
        takes=shapes.WritePermission,
        problems=_UNKNOWN_BROKER,
    )
    async def set_write_permission(self, asked: Asked) -> object:
        """Take the write permission from all topics of a broker, or give it back.

        As requests 205 and 327, so it is of this NameServer only, and given back it is read and write, whatever it was.
        """
        name, is_allowed = asked.names["name"], asked.body.allowed
        if not any(member.broker_name == name for member in self._view.tables.read.live_members()):
            raise _unknown_broker(name)
        fields = {"brokerName": name}
        if is_allowed:
            answer = await answer_of(self._view, asked.request, RequestCode.ADD_WRITE_PERM_OF_BROKER, fields)
            topics = decode_ext_fields(AddWritePermOfBrokerResponseHeader, answer.ext_fields).add_topic_count
        else:
            answer = await answer_of(self._view, asked.request, RequestCode.WIPE_WRITE_PERM_OF_BROKER, fields)
            topics = decode_ext_fields(WipeWritePermOfBrokerResponseHeader, answer.ext_fields).wipe_topic_count
        return shapes.WritePermissionSet(broker=name, allowed=is_allowed, topics=topics or 0)

    @get("/api/v1/topics", answers=shapes.Names, query=PREFIXED, like=RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    async def topics(self, asked: Asked) -> object:
        """Topic names in order, a page at a time."""
        names, cursor = await self._topics.page(page_of(asked.request))
        return shapes.Names(items=list(names), next_cursor=cursor)

    @get("/api/v1/topics/{topic}", answers=shapes.Topic)
    async def topic(self, asked: Asked) -> object:
        """What each broker has for a topic."""
        topic = asked.names["topic"]
        queues = self._view.tables.read.queue_datas(topic)
        if not queues:
            raise _unknown_topic(topic)
        return shapes.Topic(topic=topic, brokers=[_queues(name, data) for name, data in sorted(queues.items())])

    @write("DELETE", "/api/v1/topics/{topic}", answers=shapes.Done, query=(_CLUSTER,))
    async def delete_topic(self, asked: Asked) -> object:
        """Delete a topic from this NameServer; brokers that have it bring it back when they register.

        As request 216: a topic that is not there, or not in this cluster, is deleted already, and `changed` is false.
        """
        topic = asked.names["topic"]
        fields: dict[str, str | None] = {"topic": topic}
        cluster = asked.request.query_params.get("cluster")
        if cluster == "":
            detail = "cluster is empty; leave it out to delete the topic at the brokers of all clusters"
            raise Problem(HTTPStatus.BAD_REQUEST, "empty_cluster", detail)
        if cluster is not None:
            fields["clusterName"] = cluster
        before = frozenset(self._view.tables.read.queue_datas(topic))
        await answer_of(self._view, asked.request, RequestCode.DELETE_TOPIC_IN_NAMESRV, fields)
        is_changed = not before <= self._view.tables.read.queue_datas(topic).keys()
        return shapes.Done(done=True, changed=is_changed)

    @get("/api/v1/topics/{topic}/route", answers=dict[str, Any])
    async def route(self, asked: Asked) -> Response:
        """The route as clients get it: the body of the answer to GET_ROUTEINFO_BY_TOPIC, in standard JSON."""
        topic = asked.names["topic"]
        view = self._view
        has_order = view.config.current.order_message_enable
        order = view.kv_config.get(ORDER_TOPIC_CONFIG, topic) if has_order else None
        body = view.tables.read.encoded_route(topic, JsonDialect.STANDARD, order)
        if body is None:
            raise _unknown_topic(topic)
        return Response(body, headers=NO_STORE, media_type="application/json")

    def _groups(self, members: Iterable[LiveMember]) -> dict[str, shapes.BrokerGroup]:
        now_ms, now_s = self._view.now_ms(), time.time()
        groups: dict[str, shapes.BrokerGroup] = {}
        for member in members:
            group = groups.setdefault(
                member.broker_name, shapes.BrokerGroup(broker=member.broker_name, cluster=member.cluster, members=[])
            )
            group.members.append(_member(member, now_ms, now_s))
        for group in groups.values():
            group.members.sort(key=lambda member: member.id)
        return groups


def _member(member: LiveMember, now_ms: int, now_s: float) -> shapes.Member:
    age_s = max(0, now_ms - member.last_update_ms) / 1000
    return shapes.Member(
        id=member.broker_id,
        role=member.role,
        address=member.addr,
        last_heartbeat_at=rfc3339(now_s - age_s),
        last_heartbeat_age_s=round(age_s, 3),
        expires_in_s=round(max(0.0, member.heartbeat_timeout_ms / 1000 - age_s), 3),
    )


def _queues(broker_name: str, data: QueueData) -> shapes.TopicQueues:
    return shapes.TopicQueues(
        broker=broker_name,
        read_queue_nums=data.read_queue_nums,
        write_queue_nums=data.write_queue_nums,
        perm=data.perm,
        topic_sys_flag=data.topic_sys_flag,
    )


def _unknown_broker(name: str) -> Problem:
    detail = f"no broker {name[:100]} is registered"
    return Problem(HTTPStatus.NOT_FOUND, "unknown_broker", detail, "see /api/v1/brokers")


def _unknown_topic(topic: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, "unknown_topic", f"the topic {topic[:100]} has no route", "see /api/v1/topics")
