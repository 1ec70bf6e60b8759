"""What a person sees when the server has started.

Owns: the words of the banner, and which address of this host a broker should use.
Must not know: how the server works.
"""

import contextlib
import ipaddress
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.config_file import LoadedConfig
from cosmodrome.namesrv.config_keys import AdminPolicy, Network
from cosmodrome.namesrv.policy.exposure import exposure

# For documentation only, so nobody is there; nothing is sent to it either.
_ELSEWHERE: Final = {socket.AF_INET: ("192.0.2.1", 9), socket.AF_INET6: ("2001:db8::1", 9)}
_LOOPBACK: Final = "127.0.0.1"
_COMMAND: Final = "cosmodrome"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What is known when the server has started. Addresses are as bound, `took_s` is how long it took.

    `no_http` is why the default address for HTTP could not be had, if so.
    """

    loaded: LoadedConfig
    address: str
    took_s: float
    http_address: str = ""
    no_http: str = ""


def banner(start: Start, host: str) -> str:
    """Give the lines below the boot line; `host` is this host's address as others see it."""
    config = start.loaded.config
    peers = peer_address(start.address, host)
    source = str(start.loaded.path or "built-in defaults")
    hint = "" if start.loaded.path else "write one: cosmodrome config init; "
    lines = [
        f"  remoting   {start.address:<22} brokers and clients: namesrvAddr={peers}",
        f"  http       {_http(start)}",
        f"  config     {source:<22} ({hint}changes made at run time go to {start.loaded.store.path})",
        f"  data       {config.data_dir} (KV: {config.kv_config_path})",
        f"  log        {_log(config)}",
        f"  changes    {_policy(config)}",
        f"  brokers    {_brokers(config)}",
    ]
    exposed = exposure(config)
    if exposed.doors:
        lines += [
            f"  WARNING    open to whoever reaches this port: {'; '.join(exposed.doors)}",
            f"             {exposed.remedy}",
        ]
    if config.shadow is not None:
        lines.append(f"  shadow     {config.shadow:<22} reads go there too, differing answers are reported")
    if config.need_wait_for_service:
        lines.append(f"  routes     refused for {config.wait_seconds_for_service} s (needWaitForService=true)")
    lines.append(
        f"Ready in {start.took_s:.2f} s. Waiting for brokers. "
        f"Try: {_own_command()} admin clusterList -n {peers}   or   start an Apache broker: mqbroker -n {peers}"
    )
    return "\n".join(lines)


def _http(start: Start) -> str:
    if start.http_address:
        return f"{f'http://{start.http_address}':<22} /metrics, /readyz, /api/v1"
    if start.no_http:
        return f"off: {start.no_http.rstrip('.')} (another address: --http 127.0.0.1:PORT)"
    return "off                    (probes, metrics, JSON API: --http 127.0.0.1:19876)"


def _own_command() -> str:
    """Give the command as a person in this folder can type it: `./run` has it on its own path only."""
    called = Path(sys.argv[0])
    if called.name == _COMMAND:
        with contextlib.suppress(ValueError, OSError):
            return str(called.relative_to(Path.cwd()))
    return _COMMAND


def peer_address(bound: str, host: str) -> str:
    """Give the address that a broker should use for a server bound to `bound`."""
    name, _, port = bound.rpartition(":")
    try:
        is_everywhere = ipaddress.ip_address(name.strip("[]")).is_unspecified
    except ValueError:
        is_everywhere = False
    return f"{host}:{port}" if is_everywhere else bound


def own_address() -> str:
    """Give the address of this host that others most likely reach it by; nothing is sent and no name looked up."""
    for family, elsewhere in _ELSEWHERE.items():
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(elsewhere)
            host = str(probe.getsockname()[0])
            return f"[{host}]" if ":" in host else host
    return _LOOPBACK


def _log(config: NamesrvConfig) -> str:
    if not config.log_file:
        return "standard error         (to a file: --set logFile=FILE)"
    files = config.log_file_backups + 1
    return f"{config.log_file:<22} (at most {files} files of {config.log_file_max_bytes} bytes)"


def _policy(config: NamesrvConfig) -> str:
    where = _places(config.admin_allow)
    kept = "audited" if config.is_audited else "logged"
    signed = " or signed" if config.acl_file else ""
    what = {
        AdminPolicy.COMPATIBLE: f"config from {where}{signed}, the rest as in Java, all {kept}",
        AdminPolicy.HARDENED: f"all from {where}{signed}, listings too, all {kept}",
        AdminPolicy.OPEN: f"from anyone, as in Java, all {kept}",
    }
    return f"{what[config.admin_policy]} (adminPolicy={config.admin_policy})"


def _brokers(config: NamesrvConfig) -> str:
    where = _places(config.broker_allow) if config.broker_allow else "anywhere"
    how = ", signed" if config.broker_auth else ""
    tls = ", by TLS only" if config.tls_server_mode == "enforcing" else ""
    return f"from {where}{how}{tls}"


def _places(networks: tuple[Network, ...]) -> str:
    if not networks:
        return "nowhere"
    if all(network.is_loopback for network in networks):
        return "loopback only"
    return f"{', '.join(map(str, networks))} only"
