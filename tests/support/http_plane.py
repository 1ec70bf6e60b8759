"""A NameServer with its HTTP listener, and what it says there.

Owns: asking; reading metrics as Prometheus does.
Must not know: what a test claims.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from tests.support.builders import AsyncWire, Running, running


async def scraped(http: httpx.AsyncClient) -> dict[str, float]:
    """Scrape, and give each sample by its name with its labels, `name{label=value,...}`."""
    answer = await http.get("/metrics")
    assert answer.status_code == 200
    return {
        f"{sample.name}{{{','.join(f'{key}={value}' for key, value in sorted(sample.labels.items()))}}}": sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


@dataclass
class Plane:
    """A server that runs, and a client of its HTTP listener."""

    run: Running
    http: httpx.AsyncClient

    async def json(self, path: str, status: int = 200) -> Any:
        """Ask, and give the JSON that must come with this status."""
        answer = await self.http.get(path)
        assert answer.status_code == status, answer.text
        expected = "application/json" if status < 400 else "application/problem+json"
        assert answer.headers["content-type"] == expected
        return answer.json()

    async def metrics(self) -> dict[str, float]:
        """Scrape, and give each sample by its name with its labels, `name{label=value,...}`."""
        return await scraped(self.http)

    async def wire(self) -> AsyncWire:
        """Give a new connection to the remoting port."""
        return await self.run.wire()


@asynccontextmanager
async def plane(folder: Path, **values: Any) -> AsyncIterator[Plane]:
    """Run a NameServer with HTTP on free ports."""
    async with running(folder, http="127.0.0.1:0", **values) as run:
        url = f"http://{run.server.http_address}"
        async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client:
            yield Plane(run, client)
