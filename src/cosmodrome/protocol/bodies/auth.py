"""Bodies about users and what they may do (5.x): 3001 to 3010.

Owns: the values.
Must not know: who may do what.
"""

import msgspec

from cosmodrome.protocol.json_structs import BodyFields


class UserInfo(BodyFields, frozen=True, kw_only=True):
    """3001, 3002, and the answers of 3004 and 3005. `user_type` is `Super` or `Normal`, `user_status` `enable` or `disable`."""

    username: str = ""
    password: str | None = None
    user_type: str | None = None
    user_status: str | None = None

    def __repr__(self) -> str:
        return f"UserInfo(username={self.username!r}, user_type={self.user_type!r}, user_status={self.user_status!r})"


class PolicyEntryInfo(BodyFields, frozen=True, kw_only=True):
    """What may, or may not, be done with a resource, from where. No sources are all; `decision` is `Allow` or `Deny`."""

    resource: str = ""
    actions: tuple[str, ...] = ()
    source_ips: tuple[str, ...] | None = None
    decision: str | None = None


class PolicyInfo(BodyFields, frozen=True, kw_only=True):
    """Entries of one type: `Custom`, or `Default`, which counts where no custom one fits."""

    policy_type: str = "Custom"
    entries: tuple[PolicyEntryInfo, ...] = ()


class AclInfo(BodyFields, frozen=True, kw_only=True):
    """3006, 3007, and the answers of 3009 and 3010. `subject` is `User:NAME`."""

    subject: str = ""
    policies: tuple[PolicyInfo, ...] = ()


class AuthTables(BodyFields, frozen=True, kw_only=True):
    """The file in which a broker of ours keeps all of them."""

    users: tuple[UserInfo, ...] = ()
    acls: tuple[AclInfo, ...] = ()


class InitialUser(BodyFields, frozen=True, kw_only=True):
    """The value of `initAuthenticationUser`."""

    username: str
    password: str


class InnerCredentials(BodyFields, frozen=True, kw_only=True):
    """The value of `innerClientAuthenticationCredentials`."""

    access_key: str
    secret_key: str
    security_token: str | None = msgspec.field(default=None)


class PlainAccessConfig(BodyFields, frozen=True, kw_only=True):
    """One account of a plain ACL (4.9), without its secret."""

    access_key: str
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: tuple[str, ...] | None = None
    group_perms: tuple[str, ...] | None = None


class AclConfig(BodyFields, frozen=True, kw_only=True):
    """54, answer."""

    global_white_addrs: tuple[str, ...] = ()
    plain_access_configs: tuple[PlainAccessConfig, ...] = ()
