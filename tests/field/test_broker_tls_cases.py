"""TLS at our broker's ports, and what it signs at NameServers that ask for it."""

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.broker_calls import Caller
from tests.support.callers import write_accounts
from tests.support.certificates import Pair, make_pair

from cosmodrome import Broker, NameServer
from cosmodrome.errors import BindError, ConfigError, TlsError

SECRET: Final = "the secret of brokers"  # noqa: S105


async def served_serial(address: str, context: ssl.SSLContext) -> int:
    """Give the number of the certificate that an address shows to who believes in `context`."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    del reader
    shown = writer.get_extra_info("peercert")
    writer.close()
    await writer.wait_closed()
    return int(shown["serialNumber"], 16)


def settings_of(pair: Pair, mode: str) -> dict[str, Any]:
    """Give the settings of a broker with a certificate."""
    return {
        "tls_server_mode": mode,
        "tls_test_mode_enable": False,
        "tls_server_cert_path": str(pair.cert),
        "tls_server_key_path": str(pair.key),
    }


async def test_a_certificate_is_shown_on_both_ports_and_a_renewed_one_is_used(tmp_path: Path) -> None:
    pair = make_pair(tmp_path)
    async with Broker(ha_listen_port=0, **settings_of(pair, "enforcing")) as broker:
        host, _, port = broker.address.rpartition(":")
        first = await served_serial(broker.address, pair.client_context())
        assert await served_serial(f"{host}:{int(port) - 2}", pair.client_context()) == first
        renewed = make_pair(tmp_path)
        broker.look_at_files()
        assert await served_serial(broker.address, renewed.client_context()) != first


async def test_enforcing_lets_nobody_in_who_speaks_plain(tmp_path: Path) -> None:
    async with Broker(**settings_of(make_pair(tmp_path), "enforcing")) as broker:
        host, _, port = broker.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        header = json.dumps({"code": 26, "opaque": 1, "flag": 0, "version": 479}).encode()
        writer.write((4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header)
        assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()


async def test_permissive_serves_both(tmp_path: Path) -> None:
    pair = make_pair(tmp_path)
    async with Broker(**settings_of(pair, "permissive")) as broker, Caller(broker.address) as caller:
        await caller.ok(26)
        assert await served_serial(broker.address, pair.client_context())


async def test_a_certificate_that_cannot_be_used_is_told_at_the_start(tmp_path: Path) -> None:
    pair = make_pair(tmp_path)
    pair.key.write_text("no key", encoding="utf-8")
    with pytest.raises(TlsError):
        await Broker(**settings_of(pair, "enforcing")).start()


async def test_a_tls_file_comes_before_other_settings(tmp_path: Path) -> None:
    pair = make_pair(tmp_path)
    file = tmp_path / "tls.properties"
    file.write_text(
        f"tls.test.mode.enable=false\ntls.server.certPath={pair.cert}\ntls.server.keyPath={pair.key}\n", "utf-8"
    )
    async with Broker(tls_server_mode="enforcing", tls_config_file=str(file)) as broker:
        assert await served_serial(broker.address, pair.client_context())
    file.write_text("tls.server.authClient=perhaps\n", "utf-8")
    with pytest.raises(ConfigError, match=r"tls\.server\.authClient"):
        await Broker(tls_config_file=str(file)).start()


async def test_a_second_port_that_is_taken_is_told(tmp_path: Path) -> None:
    async with Broker(ha_listen_port=0, store=tmp_path / "a") as broker:
        port = int(broker.address.rpartition(":")[2])
        with pytest.raises(BindError) as caught:
            await Broker(port=port + 2, ha_listen_port=0, store=tmp_path / "b").start()
        assert str(port) in caught.value.what


@pytest.mark.parametrize(("secret", "is_taken"), [(SECRET, True), ("guess of a secret", False), ("", False)])
async def test_it_signs_at_a_name_server_that_asks_for_it(tmp_path: Path, secret: str, is_taken: bool) -> None:  # noqa: FBT001 -- a column
    accounts = write_accounts(
        tmp_path / "accounts.toml", [{"accessKey": "brokers", "secretKey": SECRET, "role": "broker"}]
    )
    own = json.dumps({"accessKey": "brokers", "secretKey": secret}) if secret else ""
    async with (
        NameServer(port=0, broker_auth=True, acl_file=str(accounts), admin_allow="192.0.2.0/24") as server,
        Broker(namesrv=server.address, inner_client_authentication_credentials=own) as broker,
        Caller(server.address) as asker,
        Caller(broker.address) as caller,
    ):
        await caller.send("T")
        found = (await asker.ask(105, {"topic": "BenchmarkTest"})).code
        assert (found == 0) is is_taken
