"""Bodies about a broker's topics: 18, 21, 305, 343, 351.

Owns: the values.
Must not know: where a broker keeps them. What a NameServer reads of a TopicConfig is in topic_config.py, the
    answers of 305 and 343 are a TopicList (cluster.py).
"""

from collections.abc import Mapping
from enum import StrEnum

from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_structs import BodyFields


class TopicFilterType(StrEnum):
    """How many tags a message of a topic may have; nothing depends on it."""

    SINGLE_TAG = "SINGLE_TAG"
    MULTI_TAG = "MULTI_TAG"


class BrokerTopicConfig(BodyFields, frozen=True, kw_only=True):
    """351, answer: a TopicConfig with all its members, as a broker keeps it. Attributes are 5.x."""

    topic_name: str
    read_queue_nums: Int32 = 16
    write_queue_nums: Int32 = 16
    perm: Int32 = 6
    topic_filter_type: TopicFilterType = TopicFilterType.SINGLE_TAG
    topic_sys_flag: Int32 = 0
    order: bool = False
    attributes: Mapping[str, str] | None = None


class BrokerTopicTable(BodyFields, frozen=True, kw_only=True):
    """21, answer (Java: TopicConfigSerializeWrapper), and the file of topics."""

    data_version: DataVersion | None = None
    topic_config_table: Mapping[str, BrokerTopicConfig] = {}


class CreateTopicListRequestBody(BodyFields, frozen=True, kw_only=True):
    """18."""

    topic_config_list: tuple[BrokerTopicConfig, ...] = ()
