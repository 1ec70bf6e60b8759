"""The soak in its shortest form. Scaled: two laps of two seconds; `python -m tests.soak --minutes 30` is the long one."""

import json
import random
import time
from pathlib import Path

import pytest
from tests.soak.__main__ import summary
from tests.soak.answers import TOPICS_USED, Facts
from tests.soak.checked import CheckedHistory, WrongAnswerError
from tests.soak.measures import MIB, growth_over_second_half, thirds
from tests.soak.noise import BAD_CROWDS
from tests.soak.run import Soak
from tests.soak.verdict import LINES_PER_KIND, log_findings, memory_findings
from tests.support.peer import Peer
from tests.support.server_process import ServerProcess

SEED = int(time.time()) // 60
"""Another one each minute; a failure prints it."""


def test_a_short_soak_finds_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    result = Soak(tmp_path, SEED, told.append).run(laps=2, lap_s=2)
    shown = "\n".join([*told, summary(result)])
    assert not result.findings, shown
    assert len(result.laps) == 2
    assert all(lap.steps > 5 and lap.asked > 50 and lap.noise["own route"] > 0 for lap in result.laps), shown
    assert set(result.bad) == {kind for kind, *_ in BAD_CROWDS}
    assert all(outcomes.total() > 0 for outcomes in result.bad.values()), shown


def test_a_wrong_answer_is_found(tmp_path: Path) -> None:
    """Somebody takes topics away behind the model's back."""
    with ServerProcess(tmp_path) as server, Peer(server.address) as meddler:
        history = CheckedHistory(server.address, random.Random(SEED), Facts())
        try:
            with pytest.raises(WrongAnswerError, match="expected"):
                _meddle(history, meddler)
        finally:
            history.close()


def _meddle(history: CheckedHistory, meddler: Peer) -> None:
    for _ in range(500):
        history.step()
        for topic in TOPICS_USED:
            meddler.delete_topic(topic)


def test_a_rise_is_seen_and_a_wobble_is_not() -> None:
    assert growth_over_second_half([9, 9, 9, 1, 2, 3, 4]) == 3
    assert abs(growth_over_second_half([5, 5, 5, 5, 6, 5, 6, 5])) < 1
    assert thirds([1, 1, 1, 2, 9, 2, 3, 3, 3]) == (1, 2, 3)
    flat = [50, 80, *[50, 52] * 8]
    assert list(memory_findings([value * MIB for value in flat])) == []
    rising = [50, 50, *range(50, 80)]
    assert len(list(memory_findings([value * MIB for value in rising]))) == 2
    assert list(memory_findings([1.0, 2.0 * MIB, 300.0 * MIB])) == [], "too few to tell"


def test_too_many_lines_errors_and_strange_lines_are_found() -> None:
    def lines(count: int, event: str, level: str = "INFO") -> str:
        return f"{json.dumps({'level': level, 'event': event})}\n" * count

    assert list(log_findings(lines(LINES_PER_KIND, "route.missed") + lines(20, "kv.put"), 60, 20)) == []
    assert len(list(log_findings(lines(4 * LINES_PER_KIND, "route.missed"), 60, 0))) == 1
    assert len(list(log_findings(lines(1000, "kv.put"), 60, 20))) == 1
    assert len(list(log_findings(lines(1, "storage.failed", "ERROR"), 60, 20))) == 1
    assert len(list(log_findings("Traceback (most recent call last):\n", 60, 20))) == 1
