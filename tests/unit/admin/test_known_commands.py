"""Names of mqadmin that are not here yet, and names of nobody."""

import re

import pytest

from cosmodrome.admin.known_commands import NOT_YET
from cosmodrome.cli.admin import COMMANDS, unknown_command
from cosmodrome.errors import UnavailableError, UsageError

IN_MQADMIN_5_5_0 = 96
ONLY_IN_4_9 = {"clusterAclConfigVersion", "updateAclConfig", "getAclConfig", "deleteAclConfig", "updateGlobalWhiteAddr"}
OURS = {each.name for each in COMMANDS if "(Not in mqadmin.)" in each.text}
HERE = tuple(each.name for each in COMMANDS)
NOT_REGISTERED = {"DecodeMessageId"}


def test_every_command_of_mqadmin_is_here_or_known() -> None:
    not_yet = {name for name, _ in NOT_YET.values()}
    here = set(HERE)

    assert not here & not_yet
    assert len((here - OURS - NOT_REGISTERED) | (not_yet - ONLY_IN_4_9 - NOT_REGISTERED)) == IN_MQADMIN_5_5_0


@pytest.mark.parametrize("key", sorted(NOT_YET))
def test_a_known_one_says_what_to_use_instead(key: str) -> None:
    name, family = NOT_YET[key]
    error = unknown_command(name.upper(), HERE, "mqadmin")

    assert isinstance(error, UnavailableError)
    assert error.exit_code == 69
    assert error.what == f"{name} is not available yet."
    for each in family.instead:
        assert re.split(r"[ (]", each)[0] in HERE
        assert each in (error.remedy or "")
    assert "mqadmin of Apache RocketMQ" in (error.remedy or "")


@pytest.mark.parametrize(
    ("name", "near"), [("topicRuote", "topicRoute"), ("updatTopic", "updateTopic"), ("xyzzy", None)]
)
def test_an_unknown_one_is_a_usage_error_with_the_nearest_name(name: str, near: str | None) -> None:
    error = unknown_command(name, HERE, "mqadmin")

    assert isinstance(error, UsageError)
    assert error.remedy is not None
    assert ("did you mean" in error.remedy) is (near is not None)
    assert (near or "") in error.remedy
    assert "mqadmin help lists them" in error.remedy
