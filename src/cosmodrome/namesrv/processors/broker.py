"""Requests about brokers: registration, liveness, member groups, permissions.

Owns: reading and checking the requests, and the answers.
Must not know: how the tables keep their state; how effects are carried out.
"""

import hashlib
import time
from collections.abc import Callable

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
)
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.cluster import encode_broker_member_group, encode_kv_table
from cosmodrome.protocol.bodies.data_version import decode_data_version, encode_data_version
from cosmodrome.protocol.bodies.register_broker import decode_register_broker_body, masked_crc32
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
from cosmodrome.protocol.versions import clamp_version
from cosmodrome.transport.dispatch import Peer

CarryOut = Callable[[Effects], None]
ClockMs = Callable[[], int]

_MAPPING_DATA_VERSION = b'"mappingDataVersion":{'
_DIGEST_BYTES = 16


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
        self._carry_out = carry_out

    def register_broker(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """103. Checked and read whole before anything is changed."""
        header = decode_ext_fields(RegisterBrokerRequestHeader, request.ext_fields)
        require(header, "broker_name", "broker_addr", "cluster_name", "ha_server_addr", "broker_id")
        if header.body_crc32 and header.body_crc32 != masked_crc32(request.body):
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "crc32 not match", {})
        identity = _identity(header)
        connection = ConnectionId(peer.connection_id)
        digest = registration_digest(request)
        now_ms = self._clock_ms()
        result = self._tables.renew_unchanged(identity, digest, connection, now_ms)
        if result is None:
            registration = _read_registration(request, header, identity, peer, digest)
            result, effects = self._tables.register_broker(registration, now_ms)
            self._carry_out(effects)
        return self._registered(request, result)

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


def registration_digest(request: RemotingCommand) -> bytes:
    """Give what two registrations that say the same have in common.

    `bodyCrc32` and the body's `mappingDataVersion` are left out: 5.x brokers write the time of sending there.
    """
    ext_fields, body = request.ext_fields or {}, request.body
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    fields = [(name, ext_fields[name]) for name in sorted(ext_fields) if name != "bodyCrc32"]
    digest.update(repr((request.version, fields)).encode("utf-8", "surrogatepass"))
    start = body.find(_MAPPING_DATA_VERSION)
    end = body.find(b"}", start) + 1 if start >= 0 else 0
    if end:
        with memoryview(body) as view:
            digest.update(view[:start])
            digest.update(view[end:])
    else:
        digest.update(body)
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


def _read_registration(
    request: RemotingCommand,
    header: RegisterBrokerRequestHeader,
    identity: BrokerIdentity,
    peer: Peer,
    digest: bytes,
) -> BrokerRegistration:
    try:
        body = decode_register_broker_body(
            request.body, clamp_version(request.version), is_compressed=bool(header.compressed), now_ms=_wall_ms()
        )
    except (MalformedBodyError, ValueError) as error:
        remark = f"Failed to decode RegisterBrokerBody: {error}"
        raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, remark) from error
    return BrokerRegistration(
        identity=identity,
        table=body.table,
        filter_servers=body.filter_servers,
        connection=ConnectionId(peer.connection_id),
        peer=peer.address,
        digest=digest,
    )


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
