"""Which requests each policy guards, and who passes.

Owns: the rule of each request code, and the words of a refusal.
Must not know: how a caller was identified; what a request does once it has passed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from cosmodrome.errors import MalformedBodyError
from cosmodrome.namesrv.config_keys import AdminPolicy
from cosmodrome.namesrv.policy.accounts import Role
from cosmodrome.namesrv.policy.callers import Caller
from cosmodrome.namesrv.policy.networks import Networks, are_everybody, is_from, named
from cosmodrome.namesrv.routing.broker_live import BrokerLiveInfo
from cosmodrome.namesrv.routing.effects import ConnectionId
from cosmodrome.protocol.bodies.route import decode_queue_datas
from cosmodrome.protocol.codes import RequestCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.broker import UnregisterBrokerRequestHeader
from cosmodrome.protocol.limits import DEFAULT_LIMITS, BodyLimits
from cosmodrome.transport.dispatch import OURSELVES

CONFIG_CHANGES: Final = frozenset({RequestCode.UPDATE_NAMESRV_CONFIG})
CHANGES: Final = CONFIG_CHANGES | {
    RequestCode.PUT_KV_CONFIG,
    RequestCode.DELETE_KV_CONFIG,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER,
    RequestCode.ADD_WRITE_PERM_OF_BROKER,
    RequestCode.DELETE_TOPIC_IN_NAMESRV,
}
"""What only administrators change."""

FOR_BROKERS: Final = frozenset({RequestCode.UNREGISTER_BROKER, RequestCode.REGISTER_TOPIC_IN_NAMESRV})
"""What a broker says of itself, and what would hurt when somebody else said it."""

REGISTRATIONS: Final = frozenset(
    {RequestCode.REGISTER_BROKER, RequestCode.BROKER_HEARTBEAT, RequestCode.QUERY_DATA_VERSION}
)
"""What makes a broker, or keeps it alive."""

READS: Final = frozenset(
    {
        RequestCode.GET_NAMESRV_CONFIG,
        RequestCode.GET_KV_CONFIG,
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    }
)
"""What says more than a client asks for. Routes (105) and member groups (901) are for everybody."""

READS_OF_BROKERS: Final = frozenset({RequestCode.GET_BROKER_CLUSTER_INFO})
"""What a broker reads on the connection that it registered over. Where anybody may register, so may a stranger."""

GUARDED: Final[Mapping[AdminPolicy, frozenset[RequestCode]]] = {
    AdminPolicy.OPEN: frozenset(),
    AdminPolicy.COMPATIBLE: CONFIG_CHANGES,
    AdminPolicy.HARDENED: CHANGES | FOR_BROKERS | READS,
}


class Refusal(NamedTuple):
    """Why a request may not pass, what an operator can set so that it does, and one word for counters."""

    reason: str
    remedy: str
    cause: str


class Brokers(Protocol):
    """What the rules ask the tables."""

    def names_over(self, connection: ConnectionId) -> frozenset[str]:
        """Give the names of the live brokers that registered over a connection."""

    def lives(self, broker_name: str, addr: str) -> Sequence[BrokerLiveInfo]:
        """Give the live entries of an address under a broker name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """The configuration that the rules obey; empty `broker_allow` is no restriction."""

    policy: AdminPolicy
    admin_allow: Networks
    broker_allow: Networks = ()
    broker_auth: bool = False

    @property
    def are_brokers_checked(self) -> bool:
        """Whether not everybody may register as a broker."""
        return self.broker_auth or bool(self.broker_allow)

    @property
    def are_brokers_trusted(self) -> bool:
        """Whether a registered broker can only be one of ours."""
        return self.broker_auth or (bool(self.broker_allow) and not are_everybody(self.broker_allow))


Rule = Callable[[RemotingCommand, Caller], Refusal | None]


