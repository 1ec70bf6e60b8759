"""What counts as a difference between two answers, and what does not."""

import json
from typing import Any

import pytest

from cosmodrome.protocol.answer_differences import ABSENT, SHOWN_ELEMENTS, Difference, body_value, differences
from cosmodrome.protocol.codes import LanguageCode, ResponseCode, SerializeType
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.versions import V5_0_0, V5_5_0

V4_9_7 = 407
FAQ = "No topic route info in name server for the topic: T\nSee "


def answer(body: Any = None, **fields: Any) -> RemotingCommand:
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return RemotingCommand(0, version=V5_5_0, body=content).replaced(**fields)


def group(name: str, **members: Any) -> dict[str, Any]:
    return {
        "brokerAddrs": {"0": f"{name}:1"},
        "brokerName": name,
        "cluster": "C",
        "enableActingMaster": False,
    } | members


def queues(name: str, **members: Any) -> dict[str, Any]:
    numbers = {"perm": 6, "readQueueNums": 8, "topicSysFlag": 0, "writeQueueNums": 8}
    return {"brokerName": name} | numbers | members


def route(*names: str, **members: Any) -> dict[str, Any]:
    datas = {"brokerDatas": [group(name) for name in names], "queueDatas": [queues(name) for name in names]}
    return datas | {"filterServerTable": {}} | members


def where(ours: RemotingCommand, theirs: RemotingCommand) -> list[str]:
    return [each.where for each in differences(ours, theirs)]


class TestHeader:
    def test_a_code_is_a_difference_and_the_bodies_are_not_compared_then(self) -> None:
        ours, theirs = answer(code=ResponseCode.TOPIC_NOT_EXIST, remark="none"), answer(route("a"))

        assert differences(ours, theirs) == [Difference("code", 17, 0), Difference("remark", "none", ABSENT)]

    def test_a_remark_is_a_difference(self) -> None:
        assert differences(answer(code=1, remark="disable"), answer(code=1, remark="other")) == [
            Difference("remark", "disable", "other")
        ]

    def test_header_fields_are_named(self) -> None:
        ours, theirs = answer(ext_fields={"value": "1", "same": "x"}), answer(ext_fields={"value": "2", "same": "x"})

        assert differences(ours, theirs) == [Difference("extFields.value", "1", "2")]

    def test_what_two_servers_need_not_have_in_common_does_not_count(self) -> None:
        ours = answer(route("a"), serialize_type=SerializeType.ROCKETMQ, opaque=1)
        theirs = answer(route("a"), version=V5_0_0, language=LanguageCode.OTHER, opaque=2, ext_fields={})

        assert differences(ours, theirs) == []

    @pytest.mark.parametrize("value", [None, ""])
    def test_the_binary_codec_cannot_tell_an_empty_field_from_none(self, value: str | None) -> None:
        assert differences(answer(ext_fields={"value": value}), answer()) == []

    def test_an_empty_remark_is_none(self) -> None:
        assert differences(answer(remark=""), answer()) == []

    def test_the_help_page_is_another_one_in_each_release(self) -> None:
        ours = answer(code=17, remark=f"{FAQ}https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.")
        theirs = answer(code=17, remark=f"{FAQ}http://rocketmq.apache.org/docs/faq/ for further details.")

        assert differences(ours, theirs) == []
        assert where(ours, theirs.replaced(remark="No topic route info for U\nSee http://x")) == ["remark"]

    def test_the_text_of_a_java_exception_says_what_ours_says_in_words(self) -> None:
        theirs = answer(code=1, remark="java.lang.NullPointerException, Cannot invoke ...")

        assert differences(answer(code=1, remark="topic is missing"), theirs) == []
        assert where(answer(code=17, remark="topic is missing"), theirs) == ["code", "remark"]


