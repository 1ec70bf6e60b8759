"""Brokers as the benchmarks send them.

Owns: registration frames of any size and form, made once and patched; brokers that stay.
Must not know: what is measured with them.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Final, Self

from tests.support.waiting import wait_until
from tests.support.wire import Broker, Wire, crc32_masked, registration_ext

REGISTER_BROKER: Final = 103
UNREGISTER_BROKER: Final = 104
GET_BROKER_CLUSTER_INFO: Final = 106
_LIFE_MS: Final = 86_400_000
_TIMEOUT_S: Final = 120
_EPOCH_MS: Final = 1_700_000_000_000
_PLAIN_TOPIC: Final = (
    '"%s":{"attributes":{},"order":false,"perm":6,"readQueueNums":%d,"topicFilterType":"SINGLE_TAG",'
    '"topicName":"%s","topicSysFlag":0,"writeQueueNums":%d}'
)


def topic_names(count: int, prefix: str = "Topic") -> list[str]:
    """Give `count` names, `<prefix>0` and on, as nsload asks for them."""
    return [f"{prefix}{number}" for number in range(count)]


def json_body(topics: Iterable[tuple[str, int]], counter: int, sent_ms: int = 1) -> bytes:
    """Give the JSON body of a 5.x broker: topics with their queue numbers, a data version, and the time of sending."""
    table = ",".join(_PLAIN_TOPIC % (name, queues, name, queues) for name, queues in topics)
    data_version = _version(counter, counter)
    mapping_data_version = _version(0, sent_ms)
    return (
        f'{{"filterServerList":[],"topicConfigSerializeWrapper":{{"dataVersion":{data_version},'
        f'"mappingDataVersion":{mapping_data_version},"topicConfigTable":{{{table}}},'
        '"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{}}}'
    ).encode()


def _version(counter: int, stamp: int) -> str:
    return json.dumps({"counter": counter, "stateVersion": 0, "timestamp": _EPOCH_MS + stamp})


def compressed_body(topics: Iterable[tuple[str, int]], counter: int, sent_ms: int = 1) -> bytes:
    """Give the compressed body of a 5.x broker. `sent_ms` has no place in this form."""
    del sent_ms
    version = _version(counter, counter)
    texts = [f"{name} {queues} {queues} 6 SINGLE_TAG {{}}".encode() for name, queues in topics]
    parts = [_prefixed(version.encode()), struct.pack(">i", len(texts)), *map(_prefixed, texts), _prefixed(b"[]")]
    return zlib.compress(b"".join([*parts, struct.pack(">i", 0)]), 9)


BodyMaker = Callable[..., bytes]
FORMS: Final[dict[str, BodyMaker]] = {"JSON": json_body, "compressed": compressed_body}


def _prefixed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


class LastingBroker:
    """One broker on a connection of its own, registered until it leaves."""

    def __init__(self, address: str, name: str, number: int = 0, form: str = "JSON", cluster: str = "Bench") -> None:
        self.wire = Wire(address, _TIMEOUT_S)
        self._form = form
        self.identity = Broker(
            name=name, addr=f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:10911",
            ha_addr="10.0.0.1:10912", cluster=cluster, heartbeat_timeout_millis=_LIFE_MS,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wire.close()

    def register(self, body: bytes) -> None:
        """Register and check that it was accepted."""
        ext = registration_ext(self.identity, compressed=self._form != "JSON", crc=crc32_masked(body))
        answer = self.wire.request(REGISTER_BROKER, ext, body)
        assert answer.code == 0, answer

    def unregister(self) -> None:
        """Leave in good order."""
        fields = registration_ext(self.identity)
        names = ("brokerName", "brokerAddr", "clusterName", "brokerId")
        answer = self.wire.request(UNREGISTER_BROKER, {name: fields[name] for name in names})
        assert answer.code == 0, answer


class Estate:
    """Brokers that stay until the estate is left."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.brokers: list[LastingBroker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def leave(self) -> None:
        """Let all of them leave in good order, and return when they are gone.

        Apache's server answers before it has done it, and would take a broker away that came back meanwhile.
        """
        for broker in self.brokers:
            broker.unregister()
            broker.wire.close()
        names = [f'"{broker.identity.name}"'.encode() for broker in self.brokers]
        self.brokers.clear()

        def are_gone() -> bool:
            with Wire(self._address, _TIMEOUT_S) as wire:
                listing = wire.request(GET_BROKER_CLUSTER_INFO).body
            return not any(name in listing for name in names)

        wait_until(are_gone, "the brokers to be gone")

    def add(self, names: Sequence[str], brokers: int = 1, form: str = "JSON", prefix: str = "broker") -> None:
        """Let so many more brokers register these topics, eight queues each."""
        body = FORMS[form]([(name, 8) for name in names], 1)
        for _ in range(brokers):
            number = len(self.brokers)
            broker = LastingBroker(self._address, f"{prefix}-{number}", number + 1, form)
            self.brokers.append(broker)
            broker.register(body)
