"""The three forms of a result, and a reader that goes away."""

import io
import json
import os
from pathlib import Path

import pytest

from cosmodrome.admin.java_json import java_pretty
from cosmodrome.admin.output import Output, OutputForm, Verbosity, error_facts, snake_case
from cosmodrome.errors import DeniedError, NotPermittedError
from cosmodrome.protocol.bodies.route import BrokerData, QueueData, TopicQueueMappingInfo, TopicRouteData
from cosmodrome.shown_text import shown

ROUTE = TopicRouteData(
    broker_datas=(BrokerData(broker_addrs={0: "h:1", 1: "h:2"}, broker_name="a", cluster="C"),),
    queue_datas=(QueueData(broker_name="a", perm=6, read_queue_nums=4, topic_sys_flag=0, write_queue_nums=8),),
    filter_server_table={"h:1": ("f:1",)},
    topic_queue_mapping_by_broker={
        "a": TopicQueueMappingInfo(topic='T"', bname="a", curr_id_map={0: 0, 4: 1}, scope="__global__", total_queues=8)
    },
)


class Written:
    """An output, and what came of it."""

    def __init__(self, form: OutputForm, verbosity: Verbosity = Verbosity.USUAL) -> None:
        self._stdout, self._stderr = io.StringIO(), io.StringIO()
        self.output = Output(form, self._stdout, self._stderr, verbosity)

    @property
    def out(self) -> str:
        return self._stdout.getvalue()

    @property
    def err(self) -> str:
        return self._stderr.getvalue()


def say_everything(output: Output) -> None:
    output.text("head")
    output.row({"a": 1}, "one", "more of one")
    output.row({"a": 2}, "two")
    output.confirm("done")
    output.end("rows", count=2)


def test_text_is_the_lines() -> None:
    written = Written(OutputForm.TEXT)
    say_everything(written.output)
    written.output.document({"not": "text"})

    assert written.out == "head\none\nmore of one\ntwo\ndone\n"
    assert written.err == ""


def test_json_is_one_document_with_facts_first() -> None:
    written = Written(OutputForm.JSON)
    say_everything(written.output)

    assert json.loads(written.out) == {"count": 2, "rows": [{"a": 1}, {"a": 2}]}
    assert written.out.startswith('{\n  "count": 2')
    assert written.out.endswith("}\n")


def test_a_second_listing_begins_anew() -> None:
    written = Written(OutputForm.JSON)
    written.output.row({"a": 1})
    written.output.end("rows")
    written.output.end("rows")

    assert written.out.count('"a"') == 1


def test_json_lines_are_the_rows() -> None:
    written = Written(OutputForm.NDJSON)
    say_everything(written.output)
    written.output.document({"b": "é"})

    assert written.out == '{"a":1}\n{"a":2}\n{"b":"é"}\n'


def test_one_object_is_a_document() -> None:
    written = Written(OutputForm.JSON)
    written.output.document({"b": 1})

    assert json.loads(written.out) == {"b": 1}


@pytest.mark.parametrize(
    ("verbosity", "out", "err"),
    [
        (Verbosity.QUIET, "result\n", ""),
        (Verbosity.USUAL, "result\ndone\n", "note: a\n"),
        (Verbosity.DETAILED, "result\ndone\n", "note: a\ndetail: b\n"),
    ],
)
def test_how_much_is_said_beside_results(verbosity: Verbosity, out: str, err: str) -> None:
    written = Written(OutputForm.TEXT, verbosity)
    written.output.text("result")
    written.output.confirm("done")
    written.output.note("a")
    written.output.detail("b")

    assert (written.out, written.err) == (out, err)
    assert written.output.is_detailed is (verbosity is Verbosity.DETAILED)


def test_errors_are_told_in_three_parts_even_when_quiet() -> None:
    written = Written(OutputForm.TEXT, Verbosity.QUIET)
    written.output.error(DeniedError("no.", why="policy.", remedy="ask"))

    assert written.err == "error[NS-DENIED]: no.\n  why: policy.\n  do:  ask\n"


def test_an_error_as_json_has_the_server_s_code_and_remark() -> None:
    error = DeniedError("no.", remedy="ask")
    error.__cause__ = NotPermittedError("h:1", 16, "policy")

    assert error_facts(error) == {
        "id": "NS-DENIED",
        "what": "no.",
        "why": None,
        "do": "ask",
        "code": 16,
        "remark": "policy",
    }
    assert "code" not in error_facts(DeniedError("no."))


def test_the_rest_is_dropped_when_the_reader_is_gone(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stderr = io.StringIO()
    with os.fdopen(writer, "w") as stdout:
        output = Output(OutputForm.TEXT, stdout, stderr, Verbosity.USUAL)
        output.text("x" * 100_000)
        output.text("y")
        output.flush()
        output.note("still here")
        output.flush()

    assert stderr.getvalue() == "note: still here\n"


def test_a_reader_of_errors_that_is_gone_ends_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stderr, open(os.devnull, "w", encoding="utf-8") as stdout:  # noqa: PTH123
        output = Output(OutputForm.TEXT, stdout, stderr, Verbosity.USUAL)
        output.note("x" * 100_000)
        os.dup2(stdout.fileno(), stderr.fileno())


def test_control_characters_cannot_move_the_cursor_or_end_a_line() -> None:
    assert shown("a\x1b[2J\nb\x9bé消\u2028") == "a\\x1b[2J\\nb\\x9bé消\\u2028"


def test_wire_values_have_one_spelling_in_json() -> None:
    document = snake_case(ROUTE)

    assert document["broker_datas"][0] == {
        "broker_addrs": {"0": "h:1", "1": "h:2"},
        "broker_name": "a",
        "cluster": "C",
        "enable_acting_master": False,
        "zone_name": None,
    }
    assert document["queue_datas"][0]["write_queue_nums"] == 8
    assert document["filter_server_table"] == {"h:1": ["f:1"]}
    assert json.loads(json.dumps(document)) == document


def test_java_s_json_has_tabs_bare_integer_keys_and_no_nulls() -> None:
    text = java_pretty(ROUTE)

    assert text.startswith(
        '{\n\t"brokerDatas":[\n\t\t{\n\t\t\t"brokerAddrs":{\n\t\t\t\t0:"h:1",\n\t\t\t\t1:"h:2"\n\t\t\t},\n'
        '\t\t\t"brokerName":"a",\n\t\t\t"cluster":"C",\n\t\t\t"enableActingMaster":false\n\t\t}\n\t],\n'
        '\t"filterServerTable":{\n\t\t"h:1":[\n\t\t\t"f:1"\n\t\t]\n\t},\n\t"queueDatas":[\n'
    )
    assert '"topic":"T\\"",\n\t\t\t"totalQueues":8' in text
    assert '"currIdMap":{\n\t\t\t\t0:0,\n\t\t\t\t4:1\n' in text
    assert "null" not in text
    assert java_pretty({"a": [], "b": {}}) == '{\n\t"a":[\n\t\t\n\t],\n\t"b":{}\n}'
