"""Headers of the requests about users and what they may do (5.x): 3001 to 3010."""

from cosmodrome.protocol.ext_fields import HeaderFields


class UserRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """3001 to 3004, each of which names a user and nothing else."""

    username: str | None = None


class ListUsersRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """3005. `filter` is a part of the name."""

    filter: str | None = None


class AclRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """3006, 3007 and 3009, each of which names a subject and nothing else."""

    subject: str | None = None


class DeleteAclRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """3008. Without a resource everything of the subject is meant."""

    subject: str | None = None
    policy_type: str | None = None
    resource: str | None = None


class ListAclsRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """3010. Both filters are parts of the names."""

    subject_filter: str | None = None
    resource_filter: str | None = None
