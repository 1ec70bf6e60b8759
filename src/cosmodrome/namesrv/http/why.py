"""Why a topic has no route, or a broker is not there.

Owns: /api/v1/topics/{topic}/why and /api/v1/brokers/{name}/why: which facts of this server, and of others, are looked at.
Must not know: what follows from them (cosmodrome.why).
"""

import asyncio
import time
from collections.abc import Callable, Generator
from typing import Any, Final, TypeVar

import msgspec

from cosmodrome.http.operations import Asked, get
from cosmodrome.namesrv.events import BrokerRegistered
from cosmodrome.namesrv.http import shapes
from cosmodrome.namesrv.http.other_servers import MOST, Unanswered, ask_server, peer_servers
from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG
from cosmodrome.namesrv.past import broker_past, topic_past
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.bodies.cluster import decode_cluster_info
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, request
from cosmodrome.why.broker_rules import diagnose_broker
from cosmodrome.why.causes import DEFAULT_TOPIC
from cosmodrome.why.diagnosis import Diagnosis
from cosmodrome.why.facts import BrokerFacts, Member, Missed, Peer, Queues, Server, TopicFacts
from cosmodrome.why.near_names import near_names
from cosmodrome.why.topic_rules import diagnose_topic

_MOST_NAMES: Final = 50
ResultT = TypeVar("ResultT")


class Why:
    """Explains."""

    def __init__(self, view: View) -> None:
        self._view = view

    @get("/api/v1/topics/{topic}/why", answers=shapes.Diagnosis, like=RequestCode.GET_BROKER_CLUSTER_INFO)
    async def why_topic(self, asked: Asked) -> object:
        """Why a topic has no route, or what is wrong with the one it has: evidence, the likeliest cause, what to do.

        The other NameServers of the configuration (peerServers) are asked too.
        """
        facts = await self._topic_facts(asked.names["topic"], _server_of(self._view, asked))
        return _shown(diagnose_topic(facts), facts)

    @get("/api/v1/brokers/{name}/why", answers=shapes.Diagnosis, like=RequestCode.GET_BROKER_CLUSTER_INFO)
    async def why_broker(self, asked: Asked) -> object:
        """Why a broker is not registered, or what is wrong with one that is: evidence, the likeliest cause, what to do."""
        facts = await self._broker_facts(asked.names["name"], _server_of(self._view, asked))
        return _shown(diagnose_broker(facts), facts)

    async def _topic_facts(self, topic: str, server: Server) -> TopicFacts:
        view = self._view
        read = view.tables.read
        queues = self._queues(topic)
        missed = view.misses.get(topic)
        longest = view.config.started_with.max_name_length
        return TopicFacts(
            topic=topic,
            server=server,
            queues=queues,
            near=() if queues else await _in_turns(near_names(topic, read.all_topics())),
            default_topic=self._queues(DEFAULT_TOPIC),
            past=await _in_turns(topic_past(list(view.history), topic)),
            missed=None if missed is None else Missed(
                count=missed.count, first_s=missed.first_s, last_s=missed.last_s, askers=tuple(reversed(missed.askers))
            ),
            peers=await self._peers(
                request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}),
                lambda answer: answer.code == ResponseCode.SUCCESS,
            ),
            order_conf=view.kv_config.get(ORDER_TOPIC_CONFIG, topic),
            refused=f"the name has {len(topic)} characters, of at most {longest}" if len(topic) > longest else None,
        )  # fmt: skip

    async def _broker_facts(self, name: str, server: Server) -> BrokerFacts:
        view = self._view
        members = list(view.tables.read.live_members())
        names = {each.broker_name for each in members}
        now_ms = view.now_ms()
        return BrokerFacts(
            broker=name,
            server=server,
            members=tuple(
                Member(
                    cluster=each.cluster,
                    broker=each.broker_name,
                    broker_id=each.broker_id,
                    addr=each.addr,
                    silent_s=(now_ms - each.last_update_ms) / 1000,
                    expires_in_s=max(0.0, (each.last_update_ms + each.heartbeat_timeout_ms - now_ms) / 1000),
                    peer=self._connected_from(name, each.addr),
                    topics=view.tables.read.topic_count_of(name),
                )
                for each in members
                if each.broker_name == name
            ),
            near=() if name in names else await _in_turns(near_names(name, sorted(names))),
            past=await _in_turns(broker_past(list(view.history), name)),
            peers=await self._peers(
                request(RequestCode.GET_BROKER_CLUSTER_INFO),
                lambda answer: name in decode_cluster_info(answer.body).broker_addr_table,
            ),
            clusters=tuple(sorted({each.cluster for each in members})),
        )

    def _queues(self, topic: str) -> tuple[Queues, ...]:
        read = self._view.tables.read
        clusters = {each.broker_name: each.cluster for each in read.live_members()}
        return tuple(
            Queues(
                broker=name,
                cluster=clusters.get(name),
                read=data.read_queue_nums,
                write=data.write_queue_nums,
                perm=data.perm,
                addresses=dict(read.broker_addrs(name)),
            )
            for name, data in sorted(read.queue_datas(topic).items())
            if read.broker_addrs(name)
        )

    def _connected_from(self, broker: str, addr: str) -> str | None:
        peer = next((each.peer for each in self._view.tables.read.lives(broker, addr) if each.peer), None)
        return None if peer is None else peer.rpartition(":")[0] or peer

    async def _peers(self, question: RemotingCommand, knows: Callable[[RemotingCommand], bool]) -> tuple[Peer, ...]:
        addresses = peer_servers(self._view.config.started_with)[:MOST]
        return tuple(await asyncio.gather(*(self._peer(each, question, knows) for each in addresses)))

    async def _peer(self, address: str, question: RemotingCommand, knows: Callable[[RemotingCommand], bool]) -> Peer:
        said = await ask_server(
            self._view, address, question, knows, (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST)
        )
        if isinstance(said, Unanswered):
            return Peer(address=address, knows=None, fault=said.fault)
        return Peer(address=address, knows=said)


