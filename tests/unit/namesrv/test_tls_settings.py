"""TLS as the Java keys describe it."""

import ssl
from pathlib import Path

import pytest
from tests.support.certificates import Pair, make_pair

from cosmodrome.errors import ConfigError, TlsError
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.tls_settings import ServerTls, client_tls, with_tls_config_file
from cosmodrome.transport.entrance import TlsMode


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return make_pair(tmp_path)


def config(pair: Pair, **fields: object) -> NamesrvConfig:
    values: dict[str, object] = {
        "tls_test_mode_enable": False,
        "tls_server_cert_path": str(pair.cert),
        "tls_server_key_path": str(pair.key),
        "tls_config_file": "/nowhere",
        **fields,
    }
    return NamesrvConfig(**values)  # type: ignore[arg-type]  # a table of fields


def verify_mode(settings: NamesrvConfig) -> ssl.VerifyMode:
    context = ServerTls(settings).policy.context()
    assert context is not None
    return context.verify_mode


def test_files_make_a_context_that_is_watched(pair: Pair) -> None:
    tls = ServerTls(config(pair))

    assert tls.has_files
    assert tls.policy.tls_mode is TlsMode.PERMISSIVE
    assert tls.policy.context() is not None


def test_disabled_needs_nothing() -> None:
    tls = ServerTls(NamesrvConfig(tls_server_mode="disabled", tls_test_mode_enable=False))

    assert not tls.has_files
    assert tls.policy.context() is None


def test_the_test_mode_makes_a_certificate_for_the_first_that_asks() -> None:
    tls = ServerTls(NamesrvConfig())

    first = tls.policy.context()
    assert first is not None
    assert tls.policy.context() is first
    tls.refresh()
    assert ServerTls(NamesrvConfig(tls_server_mode="enforcing")).policy.context() is not None


def test_without_test_mode_a_certificate_is_needed() -> None:
    with pytest.raises(TlsError, match="TLS is on without a certificate"):
        ServerTls(NamesrvConfig(tls_test_mode_enable=False, tls_config_file="/nowhere"))


@pytest.mark.parametrize(
    ("wanted", "checks", "mode"),
    [
        ("none", False, ssl.CERT_NONE),
        ("none", True, ssl.CERT_NONE),
        ("optional", False, ssl.CERT_NONE),
        ("optional", True, ssl.CERT_OPTIONAL),
        ("require", True, ssl.CERT_REQUIRED),
    ],
)
def test_what_clients_must_show(pair: Pair, wanted: str, checks: bool, mode: ssl.VerifyMode) -> None:  # noqa: FBT001 # a table
    settings = config(
        pair,
        tls_server_need_client_auth=wanted,
        tls_server_auth_client=checks,
        tls_server_trust_cert_path=str(pair.trust),
    )

    assert verify_mode(settings) is mode


def test_a_certificate_that_is_required_and_not_checked_is_refused(pair: Pair) -> None:
    with pytest.raises(TlsError, match=r"needs tls\.server\.authClient=true"):
        ServerTls(config(pair, tls_server_need_client_auth="require"))


def test_the_tls_file_wins_but_for_three_keys(pair: Pair, tmp_path: Path) -> None:
    file = tmp_path / "tls.properties"
    file.write_text(
        f"tls.test.mode.enable=false\ntls.server.certPath={pair.cert}\ntls.server.keyPath={pair.key}\n"
        "tls.server.mode=enforcing\ntls.enable=true\nlistenPort=1\ntls.client.certPath=\n"
    )
    settings = with_tls_config_file(NamesrvConfig(tls_config_file=str(file)))

    assert settings.tls_server_cert_path == str(pair.cert)
    assert not settings.tls_test_mode_enable
    assert (settings.tls_server_mode, settings.tls_enable, settings.listen_port) == ("permissive", False, 9876)
    assert settings.tls_client_cert_path is None


def test_a_bad_value_in_the_tls_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tls.properties"
    file.write_text("tls.test.mode.enable=perhaps\n")

    with pytest.raises(ConfigError, match=r"tls\.test\.mode\.enable must be true or false"):
        with_tls_config_file(NamesrvConfig(tls_config_file=str(file)))


def test_connections_that_we_open_are_plain_unless_switched_on(pair: Pair) -> None:
    assert client_tls(NamesrvConfig()) is None

    trusting = client_tls(NamesrvConfig(tls_enable=True))
    checking = client_tls(
        config(pair, tls_enable=True, tls_client_auth_server=True, tls_client_trust_cert_path=str(pair.trust))
    )

    assert trusting is not None
    assert trusting().verify_mode is ssl.CERT_NONE
    assert checking is not None
    assert checking().verify_mode is ssl.CERT_REQUIRED


def test_files_that_go_bad_are_logged_and_change_nothing(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    tls = ServerTls(config(pair))
    before = tls.policy.context()
    pair.key.write_text("half")

    tls.refresh()
    assert tls.policy.context() is before
    assert "cannot be used, the old ones stay in use" in caplog.text


def test_a_renewed_pair_is_used(pair: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    tls = ServerTls(config(pair))
    before = tls.policy.context()
    (tmp_path / "new").mkdir()
    new = make_pair(tmp_path / "new")
    pair.key.write_bytes(new.key.read_bytes())
    pair.cert.write_bytes(new.cert.read_bytes())

    tls.refresh()
    assert tls.policy.context() is not before
    assert "were replaced" in caplog.text
