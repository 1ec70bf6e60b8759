"""What the fuzz targets claim holds for the committed corpus, and for bytes near it.

`python -m fuzz` looks for longer; see CONTRIBUTING.md. Inputs named `found-...` once showed a fault.
"""

import logging
from collections.abc import Iterator

import pytest
from fuzz.targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.any_bytes import CORPUS, corpus, near


@pytest.fixture(autouse=True, scope="module")
def _no_log() -> Iterator[None]:
    """Servers by the hundred would fill it."""
    logger = logging.getLogger("cosmodrome")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_is_small_and_holds(target: str) -> None:
    inputs = corpus(target)

    assert 2 <= len(inputs) < 150, "fuzz/corpus: python -m fuzz TARGET --merge"
    assert sum(map(len, inputs)) < 200_000
    for data in inputs:
        TARGETS[target](data)


def test_the_corpus_has_a_folder_for_each_target_and_no_other() -> None:
    folders = {path.name for path in CORPUS.iterdir() if path.is_dir()}

    assert folders == set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_bytes(target: str, data: st.DataObject) -> None:
    TARGETS[target](data.draw(near(target)))
