"""The plain ACL of 4.9: accounts, and what each may do with topics and groups (Java: PlainPermissionManager).

Owns: what an account's entry means; the decision about a request, in the words of 4.9.7.
Must not know: files; what a request is beyond what it needs.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any, Final

from cosmodrome.broker.refusals import refused
from cosmodrome.broker.security.hosts import Pattern, is_matched, white_patterns
from cosmodrome.broker.security.needs import Action, Kind, Need, Needs
from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.acl import ACCESS_KEY, is_signed
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Peer

SHORTEST_KEY: Final = 7
"""Both keys are longer than six characters."""
_EXCEPTION: Final = "org.apache.rocketmq.acl.common.AclException: "
"""By it clients tell that a refusal is about credentials."""
_LISTED: Final = frozenset({"accessKey", "secretKey", "whiteRemoteAddress", "admin", "defaultTopicPerm"}) | {
    "defaultGroupPerm", "topicPerms", "groupPerms",
}  # fmt: skip


class Perm(IntFlag):
    """What may be done with a topic or a group; nothing is DENY."""

    DENY = 0
    PUB = 1
    SUB = 2


_PERMS: Final[Mapping[str, Perm]] = {
    "DENY": Perm.DENY, "PUB": Perm.PUB, "SUB": Perm.SUB, "PUB|SUB": Perm.PUB | Perm.SUB, "SUB|PUB": Perm.PUB | Perm.SUB,
}  # fmt: skip
_ACTIONS: Final[Mapping[Action, Perm]] = {Action.PUB: Perm.PUB, Action.SUB: Perm.SUB}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAccount:
    """One account. Its secret is in no representation of it. From `white` it needs no signature and is not checked."""

    access_key: str
    secret_key: str = field(repr=False)
    white: tuple[Pattern, ...] = ()
    is_admin: bool = False
    default_topic: Perm = Perm.DENY
    default_group: Perm = Perm.DENY
    topics: Mapping[str, Perm] = field(default_factory=dict)
    groups: Mapping[str, Perm] = field(default_factory=dict)

    def allows(self, need: Need) -> bool:
        """Tell whether it may do one thing; administration is for administrators."""
        wanted = Perm.DENY
        for action in need.actions:
            wanted |= _ACTIONS.get(action, Perm.DENY)
        if self.is_admin or not (wanted or need.is_administrative):
            return True
        listed, default = (
            (self.topics, self.default_topic) if need.kind is Kind.TOPIC else (self.groups, self.default_group)
        )
        return bool(listed.get(need.name, default) & wanted)


class PlainAcl:
    """The accounts in force. `white` is from where requests pass unchecked."""

    def __init__(self, accounts: Iterable[PlainAccount], white: Iterable[Pattern] = ()) -> None:
        """Use these."""
        self._accounts = {each.access_key: each for each in accounts}
        self._white = tuple(white)

    def __len__(self) -> int:
        return len(self._accounts)

    def check(self, request: RemotingCommand, peer: Peer, needs: Callable[[], Needs]) -> str:
        """Let a request pass, and give whose it is; empty when it comes from where nobody is asked.

        `needs` is asked only of whom is known: it may have to read the body.

        Raises:
            RequestRefusedError: It may not.
        """
        if is_matched(peer, self._white):
            return ""
        account = self._account(request, peer)
        if is_matched(peer, account.white):
            return account.access_key
        for need in needs():
            if not account.allows(need):
                raise _refused(_reason(need, request.code, account.access_key))
        return account.access_key

    def _account(self, request: RemotingCommand, peer: Peer) -> PlainAccount:
        fields = request.ext_fields or {}
        name = fields.get(ACCESS_KEY)
        if not name:
            raise _refused("No accessKey is configured")
        account = self._accounts.get(name)
        if account is None:
            raise _refused(f"No acl config for {name}")
        if not is_matched(peer, account.white) and not is_signed(fields, request.body, account.secret_key):
            raise _refused(f"Check signature failed for accessKey={name}")
        return account


def read_account(entry: object) -> PlainAccount:
    """Read one entry of `accounts`.

    Raises:
        ValueError: It is none; the text names no secret.
    """
    if not isinstance(entry, Mapping):
        raise ValueError("an account is no mapping")  # noqa: TRY004 -- the file is wrong, not a caller
    unknown = sorted(str(key) for key in entry if key not in _LISTED)
    if unknown:
        raise ValueError(f"an account has {', '.join(unknown)}, which nobody knows")
    name, secret = (_text(entry, key) for key in ("accessKey", "secretKey"))
    if len(name) < SHORTEST_KEY or len(secret) < SHORTEST_KEY:
        raise ValueError(f"accessKey {name!r} and its secretKey must be longer than {SHORTEST_KEY - 1} characters")
    try:
        return PlainAccount(
            access_key=name,
            secret_key=secret,
            white=white_patterns(_text(entry, "whiteRemoteAddress")),
            is_admin=_flag(entry, "admin"),
            default_topic=_perm(_text(entry, "defaultTopicPerm") or "DENY"),
            default_group=_perm(_text(entry, "defaultGroupPerm") or "DENY"),
            topics=_perms(entry, "topicPerms"),
            groups=_perms(entry, "groupPerms"),
        )
    except ValueError as error:
        raise ValueError(f"account {name}: {error}") from None


def _text(entry: Mapping[Any, Any], key: str) -> str:
    value = entry.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text: put it in quotes")  # noqa: TRY004 -- as above
    return value


def _flag(entry: Mapping[Any, Any], key: str) -> bool:
    value = entry.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise ValueError(f"{key} is neither true nor false")


def _perms(entry: Mapping[Any, Any], key: str) -> dict[str, Perm]:
    listed = entry.get(key) or []
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise ValueError(f"{key} is no list of texts")
    found = {}
    for each in listed:
        name, separator, perm = each.partition("=")
        if not name.strip() or not separator:
            raise ValueError(f"{key}: {each!r} is not NAME=PERMISSION")
        found[name.strip()] = _perm(perm)
    return found


def _perm(text: str) -> Perm:
    found = _PERMS.get(text.replace(" ", ""))
    if found is None:
        raise ValueError(f"{text!r} is none of {', '.join(_PERMS)}")
    return found


def _reason(need: Need, code: int, name: str) -> str:
    if need.is_administrative:
        return f"Need admin permission for request code={code}, but accessKey={name} is not"
    kind = "topic" if need.kind is Kind.TOPIC else "group"
    return f"No default permission for {kind}:{need.name}"


def _refused(text: str) -> RequestRefusedError:
    return refused(ResponseCode.SYSTEM_ERROR, f"{_EXCEPTION}{text}")
