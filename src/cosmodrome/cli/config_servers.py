"""`cosmodrome config show` and `config set` of servers that run.

Owns: asking them, and how their answers add up.
Must not know: layouts (config_form.py); the grammar (config.py).
"""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cosmodrome.admin.brokers import Brokers
from cosmodrome.admin.credentials import chosen_keys
from cosmodrome.admin.name_servers import Access, NameServers, conclude
from cosmodrome.admin.namesrv_config import changed_config, with_key_advice
from cosmodrome.admin.output import Output
from cosmodrome.cli import config_form
from cosmodrome.cli.http_target import api_of
from cosmodrome.client.addresses import chosen_addresses, resolve
from cosmodrome.client.properties_text import properties_from, properties_text
from cosmodrome.configuring.changing import check_value, known_key
from cosmodrome.configuring.described import Program, broker_keys, namesrv_keys
from cosmodrome.configuring.java_broker_keys import JAVA_BROKER_KEYS
from cosmodrome.configuring.servers import settings_over_http
from cosmodrome.errors import AdminError
from cosmodrome.namesrv.config_keys import KEYS_WITHOUT_FIELD
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.shown_text import shown
from cosmodrome.transport.channel import Links
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.tls import TlsFiles, client_context

_DEFAULT: Final = "default"
_SET: Final = "set"
"""Where a value comes from, as far as 319 and 26 tell: its default, or something else."""


def show_over_http(output: Output, given: str, timeout_s: float) -> int:
    """Show the settings of one NameServer by its JSON API, which knows their sources."""
    items = settings_over_http(api_of(given, None, timeout_s))
    rows = [(item["key"], item["value"], item.get("source", "")) for item in items]
    config_form.table(output, [("#Key", "#Value", "#Source"), *rows])
    for item in items:
        output.row(item)
    output.end("settings", server=given)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which servers are asked, and how: the flags of the commands. With `broker_addr` it is that broker alone."""

    namesrv_addr: str | None
    broker_addr: str | None
    timeout_s: float
    tls: bool
    tls_trust: str | None
    credentials: str | None


def show_of_servers(output: Output, target: Target) -> int:
    """Show the settings of NameServers by request 319, or of a broker by 26; Apache's answer these, too."""
    address = target.broker_addr
    if address is not None:
        return _run(target, lambda servers: _show_broker(output, servers, address))
    return _run(target, lambda servers: _show(output, servers))


def set_on_servers(output: Output, target: Target, key: str, value: str) -> int:
    """Change one setting of NameServers by request 318, or of a broker by 25.

    Raises:
        MissingError: There is no such key.
        ConfigError: The value is none of it; nobody was asked.
    """
    address = target.broker_addr
    if address is not None:
        if key not in JAVA_BROKER_KEYS:
            known_key(Program.BROKER, key)
        return _run(target, lambda servers: _set_broker(output, servers, address, {key: value}))
    if key not in KEYS_WITHOUT_FIELD:
        check_value(known_key(Program.NAMESRV, key), value)
    return _run(target, lambda servers: _set(output, servers, key, value))


def _run(target: Target, action: Callable[[NameServers], Awaitable[int]]) -> int:
    keys = chosen_keys(target.credentials, os.environ)
    is_encrypted = target.tls or target.tls_trust is not None
    return asyncio.run(_with_servers(target, Access(tls=is_encrypted, tls_trust=target.tls_trust, keys=keys), action))


async def _with_servers(target: Target, access: Access, action: Callable[[NameServers], Awaitable[int]]) -> int:
    servers = await resolve(chosen_addresses(target.namesrv_addr, os.environ), target.timeout_s)
    remoting = RemotingClient(tls=_tls_maker(access) if access.tls else None, links=Links(prepare=access.sign()))
    try:
        return await action(NameServers(remoting, servers, target.timeout_s, access))
    finally:
        await remoting.close()


async def _show_broker(output: Output, servers: NameServers, address: str) -> int:
    brokers = Brokers(servers, output)
    answer = await brokers.one(address, brokers.ask(address, BrokerRequestCode.GET_BROKER_CONFIG))
    values = properties_from(answer.body.decode("utf-8", "replace"))
    defaults = {name: key.default for name, key in broker_keys().items()}
    rows = [(key, value, _source(value, defaults.get(key))) for key, value in values.items()]
    config_form.table(output, [("#Key", "#Value", "#Source"), *rows])
    for key, value, source in rows:
        output.row({"key": key, "value": value, "source": source})
    output.end("settings", broker=address)
    return 0


async def _set_broker(output: Output, servers: NameServers, address: str, values: Mapping[str, str]) -> int:
    body = properties_text(values).encode()
    brokers = Brokers(servers, output)
    asked = brokers.ask(address, BrokerRequestCode.UPDATE_BROKER_CONFIG, None, body)
    try:
        answer = await brokers.one(address, asked)
    except AdminError as error:
        raise with_key_advice(error, next(iter(values))) from error.__cause__
    for key, value in values.items():
        output.text(shown(f"{address}: {key}={value}: {answer.remark or 'in force'}"))
        output.document({"address": address, "key": key, "value": value, "remark": answer.remark})
    return 0


def _source(value: str, default: str | None) -> str:
    return _DEFAULT if value == default else _SET


def _tls_maker(access: Access) -> Callable[[], ssl.SSLContext]:
    verify = ssl.CERT_REQUIRED if access.tls_trust else ssl.CERT_NONE
    context = client_context(TlsFiles(trust_path=access.tls_trust, verify=verify))
    return lambda: context


async def _show(output: Output, servers: NameServers) -> int:
    defaults = {name: key.default for name, key in namesrv_keys().items()}
    outcomes = await servers.each(lambda server: server.get_config())
    for outcome in outcomes:
        if outcome.value is not None:
            rows = [(key, value, _source(value, defaults.get(key))) for key, value in outcome.value.items()]
            output.text(*([f"#{outcome.address}"] if len(outcomes) > 1 else []))
            config_form.table(output, [("#Key", "#Value", "#Source"), *rows])
        output.row(outcome.row(settings=outcome.value))
    output.end("servers")
    return conclude(output, outcomes)


async def _set(output: Output, servers: NameServers, key: str, value: str) -> int:
    outcomes = await changed_config(servers, key, value)
    for outcome in outcomes:
        said = outcome.value or "in force"
        line = [shown(f"{outcome.address}: {key}={value}: {said}")] if outcome.error is None else []
        output.row(outcome.row(remark=outcome.value), *line)
    output.end("servers", key=key, value=value)
    return conclude(output, outcomes)
