"""Users and what they may do: 3001 to 3010.

Owns: reading and answering the requests; that passwords are told to nobody; that only super users touch super users.
Must not know: who may ask otherwise (gate.py); what may be in the tables (security/users.py).
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from cosmodrome.broker.refusals import refused
from cosmodrome.broker.security.admission import UserTables
from cosmodrome.broker.security.users import SUPER
from cosmodrome.errors import StorageError
from cosmodrome.protocol.acl import ACCESS_KEY
from cosmodrome.protocol.bodies.auth import AclInfo, UserInfo
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.auth import (
    AclRequestHeader,
    DeleteAclRequestHeader,
    ListAclsRequestHeader,
    ListUsersRequestHeader,
    UserRequestHeader,
)
from cosmodrome.protocol.json_dialects import encode_json
from cosmodrome.protocol.json_structs import decode_body, encode_body, to_json
from cosmodrome.transport.dispatch import Peer

_UNSAID: Final = "not set any response code"


class AuthProcessor:
    """Shows and changes users; where nobody is asked who he is, it knows none of these requests."""

    def __init__(self, tables: UserTables | None) -> None:
        """Use these."""
        self._found = tables
        self._changing = asyncio.Lock()

    def _tables(self, request: RemotingCommand) -> UserTables:
        if self._found is None:
            remark = f" request type {request.code} not supported"
            raise refused(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark)
        return self._found

    async def create_user(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """3001."""
        tables, user = self._tables(request), _user_of(request)
        self._check_super(request, (user.user_type or "").lower() == SUPER.lower(), "create")
        return await self._changed(request, lambda: tables.users.create(user))

    async def update_user(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """3002."""
        tables, user = self._tables(request), _user_of(request)
        old = tables.users.user(user.username)
        touches = (user.user_type or "").lower() == SUPER.lower() or (old is not None and old.user_type == SUPER)
        self._check_super(request, touches, "update")
        return await self._changed(request, lambda: tables.users.update(user))

    async def delete_user(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """3003."""
        tables = self._tables(request)
        name = _named(request)
        old = tables.users.user(name)
        self._check_super(request, old is not None and old.user_type == SUPER, "delete")
        return await self._changed(request, lambda: tables.users.delete(name))

    def get_user(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """3004. Other than Apache's it tells no password."""
        found = self._tables(request).users.user(_named(request))
        body = b"" if found is None else encode_body(_shown(found))
        return response_to(request, ResponseCode.SUCCESS, _UNSAID, body=body)

    def list_user(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """3005. Other than Apache's it tells no password."""
        part = decode_ext_fields(ListUsersRequestHeader, request.ext_fields).filter or ""
        found = [_shown(each) for each in self._tables(request).users.users() if part in each.username]
        body = encode_json(to_json(found)) if found else b""
        return response_to(request, ResponseCode.SUCCESS, _UNSAID, body=body)

    async def create_acl(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """3006, and 3007, which is no other."""
        tables = self._tables(request)
        header = decode_ext_fields(AclRequestHeader, request.ext_fields)
        require(header, "subject")
        acl = msgspec.structs.replace(decode_body(AclInfo, request.body), subject=header.subject)
        return await self._changed(request, lambda: tables.users.allow(acl))

    async def delete_acl(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """3008."""
        tables = self._tables(request)
        header = decode_ext_fields(DeleteAclRequestHeader, request.ext_fields)
        require(header, "subject")
        subject, resource = header.subject or "", header.resource or None
        policy_type = header.policy_type or None
        return await self._changed(request, lambda: tables.users.forbid(subject, policy_type, resource))

    def get_acl(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """3009."""
        header = decode_ext_fields(AclRequestHeader, request.ext_fields)
        require(header, "subject")
        found = self._tables(request).users.acl(header.subject or "")
        body = b"" if found is None else encode_body(found)
        return response_to(request, ResponseCode.SUCCESS, _UNSAID, body=body)

    def list_acl(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """3010."""
        header = decode_ext_fields(ListAclsRequestHeader, request.ext_fields)
        subject, resource = header.subject_filter or "", header.resource_filter or ""
        found = [
            each for each in self._tables(request).users.acls() if subject in each.subject and _names(each, resource)
        ]
        body = encode_json(to_json(found)) if found else b""
        return response_to(request, ResponseCode.SUCCESS, _UNSAID, body=body)

    def _check_super(self, request: RemotingCommand, is_about_super: bool, verb: str) -> None:  # noqa: FBT001 -- a condition
        sender = self._tables(request).users.user((request.ext_fields or {}).get(ACCESS_KEY) or "")
        if is_about_super and (sender is None or sender.user_type != SUPER):
            raise refused(ResponseCode.NO_PERMISSION, f"The super user can only be {verb} by super user")

    async def _changed(self, request: RemotingCommand, change: Callable[[], None]) -> RemotingCommand:
        """Make a change and keep it; what cannot be kept is not made."""
        tables = self._tables(request)
        async with self._changing:
            before = tables.users.users(), tables.users.acls()
            change()
            try:
                await tables.keep()
            except StorageError:
                tables.users.load(*before)
                raise
        return response_to(request, ResponseCode.SUCCESS, _UNSAID)


def _named(request: RemotingCommand) -> str:
    header = decode_ext_fields(UserRequestHeader, request.ext_fields)
    require(header, "username")
    return header.username or ""


def _user_of(request: RemotingCommand) -> UserInfo:
    return msgspec.structs.replace(decode_body(UserInfo, request.body), username=_named(request))


def _shown(user: UserInfo) -> UserInfo:
    return msgspec.structs.replace(user, password=None)


def _names(acl: AclInfo, resource: str) -> bool:
    return not resource or any(resource in each.resource for policy in acl.policies for each in policy.entries)
