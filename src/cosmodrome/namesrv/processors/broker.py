"""Requests about brokers: registration, liveness, member groups, permissions.

Owns: reading and checking the requests, and the answers.
Must not know: how the tables keep their state; how effects are carried out.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cosmodrome.errors import IrregularTableError, MalformedBodyError, RequestRefusedError
from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG, KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.registration_digest import digest_in_slices
from cosmodrome.namesrv.routing.bases import KnownTable
from cosmodrome.namesrv.routing.broker_live import DEFAULT_HEARTBEAT_TIMEOUT_MS, BrokerKey
from cosmodrome.namesrv.routing.effects import ConnectionId, Effects
from cosmodrome.namesrv.routing.registration import (
    BrokerIdentity,
    BrokerRegistration,
    PreparedTopics,
    RegisterBrokerResult,
    RegisterStatus,
    host_of,
)
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.cluster import encode_broker_member_group, encode_kv_table
from cosmodrome.protocol.bodies.data_version import decode_data_version, encode_data_version
from cosmodrome.protocol.bodies.register_broker import (
    RegisterBrokerBody,
    compressed_body_in_slices,
    is_compressed_body,
    is_json_body,
    masked_crc32_in_slices,
    outlined_body_in_slices,
    register_broker_body_in_slices,
)
from cosmodrome.protocol.bodies.table_outline import Outline
from cosmodrome.protocol.bodies.topic_stretches import KnownStretch
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
from cosmodrome.protocol.slices import Slices, at_once
from cosmodrome.protocol.versions import clamp_version
from cosmodrome.transport.dispatch import Peer
from cosmodrome.transport.traffic import Sizes

CarryOut = Callable[[Effects], None]
ClockMs = Callable[[], int]


class Announced(NamedTuple):
    """A registration of which only the header is read. `digest` stands for all that it says.

    `outline` is that of a long JSON body, by what was `known` of the broker's last one.
    """

    request: RemotingCommand
    peer: Peer
    identity: BrokerIdentity
    is_compressed: bool
    digest: bytes
    outline: Outline | None
    known: KnownTable | None


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
        self.body_sizes = Sizes()
        """Of all registrations that came, as they came."""

    def register_broker(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """103, at once. Checked and read whole before anything is changed."""
        said = at_once(self.announced(request, peer))
        answer = self.renewed(said)
        return at_once(self.registered(said)) if answer is None else answer

    def announced(self, request: RemotingCommand, peer: Peer) -> Slices[Announced]:
        """Find out who registers, and whether the body came whole."""
        self.body_sizes.add(len(request.body))
        header = decode_ext_fields(RegisterBrokerRequestHeader, request.ext_fields)
        require(header, "broker_name", "broker_addr", "cluster_name", "ha_server_addr", "broker_id")
        if header.body_crc32 and header.body_crc32 != (yield from masked_crc32_in_slices(request.body)):
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "crc32 not match", {}, cause="wrong_crc")
        identity = _identity(header)
        known = self._tables.known_table(identity)
        is_compressed = bool(header.compressed)
        stretches: tuple[KnownStretch, ...] | None = None
        if is_json_body(request.body, request.version, is_compressed=is_compressed):
            stretches = () if known is None else known.stretches
        digest, outline = yield from digest_in_slices(request, host_of(peer.address) or "", stretches)
        return Announced(request, peer, identity, is_compressed, digest, outline, known)

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
        registration, prepared = yield from self._compared(said)
        result, effects = self._tables.register_broker(registration, self._clock_ms(), prepared)
        self._carry_out(effects)
        return self._registered(said.request, result)

    def _compared(self, said: Announced) -> Slices[tuple[BrokerRegistration, PreparedTopics]]:
        """Read and compare, in the quickest way that the body allows, until what was found stands."""
        for reading in self._ways_to_read(said):
            try:
                registration = yield from reading
                prepared = yield from self._tables.prepare(registration)
                yield
            except IrregularTableError:
                continue
            except MalformedBodyError as error:
                raise _unreadable(error, error.cause) from error
            if self._tables.stands(registration, prepared):
                break
        return registration, prepared

    def _ways_to_read(self, said: Announced) -> Iterator[Slices[BrokerRegistration]]:
        """Give the ways, the quickest first; the last serves any body, and is tried once more if nothing stood."""
        outline, known = said.outline, said.known
        if outline is not None:
            if known is not None and any(stretch.known for stretch in outline.stretches):
                yield self._read_new(said, outline, known)
            yield self._read_outlined(said, outline.forgetting())
        elif is_compressed_body(said.request.body, said.request.version, is_compressed=said.is_compressed):
            yield self._read_compressed(said)
        yield self._read_whole(said)
        yield self._read_whole(said)

    def _read_new(self, said: Announced, outline: Outline, known: KnownTable) -> Slices[BrokerRegistration]:
        """Read what is not known of the broker's table."""
        found = {id(stretch.known) for stretch in outline.stretches}
        names = (stretch.names for stretch in known.stretches if id(stretch) not in found)
        registration = yield from self._read_outlined(said, outline, known.touched.union(*names))
        return dataclasses.replace(registration, basis_revision=known.revision)

    def _read_outlined(
        self, said: Announced, outline: Outline, replaced: frozenset[str] | None = None
    ) -> Slices[BrokerRegistration]:
        body = yield from outlined_body_in_slices(said.request.body, outline, replaced, self._limits)
        return _registration(said, body)

    def _read_compressed(self, said: Announced) -> Slices[BrokerRegistration]:
        body = yield from compressed_body_in_slices(said.request.body, _wall_ms(), self._limits)
        return _registration(said, body)

    def _read_whole(self, said: Announced) -> Slices[BrokerRegistration]:
        body = yield from register_broker_body_in_slices(
            said.request.body,
            _version(said.request),
            is_compressed=said.is_compressed,
            now_ms=_wall_ms(),
            limits=self._limits,
        )
        return _registration(said, body)

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


def _registration(said: Announced, body: RegisterBrokerBody) -> BrokerRegistration:
    return BrokerRegistration(
        identity=said.identity,
        table=body.table,
        filter_servers=body.filter_servers,
        connection=ConnectionId(said.peer.connection_id),
        peer=said.peer.address,
        digest=said.digest,
    )


def _version(request: RemotingCommand) -> int:
    try:
        return clamp_version(request.version)
    except ValueError as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception, cause: str = "refused") -> RequestRefusedError:
    remark = f"Failed to decode RegisterBrokerBody: {error}"
    return RequestRefusedError(ResponseCode.SYSTEM_ERROR, remark, cause=cause)


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
