"""What is open to whoever reaches the port."""

import ipaddress
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cosmodrome.namesrv import properties
from cosmodrome.namesrv.config import NamesrvConfig, parse_values
from cosmodrome.namesrv.config_keys import AdminPolicy
from cosmodrome.namesrv.policy.exposure import exposure, is_local
from cosmodrome.namesrv.policy.networks import Networks, are_everybody, is_from
from cosmodrome.transport.dispatch import Peer


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LocalHost"])
def test_only_this_host_reaches_loopback(address: str) -> None:
    assert is_local(address)
    assert exposure(NamesrvConfig(bind_address=address)).doors == ()


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "fe80::1%eth0", "broker.internal", ""])  # noqa: S104
def test_anything_else_may_be_reached(address: str) -> None:
    assert not is_local(address)
    assert len(exposure(NamesrvConfig(bind_address=address)).doors) == 4


def test_the_settings_that_the_manual_shows_let_the_health_check_in() -> None:
    """It asks for a listing on loopback, and adminAllow replaces the default. They are read as a file is."""
    manual = (Path(__file__).resolve().parents[4] / "docs" / "policy.md").read_text(encoding="utf-8")
    example = textwrap.dedent(re.findall(r"(?:^    .*\n)+", manual, re.MULTILINE)[0])
    values, reasons = parse_values(properties.last_values(properties.parse(example)))

    assert reasons == {}
    allowed: Any = values["adminAllow"]
    assert is_from(Peer(1, "127.0.0.1:5", "127.0.0.1:5"), allowed)
    assert not are_everybody(allowed)
    assert values["adminPolicy"] is AdminPolicy.HARDENED


def networks(*texts: str) -> Networks:
    return tuple(ipaddress.ip_network(text) for text in texts)


NEAR = networks("10.0.0.0/8")
EVERYBODY = (networks("0.0.0.0/0"), networks("::/0"), networks("10.0.0.0/8", "0.0.0.0/1", "128.0.0.0/1"))


@pytest.mark.parametrize("everybody", EVERYBODY)
def test_a_list_of_everybody_shuts_nothing(everybody: Networks) -> None:
    def doors(**more: Any) -> str:
        shut: dict[str, Any] = {"admin_policy": AdminPolicy.HARDENED, "admin_allow": NEAR, "broker_allow": NEAR}
        config = NamesrvConfig(bind_address="10.0.0.1", tls_server_mode="enforcing", **(shut | more))
        return "; ".join(exposure(config).doors)

    assert doors() == ""
    for policy in AdminPolicy:
        assert {"318", "217", "listings"} <= set(re.findall(r"\w+", doors(admin_policy=policy, admin_allow=everybody)))
    assert "318" not in doors(admin_policy=AdminPolicy.COMPATIBLE)
    assert "103" in doors(broker_allow=everybody)
    assert "106" in doors(broker_allow=everybody)
    assert doors(broker_allow=everybody, broker_auth=True) == ""
