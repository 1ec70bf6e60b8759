"""Requests about KV config.

Owns: reading and checking the requests, and the answers.
Must not know: how entries are stored.
"""

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.events import KVDeleted, KVPut, Publish
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.protocol.bodies.cluster import encode_kv_table
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, encode_ext_fields
from cosmodrome.protocol.headers.kv_config import (
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    KVConfigKeyRequestHeader,
    PutKVConfigRequestHeader,
)
from cosmodrome.transport.dispatch import Peer


class KVConfigProcessor:
    """Answers requests about KV config."""

    def __init__(self, store: KVConfigStore, publish: Publish) -> None:
        self._store = store
        self._publish = publish

    async def put_kv_config(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """100. On disk before it is answered. Java stores a missing value as null, which nobody can read; refused here."""
        header = decode_ext_fields(PutKVConfigRequestHeader, request.ext_fields)
        if header.namespace is None or header.key is None:
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "namespace or key is null", cause="missing_key")
        if header.value is None:
            raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "value is null", cause="missing_value")
        await self._store.put(header.namespace, header.key, header.value)
        self._publish(KVPut(namespace=header.namespace, key=header.key, peer=peer.address))
        return response_to(request, ResponseCode.SUCCESS)

    def get_kv_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """101."""
        header = decode_ext_fields(KVConfigKeyRequestHeader, request.ext_fields)
        value = self._store.get(header.namespace, header.key)
        if value is None:
            remark = f"No config item, Namespace: {_shown(header.namespace)} Key: {_shown(header.key)}"
            raise RequestRefusedError(ResponseCode.QUERY_NOT_FOUND, remark, {}, is_fault=False)
        fields = encode_ext_fields(GetKVConfigResponseHeader(value=value))
        return response_to(request, ResponseCode.SUCCESS, None, fields)

    async def delete_kv_config(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """102. Unknown entries are deleted already."""
        header = decode_ext_fields(KVConfigKeyRequestHeader, request.ext_fields)
        if header.namespace is not None and header.key is not None:
            existed = await self._store.delete(header.namespace, header.key)
            if existed:
                self._publish(KVDeleted(namespace=header.namespace, key=header.key, peer=peer.address))
        return response_to(request, ResponseCode.SUCCESS)

    def get_kvlist_by_namespace(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """219. An emptied namespace is an empty table, one that never was is not found."""
        header = decode_ext_fields(GetKVListByNamespaceRequestHeader, request.ext_fields)
        table = self._store.table(header.namespace)
        if table is None:
            remark = f"No config item, Namespace: {_shown(header.namespace)}"
            raise RequestRefusedError(ResponseCode.QUERY_NOT_FOUND, remark, is_fault=False)
        return response_to(request, ResponseCode.SUCCESS, None, None, encode_kv_table(table))


def _shown(name: str | None) -> str:
    """Write a missing name as Java does."""
    return "null" if name is None else name
