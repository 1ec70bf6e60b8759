"""Keys, their values, and what the configuration requests list and change."""

import dataclasses
import ipaddress
from pathlib import Path

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv.config import (
    KEYS,
    NamesrvConfig,
    apply_changes,
    blacklisted,
    java_listing,
    parse_values,
    print_items,
    render_listing,
)
from cosmodrome.namesrv.config_keys import AdminPolicy, Effect, Family, Kind, labels_of
from cosmodrome.protocol.codes import SerializeType

JAVA_LISTING = """\
bindAddress=0.0.0.0
clientRequestThreadPoolNums=8
clientRequestThreadPoolQueueCapacity=50000
clusterTest=false
configBlackList=configBlackList;configStorePath;kvConfigPath
configStorePath=/home/rmq/namesrv/namesrv.properties
defaultThreadPoolNums=16
defaultThreadPoolQueueCapacity=10000
deleteTopicWithBrokerRegistration=false
enableAllTopicList=true
enableControllerInNamesrv=false
enableShutdownGracefully=false
enableTopicList=true
kvConfigPath=/home/rmq/namesrv/kvConfig.json
listenPort=9876
needWaitForService=false
notifyMinBrokerIdChanged=false
orderMessageEnable=false
productEnvName=center
returnOrderTopicConfigToBroker=true
rocketmqHome=/opt/rocketmq
scanNotActiveBrokerInterval=5000
serverAsyncSemaphoreValue=64
serverCallbackExecutorThreads=0
serverChannelMaxIdleTimeSeconds=120
serverNettyWorkerGroupEnable=true
serverOnewaySemaphoreValue=256
serverPooledByteBufAllocatorEnable=true
serverSelectorThreads=3
serverSocketBacklog=1024
serverSocketRcvBufSize=0
serverSocketSndBufSize=0
serverWorkerThreads=8
shutdownWaitTimeSeconds=30
supportActingMaster=false
unRegisterBrokerQueueCapacity=3000
useEpollNativeSelector=false
waitSecondsForService=45
writeBufferHighWaterMark=0
writeBufferLowWaterMark=0
"""
"""What a Java NameServer 5.x with default settings answers to GET_NAMESRV_CONFIG."""

LIVE_KEYS = {
    "deleteTopicWithBrokerRegistration",
    "enableAllTopicList",
    "enableShutdownGracefully",
    "enableTopicList",
    "needWaitForService",
    "notifyMinBrokerIdChanged",
    "orderMessageEnable",
    "productEnvName",
    "returnOrderTopicConfigToBroker",
    "scanNotActiveBrokerInterval",
    "serverChannelMaxIdleTimeSeconds",
    "shutdownWaitTimeSeconds",
    "supportActingMaster",
    "waitSecondsForService",
}


def named(*kinds: Kind) -> list[str]:
    return [name for name, key in KEYS.items() if key.kind in kinds]


def reason(name: str, text: str) -> str:
    with pytest.raises(ValueError) as caught:
        KEYS[name].parse(text)
    return str(caught.value)


class TestKeys:
    def test_every_field_has_exactly_one_key(self) -> None:
        fields = [field.name for field in dataclasses.fields(NamesrvConfig)]

        assert [key.field_name for key in KEYS.values()] == fields
        assert len({key.environment_name for key in KEYS.values()}) == len(fields)

    def test_names_are_java_s(self) -> None:
        assert KEYS["unRegisterBrokerQueueCapacity"].field_name == "un_register_broker_queue_capacity"
        assert KEYS["com.rocketmq.remoting.frameMaxLength"].field_name == "frame_max_length"

    def test_environment_names_follow_the_field(self) -> None:
        assert KEYS["listenPort"].environment_name == "COSMODROME_LISTEN_PORT"
        assert KEYS["rocketmq.serialize.type"].environment_name == "COSMODROME_SERIALIZE_TYPE"

    def test_these_keys_take_effect_at_once(self) -> None:
        assert {name for name, key in KEYS.items() if key.effect is Effect.LIVE} == LIVE_KEYS

    @pytest.mark.parametrize("name", KEYS)
    def test_every_default_is_a_value_of_its_key(self, name: str) -> None:
        config = NamesrvConfig()
        text = dict(line.split("=", 1) for line in print_items(config).splitlines())[name]

        assert KEYS[name].parse(text) in {getattr(config, KEYS[name].field_name), ""}


