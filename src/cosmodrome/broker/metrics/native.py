"""Metrics as RocketMQ 5 names them.

Owns: the labels that all have; how codes, kinds and releases are written in labels; families of many series without a stall.
Must not know: what is measured (families.py).
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from cosmodrome.broker.config import BrokerConfig
from cosmodrome.metrics.family import Family, Histogram, Kind, Sample
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.transport.traffic import NO_ANSWER, UNSERVED

_COMMON: Final = ("cluster", "node_type", "node_id")
_STORAGE: Final = {"storage_type": "local", "storage_medium": "disk"}
_PIECE: Final = 500
Samples = Iterable[tuple[tuple[str, ...], float | Histogram]]


class Native:
    """Makes families of one broker."""

    def __init__(self, config: BrokerConfig) -> None:
        """Label them as its."""
        self._common = (config.broker_cluster_name, "broker", config.broker_name)

    def one(self, name: str, meaning: str, value: float, **labels: str) -> Family:
        """Give a gauge of one series."""
        return self._family(name, Kind.GAUGE, meaning, tuple(labels), [((*labels.values(),), value)])

    def stored(self, name: str, meaning: str, value: float | None) -> Family:
        """Give a gauge about the store; without a series when there is no value."""
        samples = [] if value is None else [((*_STORAGE.values(),), value)]
        return self._family(name, Kind.GAUGE, meaning, tuple(_STORAGE), samples)

    def few(self, name: str, kind: Kind, meaning: str, labels: tuple[str, ...], samples: Samples) -> Family:
        """Give a metric of which there are not many series."""
        return self._family(name, kind, meaning, labels, samples)

    async def many(self, name: str, kind: Kind, meaning: str, labels: tuple[str, ...], samples: Samples) -> Family:
        """Give a metric with a series for each topic or group; others have their turn meanwhile.

        `samples` must not read a table that may change.
        """
        found = self._family(name, kind, meaning, labels, ())
        made = list(found.samples)
        for count, (values, value) in enumerate(samples):
            made.append(Sample((*self._common, *values), value))
            if count % _PIECE == _PIECE - 1:
                await asyncio.sleep(0)
        return found._replace(samples=made)

    def _family(self, name: str, kind: Kind, meaning: str, labels: tuple[str, ...], samples: Samples) -> Family:
        made = [Sample((*self._common, *values), value) for values, value in samples]
        return Family(name, kind, meaning, (*_COMMON, *labels), made)


def flag(is_so: bool) -> str:  # noqa: FBT001 -- its word
    """Give the word for a truth."""
    return "true" if is_so else "false"


def request_word(code: int) -> str:
    """Give the word for a request code; `other` for those that nobody serves."""
    if code == UNSERVED:
        return "other"
    try:
        return BrokerRequestCode(code).name.lower()
    except ValueError:
        return str(code)


def response_word(code: int) -> str:
    """Give the word for a response code."""
    if code == NO_ANSWER:
        return "oneway"
    try:
        return ResponseCode(code).name.lower()
    except ValueError:
        return str(code)
