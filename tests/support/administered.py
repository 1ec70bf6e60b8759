"""What a double answers to administrators, in the words of Apache's brokers.

Owns: topics (17, 21, 202, 215, 300, 351), groups (200, 201, 207, 208), resets (222), clients (203, 204), settings (25, 26),
    runtime info (28).
Must not know: the package under test; requests that the double knows anyway.
"""

import json
from typing import Any

from tests.support import wire
from tests.support.faulty_broker import FaultyBroker, RefusedError, Reply, Topic, Under


class Administered:
    """Adds these requests to a double, and keeps what they change."""

    def __init__(self, broker: FaultyBroker) -> None:
        self.broker = broker
        self.groups: dict[str, dict[str, Any]] = {}
        self.config = {"brokerName": broker.broker_name, "fileReservedTime": "72", "path": r"C:\users\x"}
        self.is_5 = broker.release.is_5
        broker.works.update(
            {
                21: self._topics, 202: self._stats, 215: self._delete_topic, 300: self._groups_of, 351: self._topic,
                200: self._create_group, 201: self._groups, 207: self._delete_group, 208: self._progress,
                222: self._reset, 203: self._consumers, 204: self._producers, 25: self._change, 26: self._settings,
                28: lambda _: _json({"table": {"brokerVersionDesc": "V5_5_0", "putTps": "0.0 0.0 0.0"}}),
            }
        )  # fmt: skip

    def _topics(self, _: Under) -> Reply:
        table = {name: _topic_json(topic) for name, topic in self.broker.store.topics.items()}
        return _json({"dataVersion": {"counter": 1, "timestamp": 1}, "topicConfigTable": table})

    def _topic(self, under: Under) -> Reply:
        if not self.is_5:
            raise RefusedError(3, " request type 351 not supported")
        name = under.arrival.ext["topic"]
        if name not in self.broker.store.topics:
            raise RefusedError(17, f"No topic in this broker. topic: {name}")
        return _json(_topic_json(self.broker.store.topics[name]))

    def _stats(self, under: Under) -> Reply:
        topic = self._known(under)
        entries = {
            self._key(topic.name, number): {
                "minOffset": queue.first,
                "maxOffset": queue.end,
                "lastUpdateTimestamp": queue.records[-1].store_ms if queue.records else 0,
            }
            for number in range(max(topic.read, topic.write))
            for queue in [self.broker.store.queue(topic.name, number)]
        }
        return _table(entries)

    def _delete_topic(self, under: Under) -> Reply:
        self.broker.store.topics.pop(under.arrival.ext["topic"], None)
        return Reply(0)

    def _groups_of(self, under: Under) -> Reply:
        topic = under.arrival.ext["topic"]
        return _json({"groupList": sorted({group for group, name, _ in self.broker.groups.offsets if name == topic})})

    def _create_group(self, under: Under) -> Reply:
        config = under.arrival.json()
        self.groups[config["groupName"]] = config
        self.broker.groups.add_group(config["groupName"])
        return Reply(0)

    def _groups(self, _: Under) -> Reply:
        return _json({"dataVersion": {"counter": 1, "timestamp": 1}, "subscriptionGroupTable": self.groups})

    def _delete_group(self, under: Under) -> Reply:
        ext = under.arrival.ext
        self.groups.pop(ext["groupName"], None)
        if ext.get("cleanOffset" if self.is_5 else "removeOffset") == "true":
            offsets = self.broker.groups.offsets
            for key in [each for each in offsets if each[0] == ext["groupName"]]:
                del offsets[key]
        return Reply(0)

    def _progress(self, under: Under) -> Reply:
        ext = under.arrival.ext
        known = dict(self._offsets_of(ext["consumerGroup"]))
        if "topic" in ext:
            known = {(ext["topic"], n): known.get((ext["topic"], n), 0) for n in range(self._known(under).read)}
        entries = {
            self._key(topic, number): {
                "brokerOffset": self.broker.store.queue(topic, number).end,
                "consumerOffset": offset,
                "lastTimestamp": 0,
            }
            for (topic, number), offset in known.items()
        }
        return _table(entries, ',"consumeTps":1.5')

    def _offsets_of(self, group: str) -> list[tuple[tuple[str, int], int]]:
        offsets = self.broker.groups.offsets.items()
        return [((topic, number), offset) for (each, topic, number), offset in offsets if each == group]

    def _reset(self, under: Under) -> Reply:
        ext = under.arrival.ext
        group, topic = ext["group"], self._known(under)
        if not self.is_5 and not self.broker.groups.groups.get(group):
            raise RefusedError(206, f"Consumer not online, so can not reset offset, Group: {group} Topic: {topic.name}")
        wanted = int(ext.get("queueId", "-1"))
        moved = {}
        for number in range(topic.read) if wanted < 0 else [wanted]:
            queue = self.broker.store.queue(topic.name, number)
            time_ms, offset = int(ext["timestamp"]), int(ext.get("offset", "-1"))
            later = sum(each.store_ms < time_ms for each in queue.records)
            target = offset if wanted >= 0 and offset >= 0 else queue.end if time_ms < 0 else queue.first + later
            self.broker.groups.commit((group, topic.name, number), target)
            moved[self._key(topic.name, number)] = target
        return _table(moved)

    def _consumers(self, under: Under) -> Reply:
        name = under.arrival.ext["consumerGroup"]
        group = self.broker.groups.groups.get(name)
        if group is None or not group.members:
            raise RefusedError(206, f"the consumer group[{name}] not online")
        connections = [_connection(line.peer, client_id) for line, client_id in group.members.values()]
        table = {topic: {"topic": topic, "subString": each.text} for topic, each in group.subscriptions.items()}
        return _json({"connectionSet": connections, "subscriptionTable": table, "consumeType": "CONSUME_PASSIVELY"})

    def _producers(self, under: Under) -> Reply:
        name = under.arrival.ext["producerGroup"]
        members = self.broker.groups.producers.get(name)
        if not members:
            raise RefusedError(1, f"the producer group[{name}] not exist")
        return _json({"connectionSet": [_connection(line.peer, client_id) for line, client_id in members.values()]})

    def _change(self, under: Under) -> Reply:
        for line in under.arrival.body.decode().splitlines():
            key, _, value = line.partition("=")
            self.config[key] = value
        return Reply(0)

    def _settings(self, _: Under) -> Reply:
        text = "".join(f"{key}={value}\n" for key, value in self.config.items())
        return Reply(0, None, {"version": '{"counter":1}'}, text.encode())

    def _known(self, under: Under) -> Topic:
        name = under.arrival.ext["topic"]
        if name not in self.broker.store.topics:
            raise RefusedError(17, f"topic[{name}] not exist")
        return self.broker.store.topics[name]

    def _key(self, topic: str, number: int) -> str:
        return json.dumps({"brokerName": self.broker.broker_name, "queueId": number, "topic": topic})


def _table(entries: dict[str, Any], rest: str = "") -> Reply:
    """Write a map with objects as keys, as fastjson does."""
    members = ",".join(f"{key}:{json.dumps(value)}" for key, value in entries.items())
    return Reply(0, None, None, ('{"offsetTable":{' + members + "}" + rest + "}").encode())


def _json(value: Any) -> Reply:
    return Reply(0, None, None, wire.dump(value))


def _topic_json(topic: Topic) -> dict[str, Any]:
    return {
        "topicName": topic.name, "readQueueNums": topic.read, "writeQueueNums": topic.write, "perm": topic.perm,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False,
    }  # fmt: skip


def _connection(peer: str, client_id: str) -> dict[str, Any]:
    return {"clientId": client_id, "clientAddr": peer, "language": "PYTHON", "version": 513}
