"""What the description promises holds for a server that runs: schemathesis makes requests of it, good and bad.

A few of each operation, the same in every run; by night more: SCHEMATHESIS_EXAMPLES=200.
"""

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from tests.support import wire
from tests.support.builders import running

from cosmodrome.namesrv.http.description import description
from cosmodrome.namesrv.http.table import OPERATIONS

EXAMPLES: Final = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "6"))
ENDLESS: Final = "/api/v1/events"
"""A stream, which has no end to wait for."""

pytestmark = pytest.mark.filterwarnings("ignore")  # of what schemathesis uses


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server with something in it, in a thread, and give where its HTTP is."""
    folder = tmp_path_factory.mktemp("described")
    found: list[str] = []
    ready = threading.Event()
    done: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        end = asyncio.Event()
        done.append((asyncio.get_running_loop(), end))
        async with running(folder, http="127.0.0.1:0") as server:
            peer = await server.wire()
            body = wire.register_body([wire.topic_config("T"), wire.topic_config("U")])
            assert (await peer.request(103, wire.registration_ext(wire.Broker()), body)).code == 0
            found.append(f"http://{server.server.http_address}")
            ready.set()
            await end.wait()

    def run_and_tell() -> None:
        try:
            asyncio.run(run())
        finally:
            ready.set()

    thread = threading.Thread(target=run_and_tell)
    thread.start()
    try:
        assert ready.wait(60)
        yield found[0]
    finally:
        loop, end = done[0]
        loop.call_soon_threadsafe(end.set)
        thread.join(60)


def cases() -> Iterator[Any]:
    """Give each operation, for good requests, and for bad ones where it can be asked in a bad way."""
    schema = schemathesis.openapi.from_dict(description())
    can_be_bad = {each.name for each in OPERATIONS if each.query or each.takes is not None}
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]  # ours is a good one
        if operation.path != ENDLESS:
            for mode in GenerationMode:
                if mode is GenerationMode.POSITIVE or operation.definition.raw["operationId"] in can_be_bad:
                    yield pytest.param(operation, mode, id=f"{operation.label}-{mode.value}")


@pytest.mark.parametrize(("operation", "mode"), list(cases()))
def test_what_is_sent_is_answered_as_it_is_described(url: str, operation: Any, mode: GenerationMode) -> None:
    # Which value a setting may have is not in the description.
    excluded = [positive_data_acceptance] if operation.path == "/api/v1/config" else None

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        case.call_and_validate(base_url=url, timeout=30, excluded_checks=excluded)

    send()
