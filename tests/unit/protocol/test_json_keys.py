"""Maps with objects and numbers as keys, and references."""

from typing import Any

import pytest

from cosmodrome.errors import BodyLimitError, MalformedBodyError
from cosmodrome.protocol.json_dialects import encode_json
from cosmodrome.protocol.json_keys import MAX_REFERRED_VALUES, object_keyed, parse_key, parse_keyed, resolve_references

QUEUE = '{"brokerName":"b","queueId":0,"topic":"T"}'
OTHER = QUEUE.replace("0", "1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1}', {"a": 1}),
        (f"{{{QUEUE}:5}}", {QUEUE: 5}),
        (f"{{{QUEUE}:5,{OTHER}:6}}", {QUEUE: 5, OTHER: 6}),
        (
            f'{{"t":{{{QUEUE}:{{"x":[{QUEUE}]}}}}}}',
            {"t": {QUEUE: {"x": [{"brokerName": "b", "queueId": 0, "topic": "T"}]}}},
        ),
        ("{ {} : 1 }", {"{}": 1}),
        ("{0:1,-1:2}", {"0": 1, "-1": 2}),
        ("{'a':1,}", {"a": 1}),
        ('{{"a":1}:2,b:3}', {'{"a":1}': 2, "b": 3}),
    ],
)
def test_keys_of_any_kind(text: str, value: Any) -> None:
    assert parse_keyed(text.encode()) == value


@pytest.mark.parametrize(
    "text", ['{"a":"{{\\"b\\":1}:2}"}', '{"a":",1:","b":"{0:"}', '["\\\\",{"x":"\\",{\\"y\\":1}:"}]', '"{1:2}"']
)
def test_nothing_inside_a_text_is_a_key(text: str) -> None:
    """Also when a key elsewhere makes the document one that is read again."""
    plain = parse_keyed(text.encode())

    assert parse_keyed(b'{{"k":0}:%b}' % text.encode()) == {'{"k":0}': plain}


def test_a_key_that_holds_braces_in_its_texts() -> None:
    key = '{"brokerName":"}{\\"","topic":"{"}'

    assert parse_keyed(b"{%b:1}" % key.encode()) == {key: 1}
    assert parse_key(key) == {"brokerName": '}{"', "topic": "{"}


@pytest.mark.parametrize("text", ["", "{", "{{:1}", '{{"a":1}}', '{{"a":{"b":1}}:2}', "{1}", '{"a":1}x', '{{"a":"}:1}'])
def test_what_is_no_document(text: str) -> None:
    with pytest.raises(MalformedBodyError):
        parse_keyed(text.encode())


def test_too_many_values() -> None:
    with pytest.raises(BodyLimitError):
        parse_keyed(b"[1,2,3,4,5,6]", max_values=4)


def test_what_is_written_is_read() -> None:
    written = encode_json({"t": object_keyed([({"a": 1}, [2]), ({"a": 2}, {})])})

    assert written == b'{"t":{{"a":1}:[2],{"a":2}:{}}}'
    assert parse_keyed(written) == {"t": {'{"a":1}': [2], '{"a":2}': {}}}


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("$.a.b", [1, {"c": 2}]), ("$.a.b[1]", {"c": 2}), ("$['a'].b[1].c", 2), ('$["x.y"]', 3), ("$.a.b[0]", 1),
        ("$.a.b[2]", None), ("$.a.b.c", None), ("$.none", None), ("@", None), ("..", None), ("$", None), ("$.a[", None),
        ("$.a.b[1][0]", None), ("", None), ("$.a.b[99999999999]", None),
    ],
)  # fmt: skip
def test_a_reference_is_what_it_leads_to(path: str, target: Any) -> None:
    """But one to what holds a reference itself: the document could hold itself."""
    document = {"a": {"b": [1, {"c": 2}]}, "x.y": 3, "r": {"$ref": path}}

    assert resolve_references(document)["r"] == target


def test_references_in_a_document_are_resolved() -> None:
    body = b'{"set":[{"topic":"T"}],"table":{%b:{"$ref":"$.set[0]"}}}' % QUEUE.encode()

    assert parse_keyed(body) == {"set": [{"topic": "T"}], "table": {QUEUE: {"topic": "T"}}}


def test_references_do_not_multiply() -> None:
    """A list of many items, referred to often, is more than any document says."""
    items = ",".join(["1"] * 1000)
    few, many = (",".join(['{"$ref":"$.a"}'] * count) for count in (3, MAX_REFERRED_VALUES // 1000 + 1))

    assert len(parse_keyed(b'{"a":[%b],"b":[%b]}' % (items.encode(), few.encode()))["b"]) == 3
    with pytest.raises(BodyLimitError):
        parse_keyed(b'{"a":[%b],"b":[%b]}' % (items.encode(), many.encode()))


def test_references_in_a_deep_document() -> None:
    deep = b'{"$ref":"$.a"}'
    for _ in range(900):
        deep = b"[%b]" % deep

    with pytest.raises(MalformedBodyError):
        resolve_references(deeper(2000))
    assert isinstance(parse_keyed(b'{"a":1,"b":%b}' % deep[600:-600]), dict)


def deeper(levels: int) -> Any:
    value: Any = {"$ref": "$"}
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("text", ["", "{", "x", "[" * 3000])
def test_a_key_that_is_no_document(text: str) -> None:
    with pytest.raises(MalformedBodyError):
        parse_key(text)