class Rules:
    """One rule for each request code that not everybody may send.

    `limits` are those by which the processors read a body: a rule must not judge a body otherwise than they do.
    """

    def __init__(self, settings: RuleSettings, brokers: Brokers, limits: BodyLimits = DEFAULT_LIMITS) -> None:
        self._settings = settings
        self._brokers = brokers
        self._limits = limits

    def by_code(self) -> dict[RequestCode, Rule]:
        """Give the rules; a code that is missing is open to everybody."""
        guarded = GUARDED[self._settings.policy]
        rules: dict[RequestCode, Rule] = dict.fromkeys(guarded & CHANGES, self._for_admins)
        rules |= dict.fromkeys(guarded & READS, self._for_readers)
        rules |= dict.fromkeys(guarded & FOR_BROKERS, self._for_the_broker_itself)
        if self._settings.are_brokers_checked:
            rules |= dict.fromkeys(REGISTRATIONS, self._for_true_brokers)
            for code in FOR_BROKERS - guarded:
                rules[code] = self._for_true_brokers_and_admins
        return rules

    def is_own_word(self, request: RemotingCommand, caller: Caller) -> bool:
        """Tell whether a broker says something of itself, over the connection that it registered over."""
        names = self._brokers.names_over(ConnectionId(caller.peer.connection_id))
        if not names:
            return False
        if request.code == RequestCode.UNREGISTER_BROKER:
            header = decode_ext_fields(UnregisterBrokerRequestHeader, request.ext_fields)
            lives = self._brokers.lives(header.broker_name or "", header.broker_addr or "")
            return bool(lives) and all(info.connection == caller.peer.connection_id for info in lives)
        if request.code != RequestCode.REGISTER_TOPIC_IN_NAMESRV:
            return False
        try:
            datas = decode_queue_datas(request.body or b"null", self._limits)
        except MalformedBodyError:
            return False
        return names.issuperset(data.broker_name for data in datas)

    def _for_admins(self, _: RemotingCommand, caller: Caller) -> Refusal | None:
        if caller.has_role(Role.ADMIN) or is_from(caller.peer, self._settings.admin_allow):
            return None
        reason = f"{named(caller.peer)} is not in adminAllow and {caller.shortcoming}"
        remedy = "add the address to adminAllow, or an account with the role admin to aclFile"
        return Refusal(f"{reason} (adminPolicy={self._settings.policy})", remedy, "not_admin")

    def _for_readers(self, request: RemotingCommand, caller: Caller) -> Refusal | None:
        if caller.peer.connection_id == OURSELVES or caller.has_role(Role.READER, Role.BROKER):
            return None
        is_for_brokers = self._settings.are_brokers_trusted or request.code in READS_OF_BROKERS
        if is_for_brokers and self._brokers.names_over(ConnectionId(caller.peer.connection_id)):
            return None
        refusal = self._for_admins(request, caller)
        remedy = "add the address to adminAllow, or an account with the role reader to aclFile"
        return None if refusal is None else refusal._replace(remedy=remedy, cause="not_reader")

    def _for_the_broker_itself(self, request: RemotingCommand, caller: Caller) -> Refusal | None:
        refusal = self._for_admins(request, caller)
        if refusal is None or self.is_own_word(request, caller):
            return None
        reason = f"the broker did not register over this connection, {refusal.reason}"
        return refusal._replace(reason=reason, cause="not_own_broker")

    def _for_true_brokers(self, _: RemotingCommand, caller: Caller) -> Refusal | None:
        settings = self._settings
        if settings.broker_allow and not is_from(caller.peer, settings.broker_allow):
            reason = f"{named(caller.peer)} is not in brokerAllow"
            return Refusal(reason, "add the address to brokerAllow", "not_broker_address")
        if settings.broker_auth and not caller.has_role(Role.BROKER, Role.ADMIN):
            reason = f"brokerAuth=true wants brokers to sign, and {caller.shortcoming}"
            remedy = (
                "set innerClientAuthenticationCredentials of the broker to an account of aclFile with the role broker"
            )
            return Refusal(reason, remedy, "not_signed_by_broker")
        return None

    def _for_true_brokers_and_admins(self, request: RemotingCommand, caller: Caller) -> Refusal | None:
        refusal = self._for_true_brokers(request, caller)
        return refusal if refusal is not None and self._for_admins(request, caller) is not None else None
