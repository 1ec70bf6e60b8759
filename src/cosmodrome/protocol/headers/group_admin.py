"""Headers of the requests about consumer groups: 201, 207, 208, 308, 343, 352."""

from cosmodrome.protocol.ext_fields import HeaderFields, Int32


class GetAllSubscriptionGroupRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """201. The table in parts (5.x), as in 21."""

    group_seq: Int32 | None = None
    data_version: str | None = None
    max_group_num: Int32 | None = None


class GetAllSubscriptionGroupResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """201, answer of 5.x."""

    total_group_num: Int32 | None = None


class DeleteSubscriptionGroupRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """207. Whether offsets go too is `clean_offset` in 5.x and `remove_offset` in 4.9."""

    group_name: str | None = None
    clean_offset: bool | None = None
    remove_offset: bool | None = None


class GetConsumeStatsRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """208. Without a topic all those are meant in which the group has offsets; `topic_list` is separated by `;`."""

    consumer_group: str | None = None
    topic: str | None = None
    topic_list: str | None = None


class QueryCorrectionOffsetRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """308. `filter_groups` is separated by commas."""

    filter_groups: str | None = None
    compare_group: str | None = None
    topic: str | None = None


class GroupRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """343 and 352, each of which names a consumer group and nothing else."""

    group: str | None = None
