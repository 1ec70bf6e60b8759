"""Requests about brokers: registration, liveness, member groups, permissions.

Owns: reading and checking the requests, and the answers.
Must not know: how the tables keep their state; how effects are carried out.
"""

import hashlib
import time
from collections.abc import Callable
from typing import NamedTuple

from cosmodrome.errors import MalformedBodyError, RequestRefusedError
from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG, KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.routing.broker_live import DEFAULT_HEARTBEAT_TIMEOUT_MS, BrokerKey
from cosmodrome.namesrv.routing.effects import ConnectionId, Effects
from cosmodrome.namesrv.routing.registration import (
    BrokerIdentity,
    BrokerRegistration,
    RegisterBrokerResult,
    RegisterStatus,
    host_of,
)
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.acl import SIGNATURE
from cosmodrome.protocol.bodies.cluster import encode_broker_member_group, encode_kv_table
from cosmodrome.protocol.bodies.data_version import decode_data_version, encode_data_version
from cosmodrome.protocol.bodies.register_broker import (
    SLICE_BYTES,
    RegisterBrokerBody,
    masked_crc32_in_slices,
    register_broker_body_in_slices,
)
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, encode_ext_fields, require
from cosmodrome.protocol.headers.broker import (
    AddWritePermOfBrokerResponseHeader,
    BrokerHeartbeatRequestHeader,
    GetBrokerMemberGroupRequestHeader,
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
    UnregisterBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
    WritePermOfBrokerRequestHeader,
)
from cosmodrome.protocol.limits import BodyLimits
from cosmodrome.protocol.slices import Slices, at_once
from cosmodrome.protocol.versions import clamp_version
from cosmodrome.transport.dispatch import Peer

CarryOut = Callable[[Effects], None]
ClockMs = Callable[[], int]

_MAPPING_DATA_VERSION = b'"mappingDataVersion":{'
_HEAD_BYTES = 1024 * 1024
_DIGEST_BYTES = 16
_NEVER_THE_SAME = frozenset({"bodyCrc32", SIGNATURE})


class Announced(NamedTuple):
    """A registration of which only the header is read. `digest` stands for all that it says."""

    request: RemotingCommand
    peer: Peer
    identity: BrokerIdentity
    is_compressed: bool
    digest: bytes


