"""Which answers are worth another try."""

import pytest

from cosmodrome.client.producer.retry import ACCEPTED, PASSING, is_passing


def test_the_lists() -> None:
    assert set(map(int, ACCEPTED)) == {0, 10, 11, 12}
    assert set(map(int, PASSING)) == {1, 2, 14, 16, 17, 204, 205, 1500}


@pytest.mark.parametrize("code", [1, 2, 14, 16, 17, 204, 205, 1500])
def test_codes_that_pass(code: int) -> None:
    assert is_passing(code, "some words")
    assert is_passing(code, None)


@pytest.mark.parametrize("code", [3, 13, 15, 18, 29, 215, 501, 999])
def test_codes_that_are_final(code: int) -> None:
    assert not is_passing(code, "some words")


@pytest.mark.parametrize(
    ("code", "remark"),
    [
        (1, "org.apache.rocketmq.acl.common.AclException: x"),
        (16, "check signature failed."),
        (16, "User:x is disabled."),
    ],
)
def test_credentials_do_not_get_better(code: int, remark: str) -> None:
    assert not is_passing(code, remark)


def test_a_name_in_a_remark_is_no_refusal_of_credentials() -> None:
    assert is_passing(16, "Sending message to topic[User:x] is forbidden.")
    assert is_passing(1, "User:x")
