"""The parts of the policy put together, for a server.

Owns: building, starting and closing them in order; when the accounts are looked at again.
Must not know: what any of them decides.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.audit import audit_log
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import Event, Publish, ServerExposed
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.policy.accounts import AccountFile
from cosmodrome.namesrv.policy.changes import Changes
from cosmodrome.namesrv.policy.exposure import exposure
from cosmodrome.namesrv.policy.gate import Auditing, Gate
from cosmodrome.namesrv.policy.rules import Rules, RuleSettings
from cosmodrome.namesrv.routing.reader import RouteReader
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.transport.dispatch import Processor

ACCOUNTS_WATCH_INTERVAL_S: Final = 1.0


class Admission:
    """Decides who may do what, and keeps the record of it. `publish` is told of everything that the server publishes."""

    def __init__(self, config: NamesrvConfig, publish: Publish) -> None:
        self._config = config
        self._publish_on = publish
        self._audit = audit_log(config, publish)
        self._accounts = AccountFile(config.acl_file, self.publish)
        self._watch: asyncio.TimerHandle | None = None
        self._gate: Gate | None = None

    @property
    def gate(self) -> Gate:
        """The gate that `guarding` made, for what is asked in other ways than by requests."""
        assert self._gate is not None, "guarding comes first"  # noqa: S101
        return self._gate

    def publish(self, event: Event) -> None:
        """Pass an event on, and note it in the audit log if it belongs there."""
        self._publish_on(event)
        if self._audit is not None:
            self._audit.take(event)

    def start(self) -> None:
        """Read the accounts, and make the audit log of an earlier run whole.

        Raises:
            ConfigError: The accounts cannot be used, or there are none and brokers must sign.
        """
        load_accounts(self._config, self._accounts)
        if self._audit is not None:
            self._audit.start()

    def guarding(
        self,
        processors: Mapping[RequestCode, Processor],
        kv_config: KVConfigStore,
        live: LiveConfig,
        routes: RouteReader,
    ) -> dict[int, Processor]:
        """Give the same table with a gate before what is guarded or audited."""
        settings = RuleSettings(
            policy=self._config.admin_policy,
            admin_allow=self._config.admin_allow,
            broker_allow=self._config.broker_allow,
            broker_auth=self._config.broker_auth,
        )
        auditing = None
        if self._audit is not None:
            auditing = Auditing(self._audit, Changes(kv_config, live, routes))
        rules = Rules(settings, routes, self._config.body_limits)
        self._gate = Gate(rules, self._accounts, self.publish, auditing)
        return self._gate.guarding(processors)

    def listening(self, address: str) -> None:
        """Look after the accounts from now on, and say aloud what is open to whoever reaches this address, if anything."""
        self._watch_accounts()
        exposed = exposure(self._config)
        if exposed.doors:
            self.publish(ServerExposed(address=address, open=exposed.doors, remedy=exposed.remedy))

    async def close(self) -> None:
        """Write what is left to write. May be called again."""
        if self._watch is not None:
            self._watch.cancel()
        if self._audit is not None:
            await self._audit.close()

    def _watch_accounts(self) -> None:
        if self._config.acl_file:
            self._accounts.refresh()
            self._watch = asyncio.get_running_loop().call_later(ACCOUNTS_WATCH_INTERVAL_S, self._watch_accounts)


def load_accounts(config: NamesrvConfig, accounts: AccountFile) -> None:
    """Read the accounts of a configuration for the first time.

    Raises:
        ConfigError: They cannot be used, or there are none and brokers must sign.
    """
    accounts.load()
    if config.broker_auth and not config.acl_file:
        raise ConfigError(
            "brokerAuth=true needs aclFile.",
            keys=("brokerAuth", "aclFile"),
            why="without accounts no broker could register.",
            remedy="name a file of accounts with aclFile, or set brokerAuth=false",
        )
