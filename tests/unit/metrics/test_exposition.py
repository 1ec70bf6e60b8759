"""Metrics as text, read back as Prometheus does."""

import asyncio

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from cosmodrome.metrics.exposition import Format, format_for, text_of
from cosmodrome.metrics.family import Family, Histogram, Kind, Sample, gauge, milliseconds
from cosmodrome.transport.traffic import Durations


async def whole(*families: Family) -> bytes:
    """Give the text in one piece."""
    return b"".join([piece async for piece in text_of(families)])


async def read(*families: Family) -> dict[str, dict[tuple[str, ...], float]]:
    """Give the values by name and labels."""
    text = (await whole(*families)).decode()
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for each in text_string_to_metric_families(text):
        for sample in each.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


async def test_a_counter_ends_in_total_and_the_process_is_measured_too() -> None:
    found = await read(
        Family("came", Kind.COUNTER, "how many\ncame\\", ("who",), [Sample(("a",), 3)]), gauge("now", "", 0.5)
    )

    assert (found["came_total"], found["now"]) == ({("a",): 3}, {(): 0.5})
    assert found["process_cpu_seconds_total"]


async def test_any_text_is_a_label() -> None:
    texts = ['a"b', "a\\b", "a\nb", "a}b,c=d", "é…", ""]
    found = await read(Family("g", Kind.GAUGE, "", ("text",), [Sample((each,), 1) for each in texts]))

    assert [labels[0] for labels in found["g"]] == texts


async def test_what_is_no_text_is_written_all_the_same() -> None:
    text = await whole(Family("g", Kind.GAUGE, "", ("text",), [Sample(("a\ud800",), 1)]))

    assert b'g{text="a?"} 1.0' in text


async def test_a_histogram_counts_what_is_at_most_so_large() -> None:
    histogram = Histogram((1, 10), (2, 3, 4), 99.5)
    found = await read(Family("size", Kind.HISTOGRAM, "", ("topic",), [Sample(("T",), histogram)]))

    assert found["size_bucket"] == {("T", "1.0"): 2, ("T", "10.0"): 5, ("T", "+Inf"): 9}
    assert (found["size_count"], found["size_sum"]) == ({("T",): 9}, {("T",): 99.5})


async def test_times_in_milliseconds() -> None:
    durations = Durations()
    durations.add(0.002, 3)
    found = await read(Family("took", Kind.HISTOGRAM, "", (), [Sample((), milliseconds(durations))]))

    assert (found["took_bucket"]["1.0",], found["took_bucket"]["2.5",], found["took_sum"][()]) == (0, 3, 6)


async def test_others_have_their_turn_while_many_series_are_written() -> None:
    samples = [Sample((str(number),), number) for number in range(5000)]
    writing = asyncio.ensure_future(whole(Family("g", Kind.GAUGE, "", ("n",), samples)))
    turns = 0
    while not writing.done():
        await asyncio.sleep(0)
        turns += 1

    assert turns >= 10
    assert writing.result().count(b"\ng{") == 5000


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Format.TEXT),
        ("*/*", Format.TEXT),
        ("text/plain", Format.TEXT),
        ("application/json", Format.TEXT),
        ("application/openmetrics-text", Format.OPENMETRICS),
        ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", Format.OPENMETRICS),
        ("application/openmetrics-text; version=1.0.0; escaping=allow-utf-8; q=0.6, text/plain; q=0.8", Format.TEXT),
        ("application/openmetrics-text;q=0", Format.TEXT),
        ("application/openmetrics-text;q=much, */*;q=0.1", Format.TEXT),
        ("text/*;q=0.2, APPLICATION/OpenMetrics-Text;Q=0.3", Format.OPENMETRICS),
    ],
)
def test_a_reader_gets_the_format_that_it_likes_better(accept: str, form: Format) -> None:
    assert format_for(accept) is form


async def test_openmetrics_is_what_its_parser_reads() -> None:
    families = [
        Family("came", Kind.COUNTER, 'how "many"\ncame\\', ("who",), [Sample(('a"b\\\n',), 3)]),
        Family("size", Kind.HISTOGRAM, "", ("topic",), [Sample(("T",), Histogram((1, 10), (2, 3, 4), 99.5))]),
        Family("nothing", Kind.COUNTER, "no series yet", ("word",), []),
        gauge("now", "", 0.5),
    ]
    text = b"".join([piece async for piece in text_of(families, Format.OPENMETRICS)]).decode()
    read = {each.name: each for each in openmetrics.text_string_to_metric_families(text)}  # type: ignore[no-untyped-call]

    assert text.endswith("# EOF\n")
    assert (read["came"].type, read["came"].documentation) == ("counter", 'how "many"\ncame\\')
    assert [(each.name, each.labels, each.value) for each in read["came"].samples] == [
        ("came_total", {"who": 'a"b\\\n'}, 3)
    ]
    assert [each.value for each in read["size"].samples] == [2, 5, 9, 9, 99.5]
    assert read["process_cpu_seconds"].type == "counter"
    assert (read["nothing"].samples, read["now"].samples[0].value) == ([], 0.5)
