"""What happened around a recording and is not in it, brought about by brokers that only stand in.

Owns: brokers, topics and KV entries that answers show and no recorded request made.
Must not know: whether our answers are right; where a recorded request has changed something, nothing is done.

The proxy that recorded saw one peer. Other brokers registered elsewhere, topics were made by requests to brokers.
What they told the NameServer follows from its answers, and is told here just before the request that shows it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support import wire
from tests.support.builders import AsyncWire, Running
from tests.support.golden import Exchanged, Recording

ORDER: Final = "ORDER_TOPIC_CONFIG"
ANY_BROKER: Final = "broker-a"
"""Where topics are put of which a recording shows the name alone."""


@dataclass
class StandIn:
    """A broker group that is not in the recording."""

    cluster: str
    addrs: dict[int, str]
    connections: dict[int, AsyncWire]
    counter: int = 0
    topics: dict[str, dict[str, Any]] = field(default_factory=dict)


class OffTheRecord:
    """Keeps a server in the state that the answers of a recording show."""

    def __init__(self, run: Running, recording: Recording) -> None:
        self._run = run
        self._exchanges = recording.exchanges()
        self._recorded_brokers = {
            frame.command.ext["brokerName"] for frame in recording.requests(103) if frame.command.ext
        }
        self._groups: dict[str, StandIn] = {}
        self._touched: set[tuple[str, str]] = set()
        """Broker and topic, where a recorded request changed or removed what a stand-in told."""
        self._kv: dict[tuple[str, str], str] = {}

    def topic_count(self, broker_name: str) -> int | None:
        """Give how many topics a stand-in told that no recorded request removed; None for another broker."""
        group = self._groups.get(broker_name)
        return None if group is None else len(group.topics)

    async def before(self, at: int) -> None:
        """Bring about what the answer to the request at this place shows."""
        request, answer = self._exchanges[at]
        if answer is None:
            return
        said = answer.command
        if request.command.code == 106:
            await self._brokers(said.json()["brokerAddrTable"])
        elif request.command.code == 105 and said.code == 0:
            await self._route((request.command.ext or {})["topic"], said.json())
        elif request.command.code == 206:
            for topic in said.json()["topicList"]:
                await self._name(topic, at)
        elif request.command.code == 103 and said.body:
            await self._orders(said.json()["table"])

    async def after(self, at: int) -> None:
        """Take note of what the request at this place changed."""
        request, answer = self._exchanges[at]
        if answer is None or answer.command.code != 0:
            return
        ext = request.command.ext or {}
        match request.command.code:
            case 205 | 327:
                self._touch(ext["brokerName"], self._topics_of(ext["brokerName"]))
            case 216:
                for name, group in self._groups.items():
                    if group.topics.get(ext["topic"]) and ext.get("clusterName") in (None, "", group.cluster):
                        del group.topics[ext["topic"]]
                        self._touched.add((name, ext["topic"]))
            case 100:
                self._kv[ext["namespace"], ext["key"]] = ext["value"]
            case 102:
                self._kv.pop((ext["namespace"], ext["key"]), None)

    def _topics_of(self, broker_name: str) -> Iterable[str]:
        return self._groups[broker_name].topics if broker_name in self._groups else ()

    def _touch(self, broker_name: str, topics: Iterable[str]) -> None:
        self._touched.update((broker_name, topic) for topic in topics)

    async def _brokers(self, shown: dict[str, Any]) -> None:
        for name in [name for name in self._groups if name not in shown]:
            await self._leave(name)
        for name, data in shown.items():
            await self._group(name, data)

    async def _group(self, name: str, data: dict[str, Any]) -> None:
        if name in self._recorded_brokers:
            return
        addrs = {int(id_): addr for id_, addr in data["brokerAddrs"].items()}
        if name in self._groups and self._groups[name].addrs == addrs:
            return
        topics = self._groups[name].topics if name in self._groups else {}
        await self._leave(name)
        connections = {id_: await self._run.wire() for id_ in addrs}
        group = self._groups[name] = StandIn(data["cluster"], addrs, connections, topics=topics)
        await self._tell(name, [*topics.values()], first=True)
        self._touched = {(broker, topic) for broker, topic in self._touched if broker != name}
        assert group.addrs

    async def _leave(self, name: str) -> None:
        group = self._groups.pop(name, None)
        if group is None:
            return
        for id_, connection in group.connections.items():
            answer = await connection.request(104, wire.identity_ext(self._broker(name, group, id_)))
            assert answer.code == 0
            await connection.close()

    async def _route(self, topic: str, route: dict[str, Any]) -> None:
        for data in route["brokerDatas"]:
            if data["brokerName"] not in self._groups:
                await self._group(data["brokerName"], data)
        for data in route["queueDatas"]:
            name = data["brokerName"]
            if name in self._recorded_brokers or (name, topic) in self._touched:
                continue
            config = wire.topic_config(
                topic, data["readQueueNums"], data["writeQueueNums"], data["perm"], data["topicSysFlag"]
            )
            if self._groups[name].topics.get(topic) != config:
                await self._tell(name, [config])

    async def _name(self, topic: str, at: int) -> None:
        """Make a topic of which only the name is seen here; a later route may show where it is."""
        if any(topic in group.topics for group in self._groups.values()):
            return
        later = next((each for each in self._exchanges[at:] if _is_route_of(each, topic)), None)
        if later is not None and later.answer is not None:
            await self._route(topic, later.answer.command.json())
        elif ANY_BROKER in self._groups:
            await self._tell(ANY_BROKER, [wire.topic_config(topic)])

    async def _tell(self, name: str, configs: list[dict[str, Any]], *, first: bool = False) -> None:
        group = self._groups[name]
        group.counter += 1
        version = wire.data_version(group.counter)
        group.topics |= {config["topicName"]: config for config in configs}
        # A single topic must not come before its broker; no topic at all may.
        pieces = [[], configs] if first else [configs]
        for piece in pieces:
            for id_, connection in group.connections.items():
                body = wire.register_body(piece, version)
                assert (await connection.register(self._broker(name, group, id_), body=body)).code == 0

    def _broker(self, name: str, group: StandIn, id_: int) -> wire.Broker:
        addr = group.addrs[id_]
        return wire.Broker(name=name, addr=addr, cluster=group.cluster, ha_addr=addr, id=id_)

    async def _orders(self, table: dict[str, str]) -> None:
        connection = await self._run.wire()
        for key, value in table.items():
            if self._kv.get((ORDER, key)) != value:
                assert (await connection.request(100, {"namespace": ORDER, "key": key, "value": value})).code == 0
                self._kv[ORDER, key] = value
        for namespace, key in [*self._kv]:
            if namespace == ORDER and key not in table:
                assert (await connection.request(102, {"namespace": namespace, "key": key})).code == 0
                del self._kv[namespace, key]
        await connection.close()


def _is_route_of(exchanged: Exchanged, topic: str) -> bool:
    request, answer = exchanged
    is_route = request.command.code == 105 and (request.command.ext or {}).get("topic") == topic
    return is_route and answer is not None and answer.command.code == 0
