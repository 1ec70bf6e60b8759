"""Options of consumers."""

from typing import Any

import pytest

from cosmodrome.client.consumer.process_queue import HoldingLimits
from cosmodrome.client.consumer.settings import ConsumerOptions, ConsumerSettings, check_names, split_options
from cosmodrome.errors import ConfigError, MessageError

NAMESRV = "127.0.0.1:9876"


def test_the_keywords_are_the_settings() -> None:
    own = set(ConsumerSettings.__struct_fields__)

    assert own <= set(ConsumerOptions.__annotations__)


def test_options_go_where_they_belong() -> None:
    settings, session = split_options({"namesrv": NAMESRV, "orderly": True, "request_timeout_s": 7.0}, None)

    assert settings.orderly
    assert session.config.request_timeout_s == 7.0


def test_an_unknown_option_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"no option ordrely.*orderly"):
        split_options({"namesrv": NAMESRV, "ordrely": True}, None)


@pytest.mark.parametrize(
    "options",
    [
        {"concurrency": 0},
        {"concurrency": True},
        {"batch_messages": 0},
        {"batch_messages": "32"},
        {"batch_bytes": 0},
        {"suspend_s": 0},
        {"suspend_s": 91},
        {"consume_timeout_s": -1},
        {"orderly_pause_s": 31},
        {"start_timeout_s": 0},
        {"max_reconsume_times": -2},
        {"pop": True, "broadcasting": True},
    ],
    ids=str,
)
def test_c057_what_cannot_be_is_refused_and_named(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        ConsumerSettings(**options)


def test_in_order_there_is_no_span() -> None:
    assert ConsumerSettings(orderly=True).limits_of(1).span is None
    assert ConsumerSettings().limits_of(1).span == HoldingLimits().span


def test_a_topics_limit_is_shared_by_its_queues() -> None:
    settings = ConsumerSettings(topic_messages=100, topic_bytes=1000)

    limits = settings.limits_of(4)
    assert (limits.messages, limits.size_bytes) == (25, 250)


@pytest.mark.parametrize(
    ("group", "topics", "error"),
    [
        ("G", {"T": "a"}, None),
        ("", {"T": None}, MessageError),
        ("DEFAULT_CONSUMER", {"T": None}, MessageError),
        ("G", {"": None}, MessageError),
        ("G", ["T"], TypeError),
        ("G", {"T": 1}, TypeError),
        ("G", {"T": "a b"}, ValueError),
    ],
    ids=str,
)
def test_names_and_expressions(group: str, topics: Any, error: type[Exception] | None) -> None:
    if error is None:
        check_names(group, topics)
    else:
        with pytest.raises(error):
            check_names(group, topics)