class TestValues:
    @pytest.mark.parametrize("name", named(Kind.BOOLEAN))
    def test_booleans_are_blind_to_case_and_blanks(self, name: str) -> None:
        assert KEYS[name].parse("TRUE ") is True
        assert KEYS[name].parse(" False") is False

    @pytest.mark.parametrize("text", ["yes", "1", "", "tru e", "null"])
    def test_other_words_are_no_booleans(self, text: str) -> None:
        assert reason("clusterTest", text) == f'must be true or false, not "{text}"'

    @pytest.mark.parametrize("text", ["12abc", "", "1.5", "0x10", "1_000", "\uff11\uff12", "--1", "1e3"])
    def test_numbers_are_whole_and_decimal(self, text: str) -> None:
        assert reason("listenPort", text).startswith("must be a whole number")

    @pytest.mark.parametrize(("text", "value"), [("12 ", 12), (" 12", 12), ("+12", 12), ("012", 12), ("12\t", 12)])
    def test_blanks_around_a_number_do_not_count(self, text: str, value: int) -> None:
        assert KEYS["listenPort"].parse(text) == value

    @pytest.mark.parametrize("text", ["-1", "65536", "70000", "9" * 5000])
    def test_a_port_has_a_range(self, text: str) -> None:
        assert reason("listenPort", text).startswith("must be between 0 and 65535")

    @pytest.mark.parametrize(
        "name",
        [
            "clientRequestThreadPoolNums",
            "clientRequestThreadPoolQueueCapacity",
            "defaultThreadPoolNums",
            "defaultThreadPoolQueueCapacity",
            "scanNotActiveBrokerInterval",
            "serverSelectorThreads",
            "serverWorkerThreads",
            "unRegisterBrokerQueueCapacity",
        ],
    )
    def test_threads_queues_and_the_scan_interval_are_at_least_one(self, name: str) -> None:
        assert KEYS[name].parse("1") == 1
        assert reason(name, "0").startswith("must be between 1 and")

    def test_a_limit_reads_with_its_unit(self) -> None:
        assert reason("scanNotActiveBrokerInterval", "0") == 'must be between 1 and 86400000 milliseconds, not "0"'

    @pytest.mark.parametrize("name", named(Kind.INT, Kind.LONG))
    def test_no_number_is_negative(self, name: str) -> None:
        assert reason(name, "-1").startswith("must be between")

    @pytest.mark.parametrize("char", ["\n", "\r", "\x00", "\x1b", "\x7f", "\x85", "\u2028"])
    def test_control_characters_are_bad(self, char: str) -> None:
        assert reason("productEnvName", f"a{char}b") == f"must not hold the control character U+{ord(char):04X}"

    def test_half_a_surrogate_pair_is_bad(self) -> None:
        assert "surrogate" in reason("productEnvName", "a\ud83db")

    @pytest.mark.parametrize("text", ["a\tb", " leading", "C:\\x", "a=b:c#d", "火箭🚀"])
    def test_other_characters_of_a_text_are_kept(self, text: str) -> None:
        assert KEYS["productEnvName"].parse(text) == text

    def test_blanks_at_the_end_of_a_text_do_not_count(self) -> None:
        assert KEYS["productEnvName"].parse("center \t") == "center"

    @pytest.mark.parametrize("name", ["bindAddress", "kvConfigPath", "configStorePath", "dataDir"])
    def test_what_must_be_there_is_not_empty(self, name: str) -> None:
        assert reason(name, "  ") == "must not be empty"

    def test_choices_are_blind_to_case(self) -> None:
        assert KEYS["adminPolicy"].parse("Hardened ") is AdminPolicy.HARDENED
        assert KEYS["rocketmq.serialize.type"].parse("rocketmq") is SerializeType.ROCKETMQ

    @pytest.mark.parametrize("name", ["adminPolicy", "rocketmq.serialize.type"])
    def test_other_choices_are_named(self, name: str) -> None:
        assert reason(name, "XML").endswith('not "XML"')

    @pytest.mark.parametrize("text", ["10.0.0.0/8;::1/128", "10.0.0.0/8, ::1", " 10.0.0.0/8 ;;::1"])
    def test_networks_are_separated_by_semicolon_or_comma(self, text: str) -> None:
        assert KEYS["adminAllow"].parse(text) == (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1/128"))

    def test_a_bad_network_is_named(self) -> None:
        assert reason("adminAllow", "10.0.0.0/8;evil").endswith('not "evil"')

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("10.1.2.3/8", "must hold 10.0.0.0/8 or 10.1.2.3/32"),
            ("fd00::1/8", "must hold fd00::/8 or fd00::1/128"),
            ("::ffff:10.0.0.0/104", "must hold 10.0.0.0/8"),
            ("::ffff:10.1.2.3", "must hold 10.1.2.3/32"),
            (";", "or be empty"),
        ],
    )
    def test_a_network_that_is_not_what_it_seems_is_refused(self, text: str, said: str) -> None:
        for key in ("adminAllow", "brokerAllow"):
            assert said in reason(key, text)

    def test_no_network_and_every_network_can_be_meant(self) -> None:
        assert KEYS["brokerAllow"].parse(" ") == ()
        assert KEYS["brokerAllow"].parse("::/0;") == (ipaddress.ip_network("::/0"),)

    def test_a_reason_is_short_and_printable(self) -> None:
        text = reason("listenPort", "\x1b[31m" + "x" * 1000)

        assert len(text) < 150
        assert text.isprintable()

    @given(st.sampled_from(sorted(KEYS)), st.text(max_size=30))
    def test_any_text_is_a_value_or_refused_with_a_reason(self, name: str, text: str) -> None:
        try:
            KEYS[name].parse(text)
        except ValueError as error:
            assert str(error).startswith("must ")  # noqa: PT017  # not every text raises


