"""Everything that one group of tests has started.

Owns: where each program's folder is, and that all of them end with the group.
Must not know: what is tested.
"""

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.interop.rig.brokers import ApacheBroker, BrokerSettings
from tests.interop.rig.client_program import ClientProgram, MakeClient
from tests.interop.rig.clients import JavaClients
from tests.interop.rig.message_clients import MessageClients
from tests.interop.rig.mqadmin import MqAdmin
from tests.interop.rig.name_servers import ApacheNameServer, NameServer, OurNameServer

OURS: Final = "ours"


class Stage:
    """A context in which programs run; leaving it kills what is still alive, the last started first."""

    def __init__(self, folder: Path, name_server_kind: str) -> None:
        """Use subfolders of `folder`; the NameServer under test is ours, or of a named release."""
        self.folder = folder
        self.name_server_kind = name_server_kind
        self._endings: list[Callable[[], None]] = []
        self._folders = 0

    def __enter__(self) -> Self:
        """Return the stage itself, still empty."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill everything that was started."""
        while self._endings:
            self._endings.pop()()

    def name_server(self, config: Mapping[str, str] | None = None, tls: ssl.SSLContext | None = None) -> NameServer:
        """Start the NameServer under test; with `tls` the test asks it over TLS."""
        return self.started_name_server(self.name_server_kind, config, tls=tls)

    def started_name_server(
        self,
        kind: str,
        config: Mapping[str, str] | None = None,
        port: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> NameServer:
        """Start our NameServer (kind OURS), or Apache's of the release that `kind` names."""
        folder = self._folder_for("namesrv")
        server = (
            OurNameServer(folder, config, port, tls)
            if kind == OURS
            else ApacheNameServer(kind, folder, config, port, tls)
        )
        self._endings.append(server.kill)
        server.start()
        return server

    def broker(self, settings: BrokerSettings) -> ApacheBroker:
        """Return a broker that is not started yet."""
        broker = ApacheBroker(settings, self._folder_for(f"{settings.name}-{settings.id}"))
        self._endings.append(broker.kill)
        return broker

    def registered_broker(self, settings: BrokerSettings) -> ApacheBroker:
        """Start a broker and wait until its NameServer lists it."""
        broker = self.broker(settings)
        broker.start_registered()
        return broker

    def clients(self, release: str, properties: Mapping[str, str] | None = None) -> JavaClients:
        """Start the Java clients of a release, with more system properties if given."""
        clients = JavaClients(release, self._folder_for(f"clients-{release}"), properties)
        self._endings.append(clients.stop)
        clients.start()
        return clients

    def message_clients(self, release: str, properties: Mapping[str, str] | None = None) -> MessageClients:
        """Start the JVM for producers and consumers of every kind of a release, with more system properties if given."""
        clients = MessageClients(release, self._folder_for(f"messages-{release}"), properties)
        self._endings.append(clients.stop)
        clients.start()
        return clients

    def client_program(self, name: str, make: MakeClient) -> ClientProgram:
        """Return the client of another language; the stage ends what it starts."""
        client = make(self._folder_for(f"client-{name}"))
        self._endings.append(client.stop)
        return client

    def mqadmin(self, release: str, properties: Mapping[str, str] | None = None) -> MqAdmin:
        """Start mqadmin of a release, with more system properties if given."""
        admin = MqAdmin(release, self._folder_for(f"mqadmin-{release}"), properties)
        self._endings.append(admin.stop)
        admin.start()
        return admin

    def _folder_for(self, name: str) -> Path:
        self._folders += 1
        return self.folder / f"{self._folders}-{name}"