class BrokerProcessor:
    """Answers brokers, and those who ask about them.

    Args:
        tables: The routing state.
        kv_config: For the order configuration that brokers are told.
        config: What is switched on.
        clock_ms: Milliseconds that never step.
        carry_out: Does what a change asks for.
    """

    def __init__(
        self,
        tables: RouteTables,
        kv_config: KVConfigStore,
        config: LiveConfig,
        clock_ms: ClockMs,
        carry_out: CarryOut,
    ) -> None:
        self._tables = tables
        self._kv_config = kv_config
        self._config = config
        self._clock_ms = clock_ms
        self._limits = config.started_with.body_limits
        self._carry_out = carry_out

    def register_broker(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """103, at once. Checked and read whole before anything is changed."""
        said = at_once(self.announced(request, peer))
        answer = self.renewed(said)
        return at_once(self.registered(said)) if answer is None else answer

    def announced(self, request: RemotingCommand, peer: Peer) -> Slices[Announced]:
        """Find out who registers, and whether the body came whole."""
        header = decode_ext_fields(RegisterBrokerRequestHeader, request.ext_fields)
        require(header, "broker_name", "broker_addr", "cluster_name", "ha_server_addr", "broker_id")
        if header.body_crc32 and header.body_crc32 != (yield from masked_crc32_in_slices(request.body)):
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "crc32 not match", {}, cause="wrong_crc")
        digest = yield from digest_in_slices(request, host_of(peer.address) or "")
        return Announced(request, peer, _identity(header), bool(header.compressed), digest)

    def is_known(self, said: Announced) -> bool:
        """Whether this broker is registered."""
        return self._tables.is_live(said.identity.key)

    def renewed(self, said: Announced) -> RemotingCommand | None:
        """Answer a registration that repeats the broker's last one; None when it must be read."""
        connection = ConnectionId(said.peer.connection_id)
        result = self._tables.renew_unchanged(said.identity, said.digest, connection, self._clock_ms())
        return None if result is None else self._registered(said.request, result)

    def registered(self, said: Announced) -> Slices[RemotingCommand]:
        """Read a registration whole, compare it with what is held, and then make all changes in one step."""
        body = yield from _read_body(said.request, is_compressed=said.is_compressed, limits=self._limits)
        registration = BrokerRegistration(
            identity=said.identity,
            table=body.table,
            filter_servers=body.filter_servers,
            connection=ConnectionId(said.peer.connection_id),
            peer=said.peer.address,
            digest=said.digest,
        )
        prepared = yield from self._tables.prepare(registration)
        yield
        result, effects = self._tables.register_broker(registration, self._clock_ms(), prepared)
        self._carry_out(effects)
        return self._registered(said.request, result)

    def _registered(self, request: RemotingCommand, result: RegisterBrokerResult) -> RemotingCommand:
        if result.status is RegisterStatus.SINGLE_TOPIC_BEFORE_BROKER:
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "register broker failed", {}, is_fault=False)
        # COMPAT: a registration that lost to a newer state version is answered SUCCESS, and did nothing.
        answer = RegisterBrokerResponseHeader(ha_server_addr=result.ha_server_addr, master_addr=result.master_addr)
        orders = None
        if self._config.current.return_order_topic_config_to_broker:
            orders = self._kv_config.table(ORDER_TOPIC_CONFIG)
        body = b"" if orders is None else encode_kv_table(orders)
        return response_to(request, ResponseCode.SUCCESS, None, encode_ext_fields(answer), body)

    def unregister_broker(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """104. Done before it is answered."""
        header = decode_ext_fields(UnregisterBrokerRequestHeader, request.ext_fields)
        require(header, "broker_name", "broker_addr", "cluster_name", "broker_id")
        key = BrokerKey(header.cluster_name or "", header.broker_addr or "")
        self._carry_out(self._tables.unregister_broker(header.broker_name or "", key, self._clock_ms()))
        return response_to(request, ResponseCode.SUCCESS)

    def broker_heartbeat(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """904. An unknown broker is answered SUCCESS too, as in Java; nothing is made for it."""
        header = decode_ext_fields(BrokerHeartbeatRequestHeader, request.ext_fields)
        require(header, "cluster_name", "broker_addr", "broker_name")
        key = BrokerKey(header.cluster_name or "", header.broker_addr or "")
        self._carry_out(self._tables.heartbeat(key, self._clock_ms(), peer.address))
        return response_to(request, ResponseCode.SUCCESS)

    def query_data_version(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """322. No body means a version that equals none."""
        header = decode_ext_fields(QueryDataVersionRequestHeader, request.ext_fields)
        require(header, "broker_name", "broker_addr", "cluster_name", "broker_id")
        version = decode_data_version(request.body, _wall_ms()) if request.body else None
        key = BrokerKey(header.cluster_name or "", header.broker_addr or "")
        changed, stored = self._tables.query_data_version(key, version, self._clock_ms())
        fields = encode_ext_fields(QueryDataVersionResponseHeader(changed=changed))
        body = b"" if stored is None else encode_data_version(stored)
        return response_to(request, ResponseCode.SUCCESS, None, fields, body)

    def get_broker_member_group(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """901. COMPAT: the cluster is echoed, not checked, and the remark is the one Java forgets to clear."""
        header = decode_ext_fields(GetBrokerMemberGroupRequestHeader, request.ext_fields)
        addrs = self._tables.read.broker_addrs(header.broker_name)
        body = encode_broker_member_group(header.cluster_name, header.broker_name, addrs)
        return response_to(request, ResponseCode.SUCCESS, "not set any response code", None, body)

    def wipe_write_perm_of_broker(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """205."""
        header = decode_ext_fields(WritePermOfBrokerRequestHeader, request.ext_fields)
        count, effects = self._tables.wipe_write_perm(header.broker_name or "", peer.address)
        self._carry_out(effects)
        fields = encode_ext_fields(WipeWritePermOfBrokerResponseHeader(wipe_topic_count=count))
        return response_to(request, ResponseCode.SUCCESS, None, fields)

    def add_write_perm_of_broker(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """327."""
        header = decode_ext_fields(WritePermOfBrokerRequestHeader, request.ext_fields)
        count, effects = self._tables.add_write_perm(header.broker_name or "", peer.address)
        self._carry_out(effects)
        fields = encode_ext_fields(AddWritePermOfBrokerResponseHeader(add_topic_count=count))
        return response_to(request, ResponseCode.SUCCESS, None, fields)


def registration_digest(request: RemotingCommand, host: str = "") -> bytes:
    """Give what two registrations from one host that say the same have in common.

    `bodyCrc32` and the body's `mappingDataVersion` are left out: 5.x brokers write the time of sending there. So is
    the signature, which follows from them.
    """
    return at_once(digest_in_slices(request, host))


def digest_in_slices(request: RemotingCommand, host: str) -> Slices[bytes]:
    """Give the `registration_digest`, with pauses."""
    ext_fields, body = request.ext_fields or {}, request.body
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    fields = [(name, ext_fields[name]) for name in sorted(ext_fields) if name not in _NEVER_THE_SAME]
    digest.update(repr((request.version, host, fields)).encode("utf-8", "surrogatepass"))
    # Brokers that have it write it before the topics.
    start = body.find(_MAPPING_DATA_VERSION, 0, _HEAD_BYTES)
    end = body.find(b"}", start) + 1 if start >= 0 else 0
    position = 0
    if end:
        digest.update(body[:start])
        position = end
    with memoryview(body) as view:
        while position < len(body):
            digest.update(view[position : position + SLICE_BYTES])
            position += SLICE_BYTES
            if position < len(body):
                yield
    return digest.digest()


def _identity(header: RegisterBrokerRequestHeader) -> BrokerIdentity:
    timeout_ms = header.heartbeat_timeout_millis
    return BrokerIdentity(
        cluster=header.cluster_name or "",
        broker_name=header.broker_name or "",
        broker_id=header.broker_id or 0,
        addr=header.broker_addr or "",
        ha_server_addr=header.ha_server_addr or "",
        heartbeat_timeout_ms=DEFAULT_HEARTBEAT_TIMEOUT_MS if timeout_ms is None else timeout_ms,
        enable_acting_master=header.enable_acting_master,
        zone_name=header.zone_name,
    )


def _read_body(request: RemotingCommand, *, is_compressed: bool, limits: BodyLimits) -> Slices[RegisterBrokerBody]:
    try:
        version = clamp_version(request.version)
    except ValueError as error:
        remark = f"Failed to decode RegisterBrokerBody: {error}"
        raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, remark) from error
    try:
        return (
            yield from register_broker_body_in_slices(
                request.body, version, is_compressed=is_compressed, now_ms=_wall_ms(), limits=limits
            )
        )
    except MalformedBodyError as error:
        remark = f"Failed to decode RegisterBrokerBody: {error}"
        raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, remark, cause=error.cause) from error


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