class TestDefaults:
    def test_files_are_in_the_data_folder(self, tmp_path: Path) -> None:
        config = NamesrvConfig(data_dir=str(tmp_path))

        assert config.kv_config_path == str(tmp_path / "kvConfig.json")
        assert config.config_store_path == str(tmp_path / "namesrv.properties")

    def test_the_data_folder_is_the_user_s(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        monkeypatch.setenv("HOME", "/home/rmq")

        assert NamesrvConfig().data_dir == "/home/rmq/.local/share/cosmodrome/namesrv"

    def test_the_desktop_s_folder_for_data_is_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_DATA_HOME", "/data/rmq")

        assert NamesrvConfig().data_dir == "/data/rmq/cosmodrome/namesrv"

    def test_a_user_without_a_home_gets_the_system_s_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")

        assert NamesrvConfig().data_dir == "/var/lib/cosmodrome/namesrv"


class TestListing:
    CONFIG = NamesrvConfig(
        rocketmq_home="/opt/rocketmq",
        kv_config_path="/home/rmq/namesrv/kvConfig.json",
        config_store_path="/home/rmq/namesrv/namesrv.properties",
    )

    def test_ordinary_values_are_byte_for_byte_java_s_listing(self) -> None:
        assert render_listing(self.CONFIG) == JAVA_LISTING

    def test_a_key_without_a_value_is_left_out(self) -> None:
        assert "rocketmqHome" not in dict(java_listing(NamesrvConfig()))

    def test_our_own_keys_are_not_in_it(self) -> None:
        listed = dict(java_listing(self.CONFIG))

        assert all(KEYS[name].family in {Family.NAMESRV, Family.NETTY_SERVER} for name in listed)

    @given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=30))
    def test_a_properties_reader_gets_identical_values(self, text: str) -> None:
        config = dataclasses.replace(self.CONFIG, product_env_name=text)

        assert javaproperties.loads(render_listing(config)) == dict(java_listing(config))

    def test_printing_is_in_order_of_declaration_with_nothing_left_out(self) -> None:
        lines = print_items(NamesrvConfig(data_dir="/d")).splitlines()

        assert lines[:3] == ["rocketmqHome=", "kvConfigPath=/d/kvConfig.json", "configStorePath=/d/namesrv.properties"]
        assert lines[-1] == "auditLog=/d/audit.jsonl"
        assert [line.partition("=")[0] for line in lines] == list(KEYS)


