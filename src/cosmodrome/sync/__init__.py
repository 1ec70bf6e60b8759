"""The clients for plain threads: scripts, Django, Flask, workers.

All of them share one event loop in one thread, which is there while one of them is open. What is used from here is
loaded when it is first named.
"""

import importlib
from typing import Any

_MODULES = {
    "AdminClient": "admin",
    "Consumer": "consumer",
    "LitePullConsumer": "consumer",
    "NameServer": "name_server",
    "Producer": "producer",
    "ReceivedMessage": "message",
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
