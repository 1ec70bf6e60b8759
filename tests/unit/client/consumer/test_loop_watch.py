"""A loop that stands still is named in the log."""

import asyncio
import contextlib
import time

import pytest

from cosmodrome.client.consumer import loop_watch


async def test_c033_a_blocked_loop_is_named(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_watch, "LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(loop_watch, "TOO_LATE_S", 0.05)
    watching = asyncio.create_task(loop_watch.watch_loop("group G"))
    await asyncio.sleep(0)
    time.sleep(0.2)  # noqa: ASYNC251 -- this is what the test is about
    await asyncio.sleep(0.01)
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching

    assert "group G: the event loop stood still for 0." in caplog.text