class TestChanges:
    @pytest.mark.parametrize(
        ("key", "value", "is_good"),
        [
            ("serverChannelMaxIdleTimeSeconds", "0", True),
            ("serverChannelMaxIdleTimeSeconds", "1", False),
            ("serverChannelMaxIdleTimeSeconds", "89", False),
            ("serverChannelMaxIdleTimeSeconds", "90", True),
            ("waitSecondsForService", "600", True),
            ("waitSecondsForService", "601", False),
        ],
    )
    def test_a_request_may_not_go_as_far_as_a_file(self, key: str, value: str, *, is_good: bool) -> None:
        KEYS[key].parse(value)
        if is_good:
            assert apply_changes(NamesrvConfig(), {key: value}).applied == (key,)
        else:
            with pytest.raises(ConfigError, match=f"{key} must be between"):
                apply_changes(NamesrvConfig(), {key: value})

    def test_each_key_is_told_when_it_takes_effect(self) -> None:
        change = apply_changes(
            NamesrvConfig(),
            {"enableTopicList": "FALSE ", "listenPort": "1", "serverWorkerThreads": "4", "rocketmqHomme": "x"},
        )

        assert change.applied == ("enableTopicList",)
        assert change.needs_restart == ("listenPort",)
        assert change.without_effect == ("serverWorkerThreads",)
        assert change.unknown == ("rocketmqHomme",)
        assert change.config == dataclasses.replace(
            NamesrvConfig(), enable_topic_list=False, listen_port=1, server_worker_threads=4
        )

    def test_what_is_to_be_saved_is_written_as_java_writes_it(self) -> None:
        change = apply_changes(NamesrvConfig(), {"enableTopicList": "FALSE ", "listenPort": "+01", "other": "x"})

        assert change.texts == {"enableTopicList": "false", "listenPort": "1"}

    def test_one_bad_value_refuses_all_and_every_bad_one_is_named(self) -> None:
        with pytest.raises(ConfigError) as caught:
            apply_changes(
                NamesrvConfig(), {"enableTopicList": "false", "listenPort": "x", "defaultThreadPoolNums": "0"}
            )

        assert caught.value.keys == ("listenPort", "defaultThreadPoolNums")
        assert "listenPort must be a whole number" in caught.value.what
        assert "defaultThreadPoolNums must be between 1 and" in caught.value.what

    def test_keys_that_are_not_java_s_are_unknown_here(self) -> None:
        change = apply_changes(NamesrvConfig(), {"com.rocketmq.remoting.frameMaxLength": "1", "useTLS": "true"})

        assert change.unknown == ("com.rocketmq.remoting.frameMaxLength", "useTLS")
        assert change.config == NamesrvConfig()

    def test_a_listing_fed_back_changes_nothing(self) -> None:
        config = NamesrvConfig(rocketmq_home="/opt/rocketmq", product_env_name=" a\\b=火\t🚀")

        change = apply_changes(config, javaproperties.loads(render_listing(config)))

        assert change.config == config
        assert change.unknown == ()

    def test_no_home_is_no_value(self) -> None:
        assert apply_changes(NamesrvConfig(), {"rocketmqHome": ""}).config.rocketmq_home is None


class TestBlackList:
    def test_some_keys_are_always_on_it(self) -> None:
        names = ["configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"]

        assert blacklisted(NamesrvConfig(config_black_list=""), [*names, "listenPort"]) == tuple(names)

    def test_so_are_the_keys_that_decide_who_may_ask(self) -> None:
        assert blacklisted(NamesrvConfig(), ["adminAllow", "adminPolicy", "dataDir"]) == (
            "adminAllow",
            "adminPolicy",
            "dataDir",
        )

    def test_the_configured_list_adds_to_them(self) -> None:
        config = NamesrvConfig(config_black_list="listenPort;enableTopicList")

        assert blacklisted(config, ["listenPort", "productEnvName"]) == ("listenPort",)

    def test_case_counts(self) -> None:
        assert blacklisted(NamesrvConfig(), ["kvconfigpath"]) == ()


class TestLabels:
    """`metricsLabel`, in Java's form."""

    @pytest.mark.parametrize(
        ("text", "labels"),
        [
            ("", {}),
            ("region:eu", {"region": "eu"}),
            (" region:eu , rack:7,", {"region": "eu", "rack": "7"}),
            ("rack:", {"rack": ""}),
            ("rack:7,rack:8", {"rack": "8"}),
        ],
    )
    def test_names_and_values(self, text: str, labels: dict[str, str]) -> None:
        values, reasons = parse_values({"metricsLabel": text})

        assert reasons == {}
        assert labels_of(str(values["metricsLabel"])) == labels

    @pytest.mark.parametrize("text", ["region", "region:eu:west", ":eu", "7rack:7", "my-rack:7", "__name__:x", "a:b,c"])
    def test_what_is_none_is_refused(self, text: str) -> None:
        _, reasons = parse_values({"metricsLabel": text})

        assert "labels such as region:eu,rack:7" in reasons["metricsLabel"]
