"""TopicConfig in its forms, and the wrapper around a broker's table."""

import pytest
from tests.support import wire
from tests.support.builders import mapping

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.topic_config import (
    TopicConfig,
    topic_config_from_json,
    topic_config_from_text,
    topic_table_in_slices,
)
from cosmodrome.protocol.slices import at_once

NOW_MS = 1_800_000_000_000


def test_members() -> None:
    assert topic_config_from_json("k", wire.topic_config("T", 1, 2, 4, 3)) == TopicConfig(
        topic_name="T", read_queue_nums=1, write_queue_nums=2, perm=4, topic_sys_flag=3
    )


def test_absent_members_have_javas_defaults_and_null_ones_are_0() -> None:
    """COMPAT: as in 5.5.0."""
    assert topic_config_from_json("k", {"topicName": "T"}) == TopicConfig(
        topic_name="T", read_queue_nums=16, write_queue_nums=16, perm=6, topic_sys_flag=0
    )
    nulls = {"topicName": "T", "readQueueNums": None, "writeQueueNums": "", "perm": None, "topicSysFlag": None}
    assert topic_config_from_json("k", nulls) == TopicConfig(
        topic_name="T", read_queue_nums=0, write_queue_nums=0, perm=0, topic_sys_flag=0
    )


@pytest.mark.parametrize(
    "document",
    [None, [], 7, {}, {"topicName": None}, {"topicName": "T", "perm": "x"}, {"topicName": "T", "perm": 2**31}],
)
def test_what_is_refused(document: object) -> None:
    with pytest.raises(MalformedBodyError):
        topic_config_from_json("key", document)


@pytest.mark.parametrize(
    ("text", "config"),
    [
        (
            'T1 8 4 6 SINGLE_TAG {"message.type":"FIFO"}',
            TopicConfig(topic_name="T1", read_queue_nums=8, write_queue_nums=4),
        ),
        ("T1 8 4 6 MULTI_TAG", TopicConfig(topic_name="T1", read_queue_nums=8, write_queue_nums=4)),
        ("é +8 -4 06 SINGLE_TAG {a b} c", TopicConfig(topic_name="é", read_queue_nums=8, write_queue_nums=-4)),
        (" 8 4 6 SINGLE_TAG", TopicConfig(topic_name="", read_queue_nums=8, write_queue_nums=4)),
    ],
)
def test_the_text_form(text: str, config: TopicConfig) -> None:
    """Fields are separated by one blank; what follows the fifth is not used, and the sys flag is not there."""
    assert topic_config_from_text(text) == config


@pytest.mark.parametrize(
    "text",
    ["", "T", "T 8 8 6", "T 8 8 6 BOTH_TAGS", "T 8 8 6 single_tag", "T x 8 6 SINGLE_TAG", "T 8  8 6 SINGLE_TAG",
     "T 8 8 2147483648 SINGLE_TAG", "T 8 8 6.0 SINGLE_TAG", "T 8 ٣ 6 SINGLE_TAG", "T 8 8 99999999999 SINGLE_TAG"],
)  # fmt: skip
def test_texts_that_are_refused(text: str) -> None:
    with pytest.raises(MalformedBodyError):
        topic_config_from_text(text)


def test_a_table() -> None:
    document = wire.topic_wrapper([wire.topic_config("T")], mappings=[wire.mapping_info("T", "broker-a", {0: 0})])

    table = at_once(topic_table_in_slices(document, NOW_MS))

    assert list(table.topic_configs) == ["T"]
    assert table.topic_queue_mapping_infos == {"T": mapping("T")}
    assert table.data_version.counter == 1


def test_an_empty_table() -> None:
    table = at_once(topic_table_in_slices({"topicConfigTable": None}, NOW_MS))

    assert (table.topic_configs, table.topic_queue_mapping_infos) == ({}, {})
    assert table.data_version.timestamp == NOW_MS


@pytest.mark.parametrize(
    "document",
    [None, [], "x", {"topicConfigTable": []}, {"topicConfigTable": {"T": None}}, {"topicQueueMappingInfoMap": 7},
     {"topicQueueMappingInfoMap": {"T": None}}, {"dataVersion": []}],
)  # fmt: skip
def test_tables_that_are_refused(document: object) -> None:
    """A null in a table is one: Java's maps refuse it too."""
    with pytest.raises(MalformedBodyError):
        at_once(topic_table_in_slices(document, NOW_MS))
