"""What docs/client.md says of producers is true."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

import cosmodrome
from cosmodrome.client.message import Message, SendStatus
from cosmodrome.client.producer.producer import Producer
from cosmodrome.client.producer.retry import PASSING
from cosmodrome.client.producer.settings import ProducerSettings

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "client.md").read_text(encoding="utf-8")
PRODUCER = TEXT.partition("## Producer")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def rows(heading: str) -> list[list[str]]:
    """Give the cells of the table below a heading of the producer's part."""
    part = PRODUCER.partition(f"### {heading}\n")[2].partition("\n### ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_setting_is_there_with_its_default() -> None:
    told: dict[str, str] = {}
    for name_cell, default, *_ in rows("Settings"):
        told |= dict.fromkeys(named(name_cell), default)
    defaults = {each.name: each.default for each in dataclasses.fields(ProducerSettings)}
    assert set(told) == set(defaults) | {"check_transaction", "session"}
    for name, default in told.items():
        value = defaults.get(name)
        if isinstance(value, (int, float)) and re.fullmatch(r"[\d.]+|True|False", default):
            assert str(value).removesuffix(".0") == default, name


@pytest.mark.parametrize("value", ["`TBW102`, 4", "10000, 32 MiB", "`zlib`, 5", "4096"])
def test_defaults_that_stand_together(value: str) -> None:
    assert f"| {value} |" in PRODUCER
    settings = ProducerSettings(group="g", namesrv="127.0.0.1:1")
    assert (settings.create_topic, settings.create_topic_queues) == ("TBW102", 4)
    assert (settings.max_pending_sends, settings.max_pending_bytes) == (10_000, 32 * 2**20)
    assert (settings.compression, settings.compression_level, settings.compress_over_bytes) == ("zlib", 5, 4096)


def test_every_member_of_a_message_is_there() -> None:
    told = {name for row in rows("Messages") for name in named(row[0])}
    assert told == set(Message.__struct_fields__)


def test_every_call_is_there() -> None:
    told = {re.match(r"(?:await )?(\w+)\(", name)[1] for row in rows("Sends") for name in named(row[0])}  # type: ignore[index]
    mentioned = set(re.findall(r"(\w+)\(", PRODUCER))
    public = {name for name in vars(Producer) if not name.startswith("_") and callable(getattr(Producer, name))}
    assert told <= public <= mentioned | {"start"}


def test_the_codes_that_are_tried_again_are_those() -> None:
    listed = re.search(r"answers with one of ([\d, ]+)", PRODUCER)
    assert listed is not None
    assert {int(code) for code in listed[1].strip(", ").split(",")} == set(map(int, PASSING))


def test_every_status_is_there() -> None:
    assert all(f"`{status.name}`" in PRODUCER for status in SendStatus)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_examples_are_python_and_name_what_there_is(block: str) -> None:
    text = f"async def example():\n{''.join(f'    {line}' for line in block.splitlines(keepends=True))}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "cosmodrome":
            assert all(hasattr(cosmodrome, alias.name) for alias in node.names)
