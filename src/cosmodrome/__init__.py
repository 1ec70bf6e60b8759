"""Apache RocketMQ in Python: a NameServer, a broker, producers and consumers.

What is used from here is loaded when it is first named, so that importing the package costs nothing.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_MODULES = {
    "AdminClient": "client.admin.admin",
    "AuthenticationError": "errors",
    "Averagely": "client.consumer.allocation",
    "Broker": "broker.server",
    "BrokerConfig": "broker.config",
    "BrokersFailedError": "errors",
    "ByCircle": "client.consumer.allocation",
    "ClientClosedError": "errors",
    "ClientConfig": "client.config",
    "ClientError": "errors",
    "ClientSession": "client.session",
    "ConsistentHash": "client.consumer.allocation",
    "Consumer": "client.consumer.consumer",
    "Credentials": "client.credentials",
    "FixedQueues": "client.consumer.allocation",
    "HoldingLimits": "client.consumer.process_queue",
    "Later": "client.consumer.handlers",
    "LitePullConsumer": "client.consumer.lite_pull",
    "MachineRoom": "client.consumer.allocation",
    "Message": "client.message",
    "MessageError": "errors",
    "MessageQueue": "client.message",
    "MessageView": "client.message",
    "MetricsCollector": "metrics.collector",
    "NameServer": "namesrv.in_process",
    "NearbyRooms": "client.consumer.allocation",
    "NoRouteError": "errors",
    "ObservedProcess": "client.observing",
    "ObservedReceive": "client.observing",
    "ObservedSend": "client.observing",
    "Observer": "client.observing",
    "PendingLimitError": "errors",
    "Producer": "client.producer.producer",
    "ReceivedMessage": "client.message",
    "RefusedError": "errors",
    "ReplyTimeoutError": "errors",
    "RocketMQError": "errors",
    "SendError": "errors",
    "SendResult": "client.message",
    "SendStatus": "client.message",
    "SendTimeoutError": "errors",
    "Sql": "client.consumer.filters",
    "TlsFiles": "transport.tls",
    "TransactionResult": "client.producer.transactions",
    "TransactionState": "client.producer.transactions",
}

__all__ = [*_MODULES]  # noqa: PLE0604 -- texts


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
