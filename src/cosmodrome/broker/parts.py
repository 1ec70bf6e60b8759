"""The parts of a running broker that families of requests and background services share.

Owns: building them, each once, and what they tell each other.
Must not know: requests; timers; the order of a start or a stop (running.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from cosmodrome.broker.arrivals import DELAY
from cosmodrome.broker.cleaning import Cleaner, CleaningParts
from cosmodrome.broker.clock import Clock
from cosmodrome.broker.cold_reads import ColdReads
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.delivery import DelayedDelivery
from cosmodrome.broker.disk_watch import DiskWatch
from cosmodrome.broker.half_messages import HalfStore, TransactionChecks
from cosmodrome.broker.live_config import LiveConfig
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.pop.service import PopParts, PopService
from cosmodrome.broker.replication.master import ReplicationMaster, StoreLog
from cosmodrome.broker.replication.ports import HA_ABOVE
from cosmodrome.broker.replication.settings import ReplicationSettings
from cosmodrome.broker.security.auth_file import inner_credentials
from cosmodrome.broker.state import BrokerState
from cosmodrome.broker.syncing import Syncing
from cosmodrome.broker.timer_service import TimerService
from cosmodrome.broker.turn import Turn
from cosmodrome.client.credentials import Credentials
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.messages.hosts import Host
from cosmodrome.store.message_store import MessageStore
from cosmodrome.transport.channel import Links
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.server import RemotingServer
from cosmodrome.transport.server_tls import client_tls_of

_MAX_PORT: Final = 65_535


class Given(NamedTuple):
    """What there is before a broker runs."""

    state: BrokerState
    store: MessageStore
    server: RemotingServer
    clock: Clock


class Hooks(NamedTuple):
    """What parts ask of the broker that they are of: to send to a connection, to know of a lost NameServer, to keep a table."""

    send: Callable[[int, RemotingCommand], bool]
    name_server_lost: Callable[[str], None]
    keep: Callable[[str], Awaitable[None]]


class Parts:
    """Everything that is shared. The attributes do not change from the start to the stop."""

    def __init__(self, config: BrokerConfig, given: Given, hooks: Hooks) -> None:
        """Build it, on the event loop that runs."""
        state, store, server, clock = given
        self.state, self.store, self.server, self.clock = given
        self.keep = hooks.keep
        self.address = str(Host(config.broker_ip1, config.listen_port))
        self.live = LiveConfig(config, clock.wall_ms())
        self.turn = Turn(store, asyncio.get_running_loop().call_soon, clock.steady_ms)
        self.turn.times = state.statistics.times
        self.outbox = Outbox(hooks.send)
        self.cold = ColdReads(store.reader, server.dispatch, self.outbox)
        self.syncing = Syncing(store, self.turn)
        self.disk_timeout_ms = config.sync_flush_timeout if config.is_sync_flush else None
        host = store.settings.store_host
        self.halves = HalfStore(store.reader, self.turn, clock, host, self.disk_timeout_ms)
        self.checks = TransactionChecks(state.transactions, self.halves, state.members, state.topics, self.outbox)
        self.delivery = DelayedDelivery(state.delays, store.reader, self.turn, clock)
        self.delivery.on_delivered = lambda topic, size: state.statistics.arrivals.add(topic, DELAY, (size,))
        self.timers = TimerService(config, store, self.turn, clock, state.statistics)
        self.disk = DiskWatch(config.retention)
        self.cleaner = Cleaner(config.retention, CleaningParts(store, state.offsets, state.statistics, clock))
        self.replication = ReplicationMaster(StoreLog(store), ReplicationSettings.of(config), clock.steady_ms)
        self.turn.on_log_grew = self.replication.log_grew
        links = Links(on_closed=hooks.name_server_lost, prepare=_signing(config))
        self.client = RemotingClient(links=links, tls=client_tls_of(config))
        self.pop = self._pop_service(config)

    def _pop_service(self, config: BrokerConfig) -> PopService:
        state = self.state
        parts = PopParts(
            state=state.pop, topics=state.topics, groups=state.groups, offsets=state.offsets,
            statistics=state.statistics, reader=self.store.reader, turn=self.turn, outbox=self.outbox,
            cluster=config.broker_cluster_name, broker_name=config.broker_name,
            store_host=self.store.settings.store_host, disk_timeout_ms=self.disk_timeout_ms,
            remove_queues=self.remove_queues,
        )  # fmt: skip
        return PopService(parts, self.clock)

    def remove_queues(self, topic: str) -> int:
        """Remove the queues of a topic, when what was gathered of it is written; say how many there were."""
        self.turn.end()
        return self.store.remove_topic(topic)

    @property
    def ha_address(self) -> str:
        """Where slaves are told to connect; without a port for them, where Java would have one."""
        config = self.live.current
        port = self.replication.port or config.listen_port + HA_ABOVE
        return str(Host(config.broker_ip2 or config.broker_ip1, min(port, _MAX_PORT)))


def _signing(config: BrokerConfig) -> Callable[[RemotingCommand], RemotingCommand] | None:
    """Give what signs requests to NameServers; None when nothing does."""
    text = config.inner_client_authentication_credentials
    if not text:
        return None
    own = inner_credentials(text)
    return Credentials(own.access_key, own.secret_key, own.security_token).signed
