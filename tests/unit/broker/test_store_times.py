"""How long storing took, as 28 tells it."""

from cosmodrome.broker.store_times import StoreTimes


def test_messages_are_counted_by_how_long_they_took() -> None:
    times = StoreTimes()
    for took_ms in (0, 0, 3, 10, 11, 700, 20_000):
        times.put(1, 100, took_ms)
    table = times.table()
    buckets = dict(each.rsplit(":", 1) for each in table["putMessageDistributeTime"].split())
    assert {name: count for name, count in buckets.items() if count != "0"} == {
        "[<=0ms]": "2", "[0~10ms]": "2", "[10~50ms]": "1", "[500ms~1s]": "1", "[10s~]": "1",
    }  # fmt: skip
    assert table["putMessageEntireTimeMax"] == "20000"
    assert table["putMessageAverageSize"] == "100.0"
    assert table["putLatency99"] == "20000.00"


def test_percentiles_are_of_the_last_minute() -> None:
    times = StoreTimes()
    times.put(1, 1, 5000)
    for _ in range(6):
        times.sample()
        times.put(100, 1, 1)
    assert times.table()["putLatency999"] == "5000.00"
    times.sample()
    assert times.table()["putLatency999"] == "1.00"


def test_totals_of_two_mornings_are_kept() -> None:
    times = StoreTimes()
    times.begin_day(10, 5)
    times.begin_day(30, 15)
    table = times.table()
    assert [table[f"msg{kind}Total{day}Morning"] for kind in ("Put", "Get") for day in ("Yesterday", "Today")] == [
        "10", "30", "5", "15",
    ]  # fmt: skip


def test_what_failed_and_what_was_read_is_counted() -> None:
    times = StoreTimes()
    times.failed += 2
    times.got(7)
    times.got(3)
    table = times.table()
    assert (table["putMessageFailedTimes"], table["getMessageEntireTimeMax"]) == ("2", "7")
    assert (table["putMessageAverageSize"], table["putLatency99"]) == ("0.0", "0.00")
