"""Headers of the requests about topics: 216, 217, 224."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicFromNamesrvRequestHeader:
    """216. Without a cluster name the topic is forgotten everywhere."""

    topic: str | None = None
    cluster_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterTopicRequestHeader:
    """217."""

    topic: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicsByClusterRequestHeader:
    """224."""

    cluster: str | None = None