class TestBody:
    def test_order_is_none_in_lists_and_members(self) -> None:
        ours, theirs = route("a", "b", "c"), route("c", "a", "b")

        assert differences(answer(ours), answer(dict(reversed(theirs.items())))) == []

    def test_both_dialects_say_the_same(self) -> None:
        ours = answer(b'{"brokerDatas":[{"brokerAddrs":{"0":"a:1","1":"b:1"},"brokerName":"a"}]}')
        theirs = answer(b'{"brokerDatas":[{"brokerAddrs":{1:"b:1",0:"a:1"},"brokerName":"a"}]}')

        assert differences(ours, theirs) == []

    def test_each_place_is_named_by_its_broker(self) -> None:
        ours, theirs = route("a", "b"), route("a", "b")
        theirs["queueDatas"][1]["perm"] = 4
        theirs["brokerDatas"][0]["brokerAddrs"] = {"0": "other:1"}

        assert differences(answer(ours), answer(theirs)) == [
            Difference("body.brokerDatas[a].brokerAddrs.0", "a:1", "other:1"),
            Difference("body.queueDatas[b].perm", 6, 4),
        ]

    def test_a_broker_that_only_one_knows_is_shown_whole(self) -> None:
        assert differences(answer(route("a", "b")), answer(route("a"))) == [
            Difference("body.brokerDatas[b]", group("b"), ABSENT),
            Difference("body.queueDatas[b]", queues("b"), ABSENT),
        ]

    def test_of_names_each_side_shows_what_the_other_has_not(self) -> None:
        ours, theirs = {"topicList": ["a", "b", "c"]}, {"topicList": ["c", "d"]}

        assert differences(answer(ours), answer(theirs)) == [Difference("body.topicList", ["a", "b"], ["d"])]

    def test_a_long_list_is_cut(self) -> None:
        names = [f"t{number:03d}" for number in range(SHOWN_ELEMENTS + 7)]

        (found,) = differences(answer({"topicList": names}), answer({"topicList": []}))

        assert found.ours == [*names[:SHOWN_ELEMENTS], "and 7 more"]
        assert found.theirs == []

    def test_a_name_that_is_there_twice_is_found_too(self) -> None:
        ours = {"queueDatas": [queues("a"), queues("a", perm=4)]}

        assert differences(answer(ours), answer({"queueDatas": [queues("a")]})) == [
            Difference("body.queueDatas", [queues("a", perm=4)], [])
        ]
        assert differences(answer(ours), answer({"queueDatas": ours["queueDatas"][::-1]})) == []

    def test_lists_in_lists_and_elements_of_any_kind(self) -> None:
        assert differences(answer([[1, "1"], None]), answer([None, ["1", 1]])) == []
        assert where(answer([[1]]), answer([["1"]])) == ["body"]

    def test_null_is_absent(self) -> None:
        assert differences(answer(route("a")), answer(route("a", orderTopicConf=None))) == []

    def test_no_body_is_not_an_empty_one(self) -> None:
        assert differences(answer(), answer({"table": {}})) == [Difference("body", ABSENT, {"table": {}})]

    def test_what_is_no_json_is_compared_as_text(self) -> None:
        assert differences(answer(b"\xff{"), answer({"a": 1})) == [Difference("body", "\ufffd{", {"a": 1})]
        assert differences(answer(b"]"), answer(b"]")) == []

    def test_any_broker_s_address_serves_304(self) -> None:
        ours, theirs = {"brokerAddr": "a:1", "topicList": ["C"]}, {"brokerAddr": "b:1", "topicList": ["C"]}

        assert differences(answer(ours), answer(theirs)) == []


class TestReleases:
    def test_acting_masters_are_unknown_to_4_x(self) -> None:
        theirs = route("a")
        del theirs["brokerDatas"][0]["enableActingMaster"]

        assert differences(answer(route("a")), answer(theirs)) == []
        theirs["brokerDatas"][0]["enableActingMaster"] = True
        assert where(answer(route("a")), answer(theirs)) == ["body.brokerDatas[a].enableActingMaster"]

    def test_so_are_zones_and_static_topics(self) -> None:
        ours = route("a", topicQueueMappingByBroker={"a": {"epoch": 1}})
        ours["brokerDatas"][0]["zoneName"] = "z"

        assert differences(answer(ours), answer(route("a"), version=V4_9_7)) == []
        assert where(answer(ours), answer(route("a"))) == [
            "body.brokerDatas[a].zoneName",
            "body.topicQueueMappingByBroker",
        ]

    def test_the_oldest_releases_spell_a_flag_otherwise(self) -> None:
        theirs = route("a")
        theirs["queueDatas"][0]["topicSynFlag"] = theirs["queueDatas"][0].pop("topicSysFlag")

        assert differences(answer(route("a")), answer(theirs)) == []

    def test_apache_keeps_static_topics_of_brokers_that_are_gone(self) -> None:
        kept = {"a": {"epoch": 1}}
        theirs = route("a", topicQueueMappingByBroker={**kept, "gone": {"epoch": 1}})

        assert differences(answer(route("a", topicQueueMappingByBroker=kept)), answer(theirs)) == []
        theirs["topicQueueMappingByBroker"].pop("a")
        assert differences(answer(route("a")), answer(theirs)) == []

    def test_static_topics_of_a_body_without_brokers_are_nobody_s(self) -> None:
        assert differences(answer({}), answer({"topicQueueMappingByBroker": {"a": {}}})) == []


class TestBodyValue:
    @pytest.mark.parametrize(
        ("body", "value"),
        [
            (b"", ABSENT),
            (b'{0:"a",-1:{2:3}}', {"0": "a", "-1": {"2": 3}}),
            (b'{"a":"x{1:y","b":{1:"{2:\\",3:"}}', {"a": "x{1:y", "b": {"1": '{2:",3:'}}),
            (b'["{1:"]', ["{1:"]),
            (b'{1:"open', '{1:"open'),
        ],
    )
    def test_both_dialects_are_read_and_texts_stay(self, body: bytes, value: Any) -> None:
        assert body_value(body) == value

    def test_a_plain_document_may_have_any_size(self) -> None:
        addrs = {str(number): f"10.0.0.1:{number}" for number in range(50_000)}
        plain = "{" + ",".join(f'{number}:"{addr}"' for number, addr in addrs.items()) + "}"

        assert body_value(plain.encode()) == addrs
