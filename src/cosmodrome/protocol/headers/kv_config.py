"""Headers of the requests about KV config: 100, 101, 102, 219."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PutKVConfigRequestHeader:
    """100."""

    namespace: str | None = None
    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KVConfigKeyRequestHeader:
    """101 and 102."""

    namespace: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKVConfigResponseHeader:
    """101, answer."""

    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKVListByNamespaceRequestHeader:
    """219."""

    namespace: str | None = None
