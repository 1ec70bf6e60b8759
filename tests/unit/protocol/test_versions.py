"""Version ordinals."""

import pytest

from cosmodrome.protocol import versions
from cosmodrome.protocol.versions import clamp_version


@pytest.mark.parametrize(
    ("version", "counts_as"), [(0, 0), (36, 36), (513, 513), (612, 612), (613, 612), (2**31 - 1, 612)]
)
def test_what_is_newer_than_all_we_know_is_the_newest(version: int, counts_as: int) -> None:
    assert clamp_version(version) == counts_as


def test_a_negative_ordinal_is_none() -> None:
    with pytest.raises(ValueError, match="version -1 is negative"):
        clamp_version(-1)


def test_the_ordinals_are_those_of_the_releases() -> None:
    """MQVersion at the release tags; an odd number is a release, the one below its snapshot."""
    assert (versions.V3_0_11, versions.V4_9_4, versions.V5_0_0, versions.V5_3_1, versions.V5_5_0) == (
        37, 401, 413, 475, 513,
    )  # fmt: skip
    assert versions.SERVER_VERSION == versions.V5_5_0
