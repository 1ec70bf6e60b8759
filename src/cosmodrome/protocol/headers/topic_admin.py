"""Headers of the requests about topics that brokers answer: 17, 18, 21, 202, 215, 300, 351."""

from cosmodrome.protocol.ext_fields import HeaderFields, Int32


class CreateTopicRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """17. `attributes` is `+key=value,-key` (5.x); `default_topic` has no use and must be there."""

    topic: str | None = None
    default_topic: str | None = None
    read_queue_nums: Int32 | None = None
    write_queue_nums: Int32 | None = None
    perm: Int32 | None = None
    topic_filter_type: str | None = None
    topic_sys_flag: Int32 | None = None
    order: bool | None = None
    attributes: str | None = None
    force: bool | None = None


class TopicRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """202, 215, 300 and 351, each of which names a topic and nothing else."""

    topic: str | None = None


class GetAllTopicConfigRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """21. The table in parts (5.x): `data_version` is that of the first part, as JSON."""

    topic_seq: Int32 | None = None
    data_version: str | None = None
    max_topic_num: Int32 | None = None


class GetAllTopicConfigResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """21, answer of 5.x."""

    total_topic_num: Int32 | None = None
