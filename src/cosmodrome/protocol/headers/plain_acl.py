"""Headers of the requests about the accounts of a plain ACL (4.9): 50, 51, 52, 53."""

from cosmodrome.protocol.ext_fields import HeaderFields


class CreateAccessConfigRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """50. Lists of permissions have commas between; what is not there stays as it is."""

    access_key: str | None = None
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool | None = None
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None

    def __repr__(self) -> str:
        return f"CreateAccessConfigRequestHeader(access_key={self.access_key!r})"


class DeleteAccessConfigRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """51."""

    access_key: str | None = None


class GetBrokerAclConfigResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """52, answer: versions as the JSON of a DataVersion, and of a map of them by file."""

    version: str | None = None
    all_acl_file_version: str | None = None
    broker_name: str | None = None
    broker_addr: str | None = None
    cluster_name: str | None = None


class UpdateGlobalWhiteAddrsConfigRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """53. Addresses have commas between; the file is the main one when none is named."""

    global_white_addrs: str | None = None
    acl_file_full_path: str | None = None
