"""Noticing that this process did not run. Time is a number here, but where the real loop stands still."""

import time
from collections.abc import AsyncIterator

import pytest
from tests.support.builders import eventually

from cosmodrome.transport.pauses import NOTICED_S, TICK_S, PauseWatch


class Scene:
    """A watch with a clock of its own."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.pauses: list[float] = []
        self.watch = PauseWatch(lambda: self.now_s)
        self.watch.subscribe(self.pauses.append)

    def runs_for(self, seconds: float) -> None:
        """Let time pass without a pause."""
        self.watch.stop()
        self.now_s += seconds
        self.watch.start()


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    scene = Scene()
    scene.watch.start()
    yield scene
    scene.watch.stop()


async def test_a_pause_is_told_once_with_its_length(scene: Scene) -> None:
    scene.now_s += TICK_S + 3600
    scene.watch.look()
    scene.watch.look()

    assert scene.pauses == [pytest.approx(3600)]


async def test_a_short_delay_is_none(scene: Scene) -> None:
    scene.now_s += TICK_S + NOTICED_S
    scene.watch.look()

    assert scene.pauses == []
    assert scene.watch.grace_s() == 0


async def test_after_a_pause_there_is_a_short_time_of_grace(scene: Scene) -> None:
    """As long as the pause or three seconds; after a pause in which brokers gave up, until their next registration."""
    for pause_s, grace_s in ((1.5, 1.5), (4.0, 3.0), (6.0, 65.0), (3600, 65.0)):
        scene.now_s += TICK_S + pause_s
        assert scene.watch.grace_s() == pytest.approx(grace_s)
        scene.runs_for(1)
        assert scene.watch.grace_s() == pytest.approx(grace_s - 1)
        scene.runs_for(grace_s - 1)
        assert scene.watch.grace_s() == 0


async def test_time_without_a_watch_is_no_pause(scene: Scene) -> None:
    scene.watch.stop()
    scene.now_s += 3600
    scene.watch.look()
    assert scene.pauses == []

    scene.watch.start()
    scene.watch.look()
    assert scene.pauses == []


async def test_a_loop_that_stood_still_is_noticed_by_itself() -> None:
    pauses: list[float] = []
    watch = PauseWatch()
    watch.subscribe(pauses.append)
    watch.start()
    try:
        time.sleep(TICK_S + NOTICED_S + 0.5)  # noqa: ASYNC251  # the loop must stand still
        await eventually(lambda: pauses, "the pause")
    finally:
        watch.stop()

    assert pauses[0] > NOTICED_S
