"""Users and what they may do, as 5.x has them.

Owns: the tables; what a change of them may be; the decision about a request, in the words of 5.5.0.
Must not know: files; who changes them.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from cosmodrome.broker.refusals import refused
from cosmodrome.broker.security.hosts import host_of, is_matched, source_pattern
from cosmodrome.broker.security.needs import Action, Kind, Need, Needs
from cosmodrome.errors import RequestRefusedError
from cosmodrome.protocol.acl import ACCESS_KEY, is_signed
from cosmodrome.protocol.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.transport.dispatch import Peer

SUPER: Final = "Super"
NORMAL: Final = "Normal"
ENABLE: Final = "enable"
DISABLE: Final = "disable"
CUSTOM: Final = "Custom"
DEFAULT: Final = "Default"
ALLOW: Final = "Allow"
DENY: Final = "Deny"
_USER: Final = "User:"
_ANY: Final = "*"
_TYPES: Final = {each.lower(): each for each in (SUPER, NORMAL)}
_STATES: Final = {each.lower(): each for each in (ENABLE, DISABLE)}
_POLICIES: Final = {each.lower(): each for each in (CUSTOM, DEFAULT)}
_DECISIONS: Final = {each.lower(): each for each in (ALLOW, DENY)}
_ACTIONS: Final = {each.value.lower(): each.value for each in Action}
_KINDS: Final = {each.value.lower(): each for each in Kind}
LONGEST_NAME: Final = 255


class Users:
    """The tables. `is_changed` is for whoever keeps them to take back.

    Args:
        is_authorizing: Whether policies are asked; without it all users may send and consume, and administration is
            for super users.
    """

    def __init__(self, *, is_authorizing: bool) -> None:
        """Begin without anybody."""
        self._users: dict[str, UserInfo] = {}
        self._acls: dict[str, AclInfo] = {}
        self._is_authorizing = is_authorizing
        self.is_changed = False

    def load(self, users: Iterable[UserInfo], acls: Iterable[AclInfo]) -> None:
        """Take over what was kept.

        Raises:
            RequestRefusedError: Something in it cannot be.
        """
        self._users = {each.username: _checked_user(each) for each in users}
        self._acls = {each.subject: _checked_acl(each) for each in acls}

    def users(self) -> tuple[UserInfo, ...]:
        """Give all users with their passwords, to be kept."""
        return tuple(self._users[name] for name in sorted(self._users))

    def acls(self) -> tuple[AclInfo, ...]:
        """Give what everybody may do."""
        return tuple(self._acls[name] for name in sorted(self._acls))

    def user(self, name: str) -> UserInfo | None:
        """Give a user."""
        return self._users.get(name)

    def acl(self, subject: str) -> AclInfo | None:
        """Give what a subject may do."""
        return self._acls.get(subject)

    def create(self, user: UserInfo) -> None:
        """Make a user.

        Raises:
            RequestRefusedError: It exists, or cannot be.
        """
        checked = _checked_user(user)
        if checked.username in self._users:
            raise _denied("The user is existed")
        self._put(checked)

    def update(self, user: UserInfo) -> None:
        """Change what is said of a user.

        Raises:
            RequestRefusedError: There is none, or it cannot be like this.
        """
        old = self._users.get(user.username)
        if old is None:
            raise _denied("The user is not exist")
        changed = UserInfo(
            username=old.username,
            password=user.password or old.password,
            user_type=user.user_type or old.user_type,
            user_status=user.user_status or old.user_status,
        )
        self._put(_checked_user(changed))

    def _put(self, user: UserInfo) -> None:
        self._users[user.username] = user
        self.is_changed = True

    def delete(self, name: str) -> None:
        """Forget a user, and what it may do."""
        self._users.pop(name, None)
        self._acls.pop(_USER + name, None)
        self.is_changed = True

    def allow(self, acl: AclInfo) -> None:
        """Add to what a user may do; what is said of a resource again is said instead (3006, 3007).

        Raises:
            RequestRefusedError: There is no such user, or it cannot be like this.
        """
        checked = _checked_acl(acl)
        self._known(checked.subject)
        old = self._acls.get(checked.subject)
        policies = {} if old is None else {each.policy_type: each for each in old.policies}
        for policy in checked.policies:
            kept = policies.get(policy.policy_type)
            entries = {} if kept is None else {each.resource: each for each in kept.entries}
            entries |= {each.resource: each for each in policy.entries}
            policies[policy.policy_type] = PolicyInfo(policy_type=policy.policy_type, entries=tuple(entries.values()))
        self._acls[checked.subject] = AclInfo(subject=checked.subject, policies=tuple(policies.values()))
        self.is_changed = True

    def forbid(self, subject: str, policy_type: str | None, resource: str | None) -> None:
        """Forget what was said of a user, or of one resource for it.

        Raises:
            RequestRefusedError: Nothing was said of it.
        """
        self._known(subject)
        old = self._acls.get(subject)
        if old is None:
            raise _denied("The acl is not exist")
        kept = []
        for policy in old.policies:
            is_meant = policy_type is None or policy.policy_type.lower() == policy_type.lower()
            left = (
                tuple(each for each in policy.entries if resource and each.resource != resource)
                if is_meant
                else policy.entries
            )
            if left:
                kept.append(msgspec.structs.replace(policy, entries=left))
        if kept:
            self._acls[subject] = AclInfo(subject=subject, policies=tuple(kept))
        else:
            del self._acls[subject]
        self.is_changed = True

    def _known(self, subject: str) -> None:
        if subject.removeprefix(_USER) not in self._users:
            raise _denied(f"The subject of {subject} is not exist.")

    def authenticate(self, request: RemotingCommand) -> UserInfo:
        """Give whose request it is.

        Raises:
            RequestRefusedError: Nobody's.
        """
        fields = request.ext_fields or {}
        name = fields.get(ACCESS_KEY)
        if not name:
            raise _denied("username cannot be null.")
        user = self._users.get(name)
        if user is None:
            raise _denied(f"User:{name} is not found.")
        if user.user_status == DISABLE:
            raise _denied(f"User:{name} is disabled.")
        if not is_signed(fields, request.body, user.password or ""):
            raise _denied("check signature failed.")
        return user

    def authorize(self, user: UserInfo, peer: Peer, needs: Needs) -> None:
        """Let a user's request pass.

        Raises:
            RequestRefusedError: It may not.
        """
        if user.user_type == SUPER:
            return
        for need in needs:
            if not self._is_authorizing and not need.is_administrative:
                continue
            reason = self._reason(user, peer, need)
            if reason is not None:
                place = host_of(peer.address)
                what = f"{need.kind.value}:{need.name}"
                raise _denied(f"User:{user.username} has no permission to access {what} from {place}, {reason}")

    def _reason(self, user: UserInfo, peer: Peer, need: Need) -> str | None:
        if not self._is_authorizing:
            return "only a super user may."
        acl = self._acls.get(_USER + user.username)
        policies = {} if acl is None else {each.policy_type: each.entries for each in acl.policies}
        for policy_type in (CUSTOM, DEFAULT):
            fitting = [each for each in policies.get(policy_type, ()) if _fits(each, need, peer)]
            if fitting:
                decisive = min(fitting, key=_precedence)
                return None if decisive.decision == ALLOW else "the decision is deny."
        return "no matched policies."


def _fits(entry: PolicyEntryInfo, need: Need, peer: Peer) -> bool:
    kind, _, name = entry.resource.partition(":")
    if entry.resource != _ANY and kind != need.kind.value:
        return False
    is_named = entry.resource == _ANY or name in (_ANY, need.name)
    if not is_named and not (name.endswith(_ANY) and need.name.startswith(name[:-1])):
        return False
    if Action.ALL.value not in entry.actions and not any(action.value in entry.actions for action in need.actions):
        return False
    return not entry.source_ips or is_matched(peer, map(source_pattern, entry.source_ips))


def _precedence(entry: PolicyEntryInfo) -> tuple[int, int, int]:
    """Give what sorts the entry that decides first: the closest name, and of equals the one that forbids."""
    name = entry.resource.partition(":")[2]
    if entry.resource == _ANY:
        closeness = 3
    elif name == _ANY:
        closeness = 2
    else:
        closeness = int(name.endswith(_ANY))
    return closeness, -len(name), int(entry.decision == ALLOW)


def _checked_user(user: UserInfo) -> UserInfo:
    """Give a user as it is kept.

    Raises:
        RequestRefusedError: It cannot be.
    """
    if not user.username.strip() or not user.username.isprintable() or len(user.username) > LONGEST_NAME:
        raise _denied("username can not be blank")
    if not (user.password or "").strip():
        raise _denied("password can not be blank")
    return UserInfo(
        username=user.username,
        password=user.password,
        user_type=_one_of(_TYPES, user.user_type or NORMAL, "userType"),
        user_status=_one_of(_STATES, user.user_status or ENABLE, "userStatus"),
    )


def _checked_acl(acl: AclInfo) -> AclInfo:
    """Give what a user may do as it is kept.

    Raises:
        RequestRefusedError: It cannot be.
    """
    if not acl.subject.startswith(_USER):
        raise _denied(f"The subject {acl.subject[:LONGEST_NAME]} is no User:NAME")
    if not acl.policies:
        raise _denied("The policies is empty.")
    policies = tuple(
        PolicyInfo(
            policy_type=_one_of(_POLICIES, policy.policy_type or CUSTOM, "policyType"),
            entries=tuple(map(_checked_entry, policy.entries)),
        )
        for policy in acl.policies
    )
    return AclInfo(subject=acl.subject, policies=policies)


def _checked_entry(entry: PolicyEntryInfo) -> PolicyEntryInfo:
    kind, separator, name = entry.resource.partition(":")
    found = _KINDS.get(kind.lower())
    if entry.resource != _ANY and (found in (None, Kind.ANY) or not separator or not name):
        raise _denied(f"The resource {entry.resource[:LONGEST_NAME]} is none")
    if not entry.actions:
        raise _denied("The actions is empty.")
    try:
        for each in entry.source_ips or ():
            source_pattern(each)
    except ValueError as error:
        raise _denied(f"The source {error}") from error
    return PolicyEntryInfo(
        resource=_ANY if entry.resource == _ANY else f"{found}:{name}",
        actions=tuple(_one_of(_ACTIONS, each, "action") for each in entry.actions),
        source_ips=entry.source_ips,
        decision=_one_of(_DECISIONS, entry.decision or "", "decision"),
    )


def _one_of(known: dict[str, str], text: str, what: str) -> str:
    found = known.get(text.strip().lower())
    if found is None:
        raise _denied(f"The {what} {text[:LONGEST_NAME]} is none of {', '.join(known.values())}")
    return found


def _denied(text: str) -> RequestRefusedError:
    return refused(ResponseCode.NO_PERMISSION, text)
