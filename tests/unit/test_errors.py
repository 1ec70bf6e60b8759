"""Errors that people are shown."""

import pytest
from scripts.reference.errors import by_id

from cosmodrome.errors import OperatorError


@pytest.mark.parametrize("kind", list(by_id()), ids=lambda kind: kind.ERROR_ID)
def test_every_id_has_its_meaning_advice_and_exit_code(kind: type[OperatorError]) -> None:
    assert kind.ERROR_ID.startswith("NS-")
    assert kind.__doc__
    assert kind.ADVICE.endswith(".")
    assert kind.exit_code in {1, 2, 65, 66, 69, 70, 71, 75, 77, 78}
    assert "ADVICE" in vars(kind), "that of another id does not do"


def test_ids_are_of_one_class_each() -> None:
    ids = [kind.ERROR_ID for kind in by_id()]

    assert len(set(ids)) == len(ids)
