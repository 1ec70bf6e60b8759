"""The dashboard and the alert rules ask for what our servers show, in words that Prometheus and Grafana know."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from tests.support.metrics import families_of_both

from cosmodrome.cli.export import export
from cosmodrome.metrics.family import Kind
from cosmodrome.monitoring.alerts import GROUPS, rules_yaml
from cosmodrome.monitoring.dashboard import ROWS, VARIABLES, dashboard, dashboard_json

OF_THE_SCRAPE: Final = frozenset({"instance", "job", "le"})
"""Labels that Prometheus gives, and that of histograms."""
HISTOGRAM: Final = ("_bucket", "_count", "_sum")


async def shown() -> dict[str, frozenset[str]]:
    """Give the labels of each series that a NameServer and a broker show, by its name."""
    found: dict[str, frozenset[str]] = {}
    for family in await families_of_both():
        ends = HISTOGRAM if family.kind is Kind.HISTOGRAM else ("_total",) if family.kind is Kind.COUNTER else ("",)
        for end in ends:
            name = f"{family.name}{end}"
            found[name] = found.get(name, frozenset(family.labels)) & frozenset(family.labels)
    registry = CollectorRegistry(auto_describe=False)
    for collector in (PlatformCollector, ProcessCollector, GCCollector):
        collector(registry=registry)
    for metric in registry.collect():
        found |= {sample.name: frozenset(sample.labels) for sample in metric.samples}
    return found


def queries() -> Iterator[tuple[str, str]]:
    """Give every query with where it stands."""
    for rules in GROUPS.values():
        yield from ((rule.name, rule.when) for rule in rules)
    for panels in ROWS.values():
        yield from ((panel.title, query) for panel in panels for query, _ in panel.queries)
    yield from VARIABLES.items()


def parts(query: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Give each metric that a query names, with the labels by which it chooses."""
    for name, chosen in re.findall(r"\b((?:rocketmq|process|python)_\w+)(\{[^}]*\})?", query):
        yield name, frozenset(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", chosen))


async def test_every_metric_that_is_asked_for_is_shown_with_the_labels_that_are_chosen_by() -> None:
    known = await shown()
    asked = [(where, name, labels) for where, query in queries() for name, labels in parts(query)]

    assert len(asked) > 70
    assert {(where, name) for where, name, _ in asked if name not in known} == set()
    wrong = {(where, name, tuple(labels - known[name] - OF_THE_SCRAPE)) for where, name, labels in asked}
    assert {each for each in wrong if each[2]} == set()


async def test_what_is_summed_by_is_a_label_of_what_is_summed() -> None:
    known = await shown()
    for where, query in queries():
        names = [name for name, _ in parts(query)]
        given = OF_THE_SCRAPE.union(*(known[name] for name in names))
        by = re.findall(r"\b(?:by|on) \(([^)]*)\)", query)
        asked = {label.strip() for group in by for label in group.split(",") if label.strip()}
        assert asked <= given | {"node_id"}, f"{where}: {asked - given}"


async def test_every_label_in_a_text_is_one_that_the_query_gives() -> None:
    known = await shown()
    for rules in GROUPS.values():
        for rule in rules:
            named = set(re.findall(r"\$labels\.(\w+)", rule.summary + rule.action))
            given = OF_THE_SCRAPE.union(*(known[name] for name, _ in parts(rule.when)))
            assert named <= given, rule.name


async def test_counters_are_asked_for_their_rate_and_gauges_for_their_value() -> None:
    kinds = {family.name: family.kind for family in await families_of_both()}
    for where, query in queries():
        for name, _ in parts(query):
            is_counted = kinds.get(name.removesuffix("_total")) is Kind.COUNTER or name.endswith("_bucket")
            has_rate = re.search(rf"\b(rate|increase)\({name}\b", query) is not None
            assert has_rate == (is_counted or name.endswith("cpu_seconds_total")), f"{where}: {name}"


def test_the_rules_are_a_file_of_prometheus() -> None:
    read = yaml.safe_load(rules_yaml())
    rules = [rule for group in read["groups"] for rule in group["rules"]]

    assert [group["name"] for group in read["groups"]] == list(GROUPS)
    assert len({rule["alert"] for rule in rules}) == len(rules) == sum(map(len, GROUPS.values()))
    for rule in rules:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["expr"].count("(") == rule["expr"].count(")")
    expressions = {rule["alert"]: rule["expr"] for rule in rules}
    assert expressions["RocketMQBrokerSilent"] == "rocketmq_namesrv_broker_last_heartbeat_age_seconds > 60"
    assert expressions["RocketMQRoutesMissed"].endswith("> 0.05")
    assert expressions["RocketMQNameServerSlow"].startswith("histogram_quantile(0.99,")


def test_pictures_do_not_overlap() -> None:
    places: set[tuple[int, int]] = set()
    panels: list[dict[str, Any]] = dashboard()["panels"]
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & places, panel["title"]
        assert place["x"] + place["w"] <= 24
        places |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len(panels) == len(ROWS) + sum(map(len, ROWS.values()))


def test_every_variable_is_used_and_every_one_that_is_used_is_there() -> None:
    text = dashboard_json()
    used = set(re.findall(r"\$\{?(\w+)\}?", text)) - {"__rate_interval", "__all"}

    assert used == {"datasource", *VARIABLES}
    assert {each["name"] for each in dashboard()["templating"]["list"]} == {"datasource", *VARIABLES}


@pytest.mark.parametrize("words", [["grafana"], ["alerts"]])
def test_they_are_printed(words: list[str]) -> None:
    done = CliRunner().invoke(export, words)

    assert done.exit_code == 0
    read = json.loads(done.stdout) if words == ["grafana"] else yaml.safe_load(done.stdout)
    assert read == (dashboard() if words == ["grafana"] else yaml.safe_load(rules_yaml()))
