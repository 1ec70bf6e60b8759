"""Accounts of a plain ACL: 50, 51, 52, 53, 54.

Owns: what of an account a request changes; what is shown of it: never its secret.
Must not know: who may ask (gate.py); what an account may do.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cosmodrome.broker.refusals import refused
from cosmodrome.broker.security.plain_acl_files import ACCOUNTS, VERSION, WHITE, Document, PlainAclFiles
from cosmodrome.errors import ConfigError
from cosmodrome.protocol.bodies.auth import AclConfig, PlainAccessConfig
from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, encode_ext_fields
from cosmodrome.protocol.headers.plain_acl import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from cosmodrome.protocol.json_dialects import encode_json
from cosmodrome.protocol.json_structs import encode_body, from_json, to_json
from cosmodrome.transport.dispatch import Peer

ACCOUNT_NOT_CHANGED: Final = 209
ACCOUNT_NOT_DELETED: Final = 210
WHITE_NOT_CHANGED: Final = 211
"""Numbers that ResponseCode has for something else; Java uses them twice as well."""
_KEY: Final = "accessKey"


class PlainAclProcessor:
    """Shows and changes accounts; where there is no plain ACL, as 5.x, it knows none of these requests."""

    def __init__(self, files: PlainAclFiles | None, broker: tuple[str, str, str]) -> None:
        """Use these files; `broker` is its name, address and cluster."""
        self._found = files
        self._broker = broker
        self._changing = asyncio.Lock()

    def _files(self, request: RemotingCommand) -> PlainAclFiles:
        if self._found is None:
            remark = f" request type {request.code} not supported"
            raise refused(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)
        return self._found

    async def update_and_create_acl_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """50."""
        files = self._files(request)
        header = decode_ext_fields(CreateAccessConfigRequestHeader, request.ext_fields)
        if not header.access_key:
            remark = "The accessKey cannot be null and length should longer than 6"
            raise refused(ACCOUNT_NOT_CHANGED, remark)
        async with self._changing:
            documents = _documents(files, ACCOUNT_NOT_CHANGED)
            path = _file_of(documents, header.access_key) or files.main
            document = dict(documents.get(path, {}))
            others = [each for each in document.get(ACCOUNTS) or () if each.get(_KEY) != header.access_key]
            old: Document = next(
                (each for each in document.get(ACCOUNTS) or () if each.get(_KEY) == header.access_key), {}
            )
            document[ACCOUNTS] = [*others, {**old, **_changes(header)}]
            await _changed(files, path, document, ACCOUNT_NOT_CHANGED)
        return response_to(request, ResponseCode.SUCCESS)

    async def delete_acl_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """51."""
        files = self._files(request)
        name = decode_ext_fields(DeleteAccessConfigRequestHeader, request.ext_fields).access_key or ""
        async with self._changing:
            documents = _documents(files, ACCOUNT_NOT_DELETED)
            path = _file_of(documents, name)
            if path is None:
                remark = f"The accessKey[{name}] corresponding to accessConfig has not been deleted."
                raise refused(ACCOUNT_NOT_DELETED, remark)
            document = dict(documents[path])
            document[ACCOUNTS] = [each for each in document[ACCOUNTS] if each.get(_KEY) != name]
            await _changed(files, path, document, ACCOUNT_NOT_DELETED)
        return response_to(request, ResponseCode.SUCCESS)

    def get_broker_cluster_acl_info(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """52."""
        files = self._files(request)
        versions = {str(path): _version(each) for path, each in _documents(files, ACCOUNT_NOT_CHANGED).items()}
        own = versions.get(str(files.main), DataVersion(counter=0, timestamp=0))
        name, address, cluster = self._broker
        header = GetBrokerAclConfigResponseHeader(
            version=encode_json(to_json(own)).decode(),
            all_acl_file_version=encode_json({path: to_json(each) for path, each in versions.items()}).decode(),
            broker_name=name,
            broker_addr=address,
            cluster_name=cluster,
        )
        return response_to(request, ResponseCode.SUCCESS, None, encode_ext_fields(header))

    async def update_global_white_addrs_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """53."""
        files = self._files(request)
        header = decode_ext_fields(UpdateGlobalWhiteAddrsConfigRequestHeader, request.ext_fields)
        async with self._changing:
            documents = _documents(files, WHITE_NOT_CHANGED)
            path = Path(header.acl_file_full_path) if header.acl_file_full_path else files.main
            if path not in documents and path != files.main:
                raise refused(WHITE_NOT_CHANGED, "The file of the addresses is none of this broker's.")
            addresses = [each.strip() for each in (header.global_white_addrs or "").split(",") if each.strip()]
            await _changed(files, path, {**documents.get(path, {}), WHITE: addresses}, WHITE_NOT_CHANGED)
        return response_to(request, ResponseCode.SUCCESS)

    def get_broker_cluster_acl_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """54. Other than Apache's it tells no secret."""
        files = self._files(request)
        white: list[str] = []
        accounts: list[PlainAccessConfig] = []
        for document in _documents(files, ACCOUNT_NOT_CHANGED).values():
            white += map(str, document.get(WHITE) or ())
            accounts += (from_json(PlainAccessConfig, each) for each in document.get(ACCOUNTS) or ())
        body = AclConfig(global_white_addrs=tuple(white), plain_access_configs=tuple(accounts))
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(body))


def _documents(files: PlainAclFiles, code: int) -> dict[Path, Document]:
    try:
        return files.documents()
    except ConfigError as error:
        raise refused(code, f"{error.what} {error.why or ''}".strip()) from error


async def _changed(files: PlainAclFiles, path: Path, document: Document, code: int) -> None:
    try:
        await asyncio.to_thread(files.change, path, document)
    except ConfigError as error:
        raise refused(code, f"{error.what} {error.why or ''}".strip()) from error


def _file_of(documents: Mapping[Path, Document], name: str) -> Path | None:
    return next(
        (path for path, each in documents.items() if any(one.get(_KEY) == name for one in each.get(ACCOUNTS) or ())),
        None,
    )


def _changes(header: CreateAccessConfigRequestHeader) -> dict[str, Any]:
    plain = {
        _KEY: header.access_key,
        "secretKey": header.secret_key,
        "whiteRemoteAddress": header.white_remote_address,
        "admin": header.admin,
        "defaultTopicPerm": header.default_topic_perm,
        "defaultGroupPerm": header.default_group_perm,
    }
    lists = {"topicPerms": header.topic_perms, "groupPerms": header.group_perms}
    listed = {key: [each.strip() for each in text.split(",") if each.strip()] for key, text in lists.items() if text}
    return {key: value for key, value in plain.items() if value is not None} | listed


def _version(document: Document) -> DataVersion:
    kept = document.get(VERSION)
    if isinstance(kept, list) and kept and isinstance(kept[0], dict):
        counter, timestamp = kept[0].get("counter"), kept[0].get("timestamp")
        if isinstance(counter, int) and isinstance(timestamp, int):
            return DataVersion(counter=counter, timestamp=timestamp)
    return DataVersion(counter=0, timestamp=0)
