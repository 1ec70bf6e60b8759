"""What is open to whoever reaches the port."""

import pytest

from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.policy.exposure import exposure, is_local


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LocalHost"])
def test_only_this_host_reaches_loopback(address: str) -> None:
    assert is_local(address)
    assert exposure(NamesrvConfig(bind_address=address)).doors == ()


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "fe80::1%eth0", "broker.internal", ""])  # noqa: S104
def test_anything_else_may_be_reached(address: str) -> None:
    assert not is_local(address)
    assert len(exposure(NamesrvConfig(bind_address=address)).doors) == 4
