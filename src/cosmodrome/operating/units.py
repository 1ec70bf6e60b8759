"""Units of systemd for both servers.

Owns: every line of them.
Must not know: what the servers do; where the text goes.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """What differs from one server to the other. The stop takes what the server itself allows, and some."""

    title: str
    command: str
    state: str
    settings: str
    environment: str
    stop_s: int
    stop_reason: str


_KINDS: Final = {
    "namesrv": _Kind(
        title="Cosmodrome NameServer for Apache RocketMQ",
        command="{program} namesrv{file}",
        state="cosmodrome",
        settings="one COSMODROME_LISTEN_PORT=9876 a line, or -c FILE in ExecStart.",
        environment="Environment=COSMODROME_DATA_DIR=/var/lib/cosmodrome\n",
        stop_s=60,
        stop_reason="shutdownWaitTimeSeconds (30 s with enableShutdownGracefully) and 5 s for requests in work, and some.",
    ),
    "broker": _Kind(
        title="Cosmodrome broker for Apache RocketMQ",
        command="{program} broker{file} --set storePathRootDir=/var/lib/cosmodrome-broker",
        state="cosmodrome-broker",
        settings="NAMESRV_ADDR=10.0.0.1:9876;10.0.0.2:9876, or -c FILE in ExecStart (Apache's broker.conf).",
        environment="",
        stop_s=120,
        stop_reason="Answers, slaves that follow, and everything on disk.",
    ),
}
KINDS: Final = tuple(_KINDS)
_HIDDEN: Final = {
    "/home": "ProtectHome",
    "/root": "ProtectHome",
    "/run/user": "ProtectHome",
    "/tmp": "PrivateTmp",  # noqa: S108 -- compared, not used
    "/var/tmp": "PrivateTmp",  # noqa: S108 -- the same
}
"""Folders that the units do not see, and why."""

_UNIT: Final = """\
# {title} as a service of systemd. Install this file to
# /etc/systemd/system/{name}.service, and then: systemctl enable --now {name}
[Unit]
Description={title}
After=network-online.target
Wants=network-online.target
# A configuration that cannot be used is not tried for ever.
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=notify
{warnings}ExecStart={command}
# Settings: {settings}
EnvironmentFile=-/etc/cosmodrome/{kind}.env
{environment}Environment=COSMODROME_LOG_FORMAT=json

# SIGHUP reads the configuration again; the answer is a line in the journal.
ExecReload=/bin/kill -HUP $MAINPID
KillSignal=SIGTERM
# {stop_reason}
TimeoutStopSec={stop_s}
TimeoutStartSec={start_s}
# A loop that stands still for a minute is no server. Stalls of 10 s must be, and are, survived.
WatchdogSec=60

Restart=always
RestartSec=1
# Wrong usage, unreadable data, denied, bad configuration: starting again changes nothing.
RestartPreventExitStatus=2 65 77 78

DynamicUser=yes
StateDirectory={state}
StateDirectoryMode=0700
UMask=0077
# One descriptor for each connection; the server raises its soft limit to this.
LimitNOFILE=65536

# It needs the network, its folder and nothing else.
CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProcSubset=pid
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""


def hidden(paths: Iterable[str]) -> list[str]:
    """Say of each path that a unit would not see, why; links are followed."""
    found = []
    for path in paths:
        ways = {os.path.normpath(path), os.path.realpath(path)}
        folder = next((each for each in _HIDDEN if any(way.startswith(f"{each}/") for way in ways)), None)
        if folder is not None:
            found.append(
                f"the service cannot see {path}: {_HIDDEN[folder]}=yes hides {folder}. Install it elsewhere, such as /opt."
            )
    return found


def unit(kind: str, program: str, file: str | None = None) -> str:
    """Give the unit of a server: `namesrv` or `broker`; `program` is the path of `cosmodrome`, `file` its configuration.

    Raises:
        ValueError: A path cannot stand in a unit.
    """
    for path in (program, file or ""):
        if any(char.isspace() or char in "\"'\\%$;" or not char.isprintable() for char in path):
            raise ValueError(f"{path!r} cannot stand in a unit as it is")
    found = _KINDS[kind]
    command = found.command.format(program=program, file=f" -c {file}" if file else "")
    return _UNIT.format(
        warnings="".join(f"# WARNING: {each}\n" for each in hidden([program, *([file] if file else [])])),
        title=found.title,
        name=f"cosmodrome-{kind}",
        kind=kind,
        command=command,
        settings=found.settings,
        environment=found.environment,
        stop_reason=found.stop_reason,
        stop_s=found.stop_s,
        start_s=60 if kind == "namesrv" else 600,
        state=found.state,
    )