def _server_of(view: View, asked: Asked) -> Server:
    history = view.history
    oldest = next(iter(history), None)
    return Server(
        address=_address(view.server.address, asked),
        now_s=time.time(),
        is_ours=True,
        up_since_s=view.about.started_s,
        unready=view.unready(),
        is_draining=view.control.drained_since_s() is not None,
        is_history_whole=history.is_whole and not any(record.names_left_out for record in history),
        known_since_s=None if oldest is None else oldest.time_s,
        brokers=sum(1 for _ in view.tables.read.live_members()),
        came=_came(view),
        is_braking=view.brakes.registrations.is_engaged,
    )


def _came(view: View) -> tuple[str, ...]:
    """Give the names of the last brokers that registered, the latest first."""
    names = [record.event.broker for record in view.history if isinstance(record.event, BrokerRegistered)]
    return tuple(dict.fromkeys(reversed(names)))[:_MOST_NAMES]


def _address(bound: str, asked: Asked) -> str:
    """Give where the server is; of one that listens everywhere, the host by which it was asked."""
    host, _, port = bound.rpartition(":")
    is_everywhere = host.strip("[]") in ("0.0.0.0", "::", "")  # noqa: S104  # compared, not bound
    return f"{asked.request.url.hostname}:{port}" if is_everywhere else bound


async def _in_turns(work: Generator[Any, None, ResultT]) -> ResultT:
    """Do work in slices, and let the server serve between them."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: ResultT = end.value
            return result
        await asyncio.sleep(0)


def _shown(diagnosis: Diagnosis, facts: TopicFacts | BrokerFacts) -> shapes.Diagnosis:
    return shapes.Diagnosis(
        subject=diagnosis.subject,
        server=diagnosis.server,
        is_well=diagnosis.is_well,
        facts=msgspec.to_builtins(facts, str_keys=True),
        headline=diagnosis.headline,
        situation=diagnosis.situation,
        verdict=diagnosis.verdict,
        advice=diagnosis.advice,
        commands=list(diagnosis.commands),
        evidence=[
            shapes.Evidence(situation=each.situation, mark=each.mark, text=each.text) for each in diagnosis.evidence
        ],
    )
