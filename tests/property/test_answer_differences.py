"""A comparison of two answers does not depend on which is which, nor on the order of anything."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.protocol.answer_differences import Difference, differences
from cosmodrome.protocol.command import RemotingCommand

NAMES = st.sampled_from(["a", "b", "c", "topicList", "brokerAddr", "enableActingMaster", "topicSynFlag", "0", "-1"])
SCALARS = st.none() | st.integers(0, 3) | st.sampled_from(["", "a", "b", "{1:", "é\n"])
ADDRS = st.dictionaries(st.integers(-1, 2).map(str), st.sampled_from(["a:1", "b:1"]))
BROKER_DATAS = st.fixed_dictionaries(
    {"brokerName": st.sampled_from("abc")},
    optional={
        "brokerAddrs": ADDRS,
        "enableActingMaster": st.booleans(),
        "zoneName": st.sampled_from("yz"),
        "perm": st.integers(4, 6),
    },
)
ROUTES = st.fixed_dictionaries(
    {},
    optional={
        "brokerDatas": st.lists(BROKER_DATAS, max_size=3),
        "queueDatas": st.lists(BROKER_DATAS, max_size=3),
        "filterServerTable": st.dictionaries(NAMES, st.lists(NAMES, max_size=3), max_size=2),
        "topicQueueMappingByBroker": st.dictionaries(st.sampled_from("abc"), ADDRS, max_size=2),
        "topicList": st.lists(NAMES, max_size=4),
    },
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
DOCUMENTS = ROUTES | ANYTHING


def as_bytes(document: Any) -> bytes:
    return b"" if document is None else json.dumps(document, ensure_ascii=False).encode()


ANSWERS = st.builds(
    RemotingCommand,
    code=st.sampled_from([0, 1, 17]),
    version=st.sampled_from([300, 513]),
    remark=st.sampled_from([None, "", "x", "x\nSee http://y", "java.lang.NullPointerException"]),
    ext_fields=st.none() | st.dictionaries(NAMES, st.none() | NAMES, max_size=2),
    body=DOCUMENTS.map(as_bytes) | st.sampled_from([b"]", b"\xff"]),
)


def swapped(found: list[Difference]) -> list[Difference]:
    return [Difference(each.where, each.theirs, each.ours) for each in found]


def shuffled(document: Any, draw: st.DataObject) -> Any:
    """Give the same document with its members and its lists in another order."""
    if isinstance(document, dict):
        names = draw.draw(st.permutations(list(document)))
        return {name: shuffled(document[name], draw) for name in names}
    if isinstance(document, list):
        return [shuffled(each, draw) for each in draw.draw(st.permutations(document))]
    return document


def bare_keyed(document: Any) -> str:
    """Write a document as fastjson does: integer keys without quotes."""
    if isinstance(document, dict):
        return "{" + ",".join(f"{_key(name)}:{bare_keyed(value)}" for name, value in document.items()) + "}"
    if isinstance(document, list):
        return "[" + ",".join(map(bare_keyed, document)) + "]"
    return json.dumps(document, ensure_ascii=False)


def _key(name: str) -> str:
    return name if name.lstrip("-").isdecimal() else json.dumps(name)


@given(ANSWERS, ANSWERS)
def test_swapping_the_sides_swaps_the_differences(ours: RemotingCommand, theirs: RemotingCommand) -> None:
    assert differences(theirs, ours) == swapped(differences(ours, theirs))


@given(ANSWERS)
def test_an_answer_is_like_itself(answer: RemotingCommand) -> None:
    assert differences(answer, answer) == []


@given(DOCUMENTS, st.data())
def test_no_order_and_no_dialect_makes_a_difference(document: Any, data: st.DataObject) -> None:
    ours = RemotingCommand(0, version=513, body=as_bytes(document))
    other = shuffled(document, data)
    theirs = ours.replaced(body=b"" if other is None else bare_keyed(other).encode())

    assert differences(ours, theirs) == []


@given(DOCUMENTS, DOCUMENTS, st.data())
def test_what_differs_differs_in_any_order(document: Any, other: Any, data: st.DataObject) -> None:
    ours = RemotingCommand(0, version=513, body=as_bytes(document))
    theirs = RemotingCommand(0, version=513, body=as_bytes(other))
    mixed = ours.replaced(body=as_bytes(shuffled(document, data)))

    assert [each.where for each in differences(mixed, theirs)] == [each.where for each in differences(ours, theirs)]
