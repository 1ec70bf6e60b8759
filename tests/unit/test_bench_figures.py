"""How ./bench judges its goals and tells its figures."""

import pytest
from benchmarks.figures import Beside, Ceiling, Entry, Figures, Goal, Limit, markdown
from benchmarks.subjects import APACHE, OURS, RUST


def figures_of(goal: Goal, ours: list[float], others: dict[str, list[float]] | None = None) -> Figures:
    figures = Figures()
    entry = Entry("Cost", "all", "ms", (goal,))
    for server, values in {OURS: ours, **(others or {})}.items():
        for value in values:
            figures.add(entry, server, value)
    return figures


@pytest.mark.parametrize(("limit", "word"), [(2.0, "met"), (1.9, "missed")])
def test_a_ceiling_is_compared_with_our_median(limit: float, word: str) -> None:
    (verdict,) = figures_of(Ceiling(limit), [1.0, 2.0, 9.0]).verdicts()
    assert (verdict.word, verdict.figure) == (word, 2.0)


def test_a_limit_is_compared_with_the_median_of_the_ratios_of_each_round() -> None:
    figures = figures_of(Limit(APACHE, 0.5), [1.0, 4.0, 9.0], {APACHE: [10.0, 5.0, 30.0]})
    (verdict,) = figures.verdicts()
    assert (verdict.word, verdict.figure) == ("met", 0.3)


def test_a_case_is_compared_with_another_one_of_ours() -> None:
    figures = figures_of(Beside("some", 1.5), [3.0], {APACHE: [1.0]})
    figures.add(Entry("Cost", "some", "ms"), OURS, 1.0)
    figures.add(Entry("Other", "some", "ms"), OURS, 100.0)
    (verdict,) = figures.verdicts()
    assert (verdict.word, verdict.figure) == ("missed", 3.0)
    assert figures.misses() == ["Cost, all: 3, at most 1.5 x ours with some"]


@pytest.mark.parametrize("goal", [Limit(RUST, 0.5), Beside("some", 0.5)])
def test_a_goal_without_what_it_compares_is_neither_met_nor_missed(goal: Goal) -> None:
    figures = figures_of(goal, [1.0])
    (verdict,) = figures.verdicts()
    assert (verdict.word, verdict.is_met) == ("not measured", False)
    assert figures.misses() == []


def test_what_was_not_measured_for_us_has_no_goal() -> None:
    assert figures_of(Ceiling(1.0), [], {APACHE: [1.0]}).verdicts() == []


def test_the_tables_show_medians_ratios_with_goals_and_verdicts() -> None:
    lines = markdown(figures_of(Limit(APACHE, 0.5), [1.0, 3.0], {APACHE: [4.0, 4.0]})).splitlines()
    assert "| all | ms | 2 | 4 | - | - | 0.50 (0.25 to 0.75, goal 0.5) | - | - |" in lines
    assert "| Cost, all | 0.5 | 0.5 x apache | met |" in lines


def test_other_servers_may_be_the_columns() -> None:
    text = markdown(figures_of(Limit("java", 0.5), [1.0], {"java": [1.0]}), (OURS, "java"))
    assert "| all | ms | 1 | 1 | 1.00 (1.00 to 1.00, goal 0.5) |" in text
    assert "| Cost, all | 1 | 0.5 x java | **missed** |" in text
