"""Settings of a broker."""

import pytest

from cosmodrome.broker.config import BrokerConfig
from cosmodrome.errors import ConfigError


def test_java_names() -> None:
    config = BrokerConfig.of_java(
        {
            "brokerClusterName": "C",
            "brokerName": "b",
            "brokerIP1": "10.0.0.1",
            "listenPort": "10911",
            "autoCreateTopicEnable": "FALSE",
            "flushDiskType": "SYNC_FLUSH",
            "maxMessageSize": " 100 ",
        }
    )
    assert (config.broker_cluster_name, config.broker_name, config.broker_ip1) == ("C", "b", "10.0.0.1")
    assert (config.auto_create_topic_enable, config.is_sync_flush, config.max_message_size) == (False, True, 100)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("listenPort", "70000"),
        ("listenPort", "abc"),
        ("listenPort", "1" * 5000),
        ("brokerId", "1"),
        ("autoCreateTopicEnable", "yes"),
        ("flushDiskType", "NEVER"),
        ("messageDelayLevel", "1s 5x"),
        ("messageDelayLevel", ""),
        ("brokerName", "a b"),
        ("adminAllow", "10.0.0.1/8"),
        ("adminPolicy", "none"),
        ("deleteWhen", "25"),
        ("deleteWhen", "noon"),
        ("diskMaxUsedSpaceRatio", "99"),
        ("mappedFileSizeCommitLog", "5"),
        ("brokerRole", "SLAVE"),
        ("haAllow", "10.0.0.1/8"),
        ("haListenPort", "-2"),
        ("haTransferBatchSize", "0"),
    ],
)
def test_b013_a_bad_value_is_refused_by_its_name(key: str, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        BrokerConfig.of_java({key: text})
    assert key in error.value.keys


def test_b013_unknown_keys_are_refused_all_at_once() -> None:
    with pytest.raises(ConfigError, match="enableNothing, listenport") as error:
        BrokerConfig.of_java({"enableNothing": "1", "listenport": "2", "listenPort": "3"})
    assert error.value.keys == ("enableNothing", "listenport")


def test_levels() -> None:
    assert BrokerConfig(message_delay_level="1s 2m 3h 4d").delays_ms == (1000, 120_000, 10_800_000, 345_600_000)


def test_everybody_may_change_an_open_broker() -> None:
    assert BrokerConfig(admin_policy="open").admin_networks is None
    assert [str(each) for each in BrokerConfig().admin_networks or ()] == ["127.0.0.0/8", "::1/128"]


@pytest.mark.parametrize("precision_ms", ["100", "1000", "250", "0"])
def test_timers_are_as_exact_as_apache_can_be(precision_ms: str) -> None:
    if precision_ms in ("250", "0"):
        with pytest.raises(ConfigError, match="timerPrecisionMs"):
            BrokerConfig.of_java({"timerPrecisionMs": precision_ms})
    else:
        assert BrokerConfig.of_java({"timerPrecisionMs": precision_ms}).timer_precision_ms == int(precision_ms)
