"""A broker with its HTTP listener, and what it says there.

Owns: asking; metrics without the labels that all of them have.
Must not know: what a test claims.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx
from tests.support.broker_calls import WITHIN_S, Caller
from tests.support.http_plane import scraped

from cosmodrome import Broker

_COMMON: Final = ("cluster=DefaultCluster", "node_id=broker-a", "node_type=broker")


@dataclass
class BrokerPlane:
    """A broker that runs, a client of its HTTP listener, and one of its own."""

    broker: Broker
    http: httpx.AsyncClient
    caller: Caller

    async def metrics(self) -> dict[str, float]:
        """Scrape, and give each sample of ours by its name with its labels, `name{label=value,...}`."""
        return {
            _without_common(name): value
            for name, value in (await scraped(self.http)).items()
            if name.startswith("rocketmq_")
        }

    async def until_ready_says(self, status: int) -> str:
        """Wait until /readyz has this status, and give its text."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                found, text = await self.ready()
                if found == status:
                    return text
                await asyncio.sleep(0.01)

    async def ready(self) -> tuple[int, str]:
        """Ask /readyz."""
        answer = await self.http.get("/readyz")
        return answer.status_code, answer.text


@asynccontextmanager
async def broker_plane(**settings: Any) -> AsyncIterator[BrokerPlane]:
    """Run a broker with HTTP on free ports."""
    async with (
        Broker(http="127.0.0.1:0", **settings) as broker,
        client_of(broker) as http,
        Caller(broker.address) as caller,
    ):
        yield BrokerPlane(broker, http, caller)


def client_of(broker: Broker) -> httpx.AsyncClient:
    """Give a client of the HTTP listener of a broker."""
    return httpx.AsyncClient(base_url=f"http://{broker.http_address}", timeout=30, trust_env=False)


def _without_common(name: str) -> str:
    head, _, labels = name.partition("{")
    own = [each for each in labels.removesuffix("}").split(",") if each not in _COMMON]
    return f"{head}{{{','.join(own)}}}"
