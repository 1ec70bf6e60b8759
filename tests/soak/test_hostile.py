"""The hostile script of benchmarks/hostile against our server alone, two stages of it, and what its table says.

Scaled: a second a stage and no Apache NameServer; `python -m benchmarks.hostile` is the full form. The peer that never
reads is at full scale.
"""

import asyncio
import dataclasses
from collections import Counter

import pytest
from benchmarks.hostile.measure import Server, ServerFigures, StageFigures, measure
from benchmarks.hostile.report import faults, markdown
from benchmarks.hostile.stages import NEVER_READING, stage_named
from benchmarks.hostile.watch import Cost
from tests.interop.rig.name_servers import OurNameServer
from tests.support.bad_bytes import MIB

SECONDS = 1.0


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> ServerFigures:
    folder = tmp_path_factory.mktemp("hostile")
    server = OurNameServer(folder)
    stages = [stage_named(NEVER_READING), stage_named("random frames")]
    try:
        server.start()
        subject = Server(
            name="ours",
            describes="this checkout",
            address=server.address,
            pid=server.process.pid,
            is_alive=lambda: server.process.is_alive,
            folder=folder,
        )
        return asyncio.run(measure(subject, stages, SECONDS, seed=5, tell=lambda _: None))
    finally:
        server.kill()


def test_a_peer_that_pipelines_10_000_route_requests_and_never_reads_costs_less_than_4_mib(
    figures: ServerFigures,
) -> None:
    stage = figures.stages[0]
    assert stage.outcomes.total() == 1, stage
    assert stage.growth_bytes < 4 * MIB, stage
    assert stage.answered > 0, stage


def test_our_server_survives_and_the_table_tells(figures: ServerFigures) -> None:
    assert list(faults(figures, None)) == []
    random_frames = figures.stages[1]
    assert random_frames.outcomes.total() >= 20, random_frames
    assert random_frames.registrations_failed == 0
    table = markdown([figures], SECONDS, "2026-01-01")
    assert "| random frames | ours | " in table
    assert "| alive, the same process | yes |" in table


def test_what_our_server_must_not_do_is_told() -> None:
    good = _server(_stage("random frames"))
    assert list(faults(good, good)) == []
    assert len(list(faults(dataclasses.replace(good, answers_rightly=False), None))) == 1
    assert len(list(faults(_server(_stage(NEVER_READING, grows_mib=4)), None))) == 1
    assert len(list(faults(_server(_stage("random frames", answered=97)), good))) == 1
    assert len(list(faults(_server(_stage("random frames", grows_mib=1)), good))) == 1


def _server(stage: StageFigures) -> ServerFigures:
    return ServerFigures(
        name="ours",
        describes="",
        stages=[stage],
        is_alive=True,
        answers_rightly=True,
        final_memory_bytes=0,
        log_bytes=0,
    )


def _stage(name: str, *, answered: int = 100, grows_mib: int = 0) -> StageFigures:
    cost = Cost(memory_bytes=40 * MIB, descriptors=20, cpu_s=0.0)
    return StageFigures(
        stage=name,
        asked=100,
        answered=answered,
        p50_s=0.001,
        p99_s=0.002,
        registrations_failed=0,
        before=cost,
        after=cost,
        peak_memory_bytes=(40 + grows_mib) * MIB,
        peak_descriptors=20,
        outcomes=Counter(),
        is_alive=True,
    )
