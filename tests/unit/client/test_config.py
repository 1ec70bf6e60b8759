"""What producers and consumers have in common to be set."""

from typing import Any, get_type_hints

import pytest

from cosmodrome.client.config import ClientConfig, ClientOptions
from cosmodrome.client.producer.settings import ProducerOptions, ProducerSettings
from cosmodrome.errors import ConfigError, TlsError
from cosmodrome.transport.tls import TlsFiles

NAMESRV = "127.0.0.1:9876"


def test_addresses_as_one_text_or_several() -> None:
    for given in ("a:1;b:2", "a:1,b:2", " a:1\nb:2 ", ["a:1", "b:2"], ("a:1", "b:2")):
        assert [str(each) for each in ClientConfig(namesrv=given).name_servers] == ["a:1", "b:2"]


@pytest.mark.parametrize("value", ["name", "", "1.2.3", 5])
def test_the_own_address_is_an_ip(value: Any) -> None:
    with pytest.raises(ConfigError, match="client_ip"):
        ClientConfig(namesrv=NAMESRV, client_ip=value)
    assert ClientConfig(namesrv=NAMESRV, client_ip="fe80::1%eth0").client_ip == "fe80::1%eth0"


def test_the_environment_is_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "c:3")
    assert [str(each) for each in ClientConfig().name_servers] == ["c:3"]
    assert [str(each) for each in ClientConfig(namesrv="a:1").name_servers] == ["a:1"]
    monkeypatch.setenv("NAMESRV_ADDR", "c:x")
    with pytest.raises(ConfigError, match=r"\$NAMESRV_ADDR"):
        ClientConfig()


@pytest.mark.parametrize("name", [name for name in get_type_hints(ClientOptions) if name.endswith("_s")])
@pytest.mark.parametrize("value", [0, -1, "3", None, True, float("nan")])
def test_times_are_numbers_above_zero(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        ClientConfig(**{"namesrv": NAMESRV, name: value})


@pytest.mark.parametrize(("settings", "options"), [(ClientConfig, ClientOptions), (ProducerSettings, ProducerOptions)])
def test_the_keywords_are_the_settings(settings: Any, options: Any) -> None:
    """And mean the same types; a group is no keyword."""
    expected = get_type_hints(settings)
    expected.pop("group", None)
    assert get_type_hints(options) == expected


def test_an_unknown_setting_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="unknown setting name_srv") as caught:
        ClientConfig.made_of({"name_srv": NAMESRV})
    assert "namesrv" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("name", "wrapped"),
    [
        ("T", "NS%T"),
        ("NS%T", "NS%T"),
        ("%RETRY%g", "%RETRY%NS%g"),
        ("%DLQ%NS%g", "%DLQ%NS%g"),
        ("TBW102", "TBW102"),
        ("rmq_sys_x", "rmq_sys_x"),
        ("CID_RMQ_SYS_TRANS", "CID_RMQ_SYS_TRANS"),
    ],
)
def test_names_in_a_namespace(name: str, wrapped: str) -> None:
    config = ClientConfig(namesrv=NAMESRV, namespace="NS")
    assert config.wrap(name) == wrapped
    assert config.unwrap(wrapped) == config.unwrap(name)
    assert "NS%" not in config.unwrap(wrapped)
    assert ClientConfig(namesrv=NAMESRV).wrap(name) == name
    assert ClientConfig(namesrv=NAMESRV).unwrap(wrapped) == wrapped


def test_tls() -> None:
    assert ClientConfig(namesrv=NAMESRV).tls_maker() is None
    trusting = ClientConfig(namesrv=NAMESRV, tls=True).tls_maker()
    assert trusting is not None
    assert trusting().check_hostname is False
    with pytest.raises(TlsError):
        ClientConfig(namesrv=NAMESRV, tls=TlsFiles(cert_path="/nowhere")).tls_maker()
