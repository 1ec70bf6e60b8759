"""Clients written in Go, JavaScript, Python and Rust, unchanged, with our broker and our NameServer.

The claims are those of test_client_languages.py, which a real broker fulfils; Java's are in test_broker.py.
"""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.our_broker import OurBroker
from tests.interop.test_client_languages import (  # noqa: F401 -- tests and fixtures, with the place of this file
    GO,
    GO_MARKS,
    PYTHON,
    Clients,
    Place,
    clients,
    java,
    test_every_message_sent_is_received,
    test_it_receives_what_java_sends,
    test_java_receives_what_it_sends,
)


@pytest.fixture(scope="module")
def place(new_stage: StageMaker) -> Iterator[Place]:
    with new_stage("our-languages") as stage:
        name_server = stage.name_server()
        with OurBroker("broker-languages", name_server.address) as broker:
            yield Place(name_server, cast("Any", broker))


@pytest.mark.full
@pytest.mark.parametrize("language", [pytest.param(GO, marks=GO_MARKS), PYTHON])
def test_a_topic_that_nobody_made_is_made_by_its_first_message(
    clients: Clients,  # noqa: F811 -- the fixture
    place: Place,
    language: str,
) -> None:
    topic = f"Unmade-{language}"
    assert place.name_server.view.route(topic) is None
    assert "SENT 2/2" in clients.of(language).send(place.address, topic, 2)
    assert place.name_server.view.route(topic) is not None
