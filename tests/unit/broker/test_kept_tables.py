"""Tables as files, in the form of Apache's brokers."""

import json
from pathlib import Path

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.kept_tables import KeptTables, document_of
from cosmodrome.broker.state import new_state, sources
from cosmodrome.protocol.bodies.offsets import ConsumerOffsetTable
from cosmodrome.protocol.bodies.topics import BrokerTopicTable
from cosmodrome.store.config_files import CONSUMER_OFFSETS, TOPICS, ConfigFiles

NOW_MS = 1_700_000_000_000


def kept_in(folder: Path) -> KeptTables:
    return KeptTables(ConfigFiles(folder), lambda: NOW_MS)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    state = new_state(BrokerConfig(broker_name="b"), NOW_MS)
    state.offsets.commit("T", "G", 3, 250)
    kept = kept_in(tmp_path)
    for name, make in sources(state, Clock(lambda: NOW_MS, lambda: 0)).items():
        kept.write(name, make())
    assert kept.read(TOPICS, BrokerTopicTable) == state.topics.table()
    assert kept.read(CONSUMER_OFFSETS, ConsumerOffsetTable) == state.offsets.table()
    assert kept.lost == []


def test_the_text_is_that_of_java(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    kept.write(CONSUMER_OFFSETS, document_of(ConsumerOffsetTable(offset_table={"T@G": {0: 250, 1: 251}})))
    text = (tmp_path / "config" / CONSUMER_OFFSETS).read_text(encoding="utf-8")
    assert text == '{\n\t"offsetTable":{\n\t\t"T@G":{\n\t\t\t0:250,\n\t\t\t1:251\n\t\t}\n\t}\n}'


def test_there_may_be_none(tmp_path: Path) -> None:
    kept = kept_in(tmp_path)
    assert kept.read(TOPICS, BrokerTopicTable) is None
    assert kept.lost == []


def test_standard_json_with_quoted_numbers_is_read(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / CONSUMER_OFFSETS).write_text(
        json.dumps({"offsetTable": {"T@G": {"0": 1}}}), encoding="utf-8"
    )
    found = kept_in(tmp_path).read(CONSUMER_OFFSETS, ConsumerOffsetTable)
    assert found is not None
    assert found.offset_table == {"T@G": {0: 1}}
