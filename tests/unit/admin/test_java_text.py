"""Objects as Java writes them."""

from cosmodrome.admin.java_text import direct_result_text, hash_order, host_text, map_text, result_text, store_size
from cosmodrome.client.message import MessageQueue, SendResult, SendStatus
from cosmodrome.protocol.bodies.consumer_running_info import ConsumeMessageDirectlyResult
from cosmodrome.protocol.messages.hosts import Host, encode_host
from cosmodrome.protocol.messages.record import StoredMessage

AS_JAVA: list[str] = [
    "a.b", "MSG_REGION", "UNIQ_KEY", "CLUSTER", "MIN_OFFSET", "TAGS", "color", "KEYS", "WAIT", "TRACE_ON", "MAX_OFFSET",
]  # fmt: skip
"""In the order in which mqadmin 5.5.0 printed them."""


AS_STORED: list[str] = [
    "KEYS", "UNIQ_KEY", "WAIT", "TAGS", "color", "a.b", "MSG_REGION", "TRACE_ON", "CLUSTER", "MIN_OFFSET", "MAX_OFFSET",
]  # fmt: skip


def test_properties_come_in_the_order_of_java_s_hash_map() -> None:
    assert hash_order(AS_STORED) == AS_JAVA
    assert map_text({"WAIT": "true", "TAGS": "A"}) == "{TAGS=A, WAIT=true}"


def test_a_map_with_many_entries_has_more_buckets() -> None:
    many = [f"name{number}" for number in range(200)]
    order = hash_order(many)
    assert sorted(order) == sorted(many)
    assert order != hash_order(many[:90]) + many[90:]


def test_names_in_one_bucket_stay_as_they_came() -> None:
    assert hash_order(["Aa", "BB"]) == ["Aa", "BB"]
    assert hash_order(["BB", "Aa"]) == ["BB", "Aa"]


def test_a_name_outside_the_basic_plane_counts_as_two_characters() -> None:
    assert hash_order(["\U0001f680"]) == ["\U0001f680"]


def test_hosts() -> None:
    assert host_text(Host("10.0.0.1", 10911)) == "10.0.0.1:10911"
    assert host_text(Host("fe80::1", 10911)) == "[fe80:0:0:0:0:0:0:1]:10911"


def test_the_size_of_a_record_is_that_of_its_bytes() -> None:
    stored = StoredMessage(
        topic="T", body=b"hello", properties_bytes=b"x" * 10, queue_id=0, queue_offset=0, commit_log_offset=0,
        born_timestamp_ms=0, born_host_bytes=encode_host("10.0.0.1", 1), store_timestamp_ms=0,
        store_host_bytes=encode_host("10.0.0.1", 1), body_crc=0,
    )  # fmt: skip
    assert store_size(stored) == 91 + 1 + 5 + 10


def test_results() -> None:
    result = SendResult(SendStatus.FLUSH_DISK_TIMEOUT, "ID", "OFFSET", MessageQueue("T", "b", 2), 7)
    assert result_text(result) == (
        "SendResult [sendStatus=FLUSH_DISK_TIMEOUT, msgId=ID, offsetMsgId=OFFSET, "
        "messageQueue=MessageQueue [topic=T, brokerName=b, queueId=2], queueOffset=7, recallHandle=null]"
    )
    told = ConsumeMessageDirectlyResult(remark="a\nb", spent_time_mills=3)
    assert direct_result_text(told) == (
        "ConsumeMessageDirectlyResult [order=false, autoCommit=true, consumeResult=null, remark=a\\nb, spentTimeMills=3]"
    )
