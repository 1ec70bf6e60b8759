"""Headers of the requests about a broker's counters and configuration: 26, 315, 317."""

from cosmodrome.protocol.ext_fields import HeaderFields


class ViewBrokerStatsDataRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """315. For a group and a topic the key is `topic@group`."""

    stats_name: str | None = None
    stats_key: str | None = None


class GetConsumeStatsInBrokerHeader(HeaderFields, frozen=True, kw_only=True):
    """317."""

    is_order: bool | None = None


class GetBrokerConfigResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """26, answer: the version of the configuration, as the JSON of a DataVersion."""

    version: str | None = None
