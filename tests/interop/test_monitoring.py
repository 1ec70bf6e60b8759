"""What watches RocketMQ reads our servers: Prometheus's own checks, and the questions of exporter and dashboard.

rocketmq-exporter and rocketmq-dashboard are not published where libraries are (no release of either, under any of their
names, in the Maven repository that has Apache's servers), so they themselves are not run here. Both ask through the admin
client of rocketmq-tools, which is run: programs/MonitoringTools.java asks what their collecting tasks and pages ask.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import pytest
import yaml
from tests.interop.conftest import StageMaker
from tests.interop.rig import promtool as checks
from tests.interop.rig.jars import V4_9, V5_1, V5_5
from tests.interop.rig.java import JavaProcess, JavaProgram
from tests.interop.rig.message_clients import MessageClients
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.our_broker import OurBroker
from tests.interop.rig.stage import OURS
from tests.support.waiting import wait_until

from cosmodrome.monitoring.alerts import GROUPS, rules_yaml
from cosmodrome.monitoring.dashboard import ROWS

pytestmark = pytest.mark.full

CLUSTER: Final = "DefaultCluster"
COUNT: Final = 12
WITHIN_S: Final = 60.0
NOT_SECONDS: Final = {
    "rocketmq_rpc_latency_milliseconds",
    "rocketmq_consumer_lag_latency_milliseconds",
    "rocketmq_consumer_queueing_latency_milliseconds",
    "rocketmq_storage_message_reserve_time_milliseconds",
    "rocketmq_timer_dequeue_latency_milliseconds",
}
"""Apache's names, which promtool would have in seconds."""


@pytest.fixture(scope="module", params=[V5_5, V5_1, V4_9])
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[tuple[str, NameServer, OurBroker, Path]]:
    """Give a release of the tools, our NameServer, and our broker with messages that a group has read."""
    release: str = request.param
    with new_stage(f"monitoring-{release}") as stage:
        name_server = stage.name_server()
        with OurBroker("broker-a", name_server.address, http="127.0.0.1:0") as broker:
            broker.create_topic("T", 2)
            clients: MessageClients = stage.message_clients(release)
            clients.producer("producer", name_server.address, "senders")
            clients.send("producer", "T", "m", count=COUNT)
            clients.consumer("consumer", name_server.address, "G", "T")
            clients.wait_seen("consumer", COUNT)
            yield release, name_server, broker, stage.folder


def told(release: str, name_server: NameServer, folder: Path) -> dict[str, str]:
    """Give what the tools would show, by its name."""
    program = JavaProgram(
        release=release, main_class="MonitoringTools", arguments=[name_server.address, CLUSTER, "T", "G"]
    )
    process = JavaProcess(program, folder / "tools")
    process.start()
    text = process.wait_for_text("@@END", WITHIN_S)
    process.wait_ended()
    facts = [line.split("\t") for line in text.splitlines() if line.startswith("@@FACT\t")]
    assert len({name for _, name, _ in facts}) == len(facts), text
    return {name: value for _, name, value in facts}


def test_exporter_and_dashboard_see_what_there_is(place: tuple[str, NameServer, OurBroker, Path]) -> None:
    release, name_server, broker, folder = place
    seen: dict[str, str] = {}

    def is_saved() -> bool:
        seen.update(told(release, name_server, folder))
        return seen.get("behind") == "0"

    wait_until(is_saved, "the group's offsets", WITHIN_S)
    address = broker.address
    assert seen == {
        "topic is listed": "true",
        "messages of the topic": str(COUNT),
        "groups of the topic": "[G]",
        "behind": "0",
        "connections of the group": "1",
        "put at broker-a": str(COUNT),
        "got at broker-a": str(COUNT),
        "cluster put": seen["cluster put"],
        "put today": seen["put today"],
        "numbers of put TPS": "3",
        "clusters": f"{{{CLUSTER}=[broker-a]}}",
        "masters": f"[{address}]",
        "topics of the cluster": "some",
        "name in the configuration": "broker-a",
        f"groups at {address}": "true",
        "queues of the made topic": "3",
        "made topic is listed": "false",
    }
    assert int(seen["cluster put"]) >= COUNT
    assert int(seen["put today"]) >= COUNT


@pytest.mark.builds(checks.BUILD)
def test_promtool_reads_the_alert_rules(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(rules_yaml(), encoding="utf-8")
    assert checks.promtool("check", "rules", str(file)) == []
    rule = GROUPS["rocketmq-namesrv"][0]
    file.write_text(rules_yaml().replace(rule.when, f"{rule.when} unless"), encoding="utf-8")
    assert checks.promtool("check", "rules", str(file)), "it looks"


@pytest.mark.builds(checks.BUILD)
def test_promtool_reads_the_queries_of_the_dashboard(tmp_path: Path) -> None:
    """As recording rules: that is a file with queries which it reads."""
    queries = [query for panels in ROWS.values() for panel in panels for query, _ in panel.queries]
    rules = [
        {"record": f"dashboard:{number}", "expr": re.sub(r"\$\w+", ".*", query.replace("$__rate_interval", "5m"))}
        for number, query in enumerate(queries)
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")
    assert len(queries) > 50
    assert checks.promtool("check", "rules", str(file)) == []


SERVER: Final = 'instance="n1:19876",job="namesrv"'
BROKER: Final = 'cluster="C",node_type="broker",node_id="broker-a",instance="b1:19877",job="broker"'
LAG: Final = f'consumer_group="G",topic="T",is_retry="false",is_system="false",{BROKER}'
GIVEN: Final = f'topic="T",consumer_group="G",is_system="false",{BROKER}'
HEARTBEAT: Final = (
    f'rocketmq_namesrv_broker_last_heartbeat_age_seconds{{cluster="C",broker="broker-a",broker_id="0",{SERVER}}}'
)
TROUBLES: Final[dict[str, dict[str, str]]] = {
    "RocketMQNameServerDown": {f"rocketmq_nameserver_up{{{SERVER}}}": "1x10 stale"},
    "RocketMQNameServerNotReady": {f"rocketmq_namesrv_ready{{{SERVER}}}": "0x30"},
    "RocketMQBrokerSilent": {HEARTBEAT: "0+5x30"},
    "RocketMQBrokerExpired": {
        f'rocketmq_namesrv_unregistrations_total{{reason="heartbeat_expired",{SERVER}}}': "0x16 1x14"
    },
    "RocketMQRoutesMissed": {
        f'rocketmq_namesrv_route_lookups_total{{result="miss",{SERVER}}}': "0+10x30",
        f'rocketmq_namesrv_route_lookups_total{{result="hit",{SERVER}}}': "0+90x30",
    },
    "RocketMQNameServerSlow": {
        f'rocketmq_namesrv_event_loop_lag_seconds_bucket{{le="0.1",{SERVER}}}': "0+97x30",
        f'rocketmq_namesrv_event_loop_lag_seconds_bucket{{le="+Inf",{SERVER}}}': "0+100x30",
        f'rocketmq_namesrv_event_loop_lag_seconds_bucket{{le="0.25",{SERVER}}}': "0+100x30",
    },
    "RocketMQNameServerOverloaded": {
        f'rocketmq_namesrv_overload_refusals_total{{work="listings",{SERVER}}}': "0x16 5x14"
    },
    "RocketMQNameServerStorageFails": {f"rocketmq_namesrv_kv_persist_failures_total{{{SERVER}}}": "0x16 1x14"},
    "RocketMQNameServerConfigRefused": {
        f'rocketmq_namesrv_config_reloads_total{{result="refused",{SERVER}}}': "0x16 1x14"
    },
    "RocketMQNameServersDisagree": {
        f"rocketmq_namesrv_topics{{{SERVER}}}": "10x30",
        'rocketmq_namesrv_topics{instance="n2:19876",job="namesrv"}': "9x30",
    },
    "RocketMQBrokerDown": {f"rocketmq_broker_up{{{BROKER}}}": "1x10 stale", HEARTBEAT: "1x30"},
    "RocketMQBrokerNotReady": {f"rocketmq_broker_ready{{{BROKER}}}": "0x30"},
    "RocketMQBrokerNotRegistered": {
        f"rocketmq_broker_up{{{BROKER}}}": "1x30",
        f"rocketmq_nameserver_up{{{SERVER}}}": "1x30",
        HEARTBEAT.replace("broker-a", "broker-b"): "1x30",
    },
    "RocketMQConsumerBehind": {f"rocketmq_consumer_lag_latency_milliseconds{{{LAG}}}": "300001x30"},
    "RocketMQMessagesGivenUp": {f"rocketmq_send_to_dlq_messages_total{{{GIVEN}}}": "0x16 1x14"},
    "RocketMQMessagesLost": {f"rocketmq_broker_lost_messages_total{{{GIVEN}}}": "0x16 1x14"},
    "RocketMQBrokerSyncBehind": {f"rocketmq_storage_flush_behind_bytes{{{BROKER}}}": "300000000x30"},
    "RocketMQBrokerSlow": {
        f'rocketmq_broker_event_loop_lag_seconds_bucket{{le="0.1",{BROKER}}}': "0+97x30",
        f'rocketmq_broker_event_loop_lag_seconds_bucket{{le="0.25",{BROKER}}}': "0+100x30",
        f'rocketmq_broker_event_loop_lag_seconds_bucket{{le="+Inf",{BROKER}}}': "0+100x30",
    },
}
"""What a minute each says of something that is wrong with a server, by the one alert that is to tell it after 20 minutes."""
ALL_IS_WELL: Final[dict[str, str]] = {
    f"rocketmq_nameserver_up{{{SERVER}}}": "1x30",
    f"rocketmq_namesrv_ready{{{SERVER}}}": "1x30",
    HEARTBEAT: "0 30 0 30 0 30 0 30 0 30 0 30 0 30 0 30 0 30 0 30 0 30",
    f'rocketmq_namesrv_unregistrations_total{{reason="requested",{SERVER}}}': "0+1x30",
    f'rocketmq_namesrv_route_lookups_total{{result="miss",{SERVER}}}': "0+1x30",
    f'rocketmq_namesrv_route_lookups_total{{result="hit",{SERVER}}}': "0+99x30",
    f'rocketmq_namesrv_config_reloads_total{{result="applied",{SERVER}}}': "0+1x30",
    f"rocketmq_namesrv_topics{{{SERVER}}}": "10x30",
    'rocketmq_namesrv_topics{instance="n2:19876",job="namesrv"}': "10x30",
    'rocketmq_namesrv_topics{instance="n3:19876",job="elsewhere"}': "1x30",
    f"rocketmq_broker_up{{{BROKER}}}": "1x30",
    f"rocketmq_broker_ready{{{BROKER}}}": "1x30",
    f"rocketmq_consumer_lag_latency_milliseconds{{{LAG}}}": "299999x30",
}


@pytest.mark.builds(checks.BUILD)
def test_each_trouble_is_told_by_its_alert_and_by_no_other(tmp_path: Path) -> None:
    names = [rule.name for rules in GROUPS.values() for rule in rules]
    assert sorted(names) == sorted(TROUBLES)
    groups = yaml.safe_load(rules_yaml())["groups"]
    for rule in (rule for group in groups for rule in group["rules"]):
        del rule["annotations"]
        rule["labels"] = {}
        rule["expr"] = f"group by () ({rule['expr']})"
    rules = tmp_path / "rules.yaml"
    rules.write_text(json.dumps({"groups": groups}), encoding="utf-8")
    scenes = [(ALL_IS_WELL, "")] + [(series, name) for name, series in TROUBLES.items()]
    tests = {
        "rule_files": [str(rules)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "name": told or "all is well",
                "interval": "1m",
                "input_series": [{"series": series, "values": values} for series, values in scene.items()],
                "alert_rule_test": [
                    {"eval_time": "20m", "alertname": name, "exp_alerts": [{}] if name == told else []}
                    for name in names
                ],
            }
            for scene, told in scenes
        ],
    }
    file = tmp_path / "tests.yaml"
    file.write_text(json.dumps(tests), encoding="utf-8")
    assert checks.promtool("test", "rules", str(file)) == []
    tests["tests"][0]["alert_rule_test"][0]["exp_alerts"] = [{}]  # type: ignore[index]  # it looks
    file.write_text(json.dumps(tests), encoding="utf-8")
    assert checks.promtool("test", "rules", str(file))


@pytest.mark.builds(checks.BUILD)
def test_promtool_reads_what_is_scraped(new_stage: StageMaker) -> None:
    with new_stage("scraped") as stage:
        name_server = stage.started_name_server(OURS, {"http": "127.0.0.1:0"})
        with OurBroker("broker-a", name_server.address, http="127.0.0.1:0") as broker:
            broker.create_topic("T", 2)
            assert checks.promtool("check", "metrics", text=scraped(http_of(name_server))) == []
            complaints = checks.promtool("check", "metrics", text=scraped(broker.broker.http_address))

    assert {line.split()[0] for line in complaints if 'base unit "seconds"' in line} <= NOT_SECONDS
    assert [line for line in complaints if 'base unit "seconds"' not in line] == []


def http_of(name_server: NameServer) -> str:
    """Give where a NameServer answers over HTTP: its log says so."""
    found: list[str] = []

    def is_told() -> bool:
        found.extend(re.findall(r'"http\.listening", "address": "([^"]+)"', name_server.process.output()))
        return bool(found)

    wait_until(is_told, "where HTTP is answered", WITHIN_S)
    return found[0]


def scraped(address: str) -> bytes:
    """Scrape, as Prometheus does."""
    with httpx.Client(trust_env=False, timeout=30) as client:
        answer = client.get(f"http://{address}/metrics")
    assert answer.status_code == 200
    return answer.content
