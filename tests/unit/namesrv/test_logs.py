"""One line for each event, whatever is in it and whoever reads it."""

import gc
import io
import json
import logging
import re
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.namesrv.events import BrokerUnregistered, RouteMissed
from cosmodrome.namesrv.logs import (
    LONGEST_VALUE,
    Entry,
    EventLog,
    LibraryLogHandler,
    LineWriter,
    LogFormat,
    configure_logging,
    end_logging,
    json_line,
    text_line,
)
from cosmodrome.namesrv.repeats import REPEAT_WINDOW_S, SUBJECTS_PER_KIND

GONE = BrokerUnregistered(
    cluster="DefaultCluster",
    broker="broker-b",
    id=0,
    addr="10.0.0.6:10911",
    reason="heartbeat_expired",
    last_heartbeat_s=120.0,
    topics_lost=42,
)


class Terminal(io.StringIO):
    """A text stream that a person reads."""

    def isatty(self) -> bool:
        return True


class BrokenStream(io.StringIO):
    """A stream that fails as often as it is used, and counts that."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.uses = 0

    def write(self, text: str) -> int:
        self.uses += 1
        raise self.error


@dataclass
class Clock:
    """Both clocks of a log, moved by hand."""

    now_s: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log(stream: io.StringIO, clock: Clock) -> EventLog:
    return EventLog(LineWriter(stream), json_line, clock_s=clock)


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    yield
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, LibraryLogHandler)]:
        root.removeHandler(handler)
    logging.getLogger("cosmodrome").setLevel(logging.NOTSET)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def entry(**fields: object) -> Entry:
    return Entry(time_s=1_772_345_000.004, level=logging.WARNING, event="a.b", fields=fields)


class TestText:
    def test_a_line_is_time_level_event_and_fields(self) -> None:
        line = text_line(Entry(time_s=1_772_345_000.004, level=GONE.LEVEL, event=GONE.NAME, fields=GONE.fields()))

        time, rest = line.split(" ", 1)
        assert re.fullmatch(r"2026-0[23]-\d\dT\d\d:\d\d:20\.004[+-]\d\d:\d\d", time)
        assert rest == (
            "WARN broker.unregistered cluster=DefaultCluster broker=broker-b id=0 addr=10.0.0.6:10911 "
            "reason=heartbeat_expired last_heartbeat_s=120.0 topics_lost=42"
        )

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ("plain", "plain"),
            ("火箭", "火箭"),
            ("", '""'),
            ("two words", '"two words"'),
            ("a=b", '"a=b"'),
            ('say "x"', '"say \\"x\\""'),
            ("C:\\x", "C:\\x"),
            ("C:\\my x", '"C:\\\\my x"'),
            ("a\nb\r\tc", '"a\\nb\\r\\tc"'),
            ("\x1b[31m", '"\\x1b[31m"'),
            ("\u2028\u202e", '"\\u2028\\u202e"'),
            (True, "true"),
        ],
    )
    def test_values_are_quoted_where_they_would_mislead(self, value: object, shown: str) -> None:
        assert text_line(entry(x=value)).endswith(f" a.b x={shown}")

    @given(st.text())
    def test_a_line_is_one_line_whatever_a_peer_sends(self, value: str) -> None:
        line = text_line(entry(topic=value))

        assert len(f"{line}.".splitlines()) == 1
        assert line.isprintable()

    def test_long_values_are_cut(self) -> None:
        assert len(text_line(entry(topic="x" * 100_000))) < LONGEST_VALUE + 100


class TestJson:
    def test_a_line_is_an_object_with_utc_time(self) -> None:
        assert json.loads(json_line(entry(id=0, ok=True, share=0.5, topic="火 箭"))) == {
            "time": "2026-03-01T06:03:20.004Z",
            "level": "WARN",
            "event": "a.b",
            "id": 0,
            "ok": True,
            "share": 0.5,
            "topic": "火 箭",
        }

    def test_no_field_replaces_the_first_three(self) -> None:
        assert json.loads(json_line(entry(time="x", event="y")))["event"] == "a.b"

    @given(st.text(max_size=LONGEST_VALUE))
    def test_any_value_comes_back(self, value: str) -> None:
        line = json_line(entry(topic=value))

        assert json.loads(line)["topic"] == value
        assert line.isascii()
        assert line.isprintable()


class TestEvents:
    def test_an_event_is_a_line(self, log: EventLog, stream: io.StringIO) -> None:
        log.publish(GONE)

        assert lines(stream)[0] | {"time": ""} == {
            "time": "",
            "level": "WARN",
            "event": "broker.unregistered",
            **GONE.fields(),
        }

    def test_events_below_the_level_are_left_out(self, stream: io.StringIO) -> None:
        log = EventLog(LineWriter(stream), json_line, logging.WARNING)

        log.publish(RouteMissed(topic="T", peer=None))
        log.publish(GONE)

        assert [line["event"] for line in lines(stream)] == ["broker.unregistered"]

    def test_ordinary_events_are_never_counted_away(self, log: EventLog, stream: io.StringIO) -> None:
        for _ in range(3):
            log.publish(GONE)

        assert len(lines(stream)) == 3


class TestRepeatedRecords:
    """What peers make the transport log."""

    @pytest.fixture
    def logger(self, stream: io.StringIO, clock: Clock) -> Iterator[logging.Logger]:
        logger = logging.getLogger("cosmodrome.transport.test")
        handler = LibraryLogHandler(LineWriter(stream), json_line, clock)
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        yield logger
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)

    def test_a_record_may_have_the_name_of_an_event(self, logger: logging.Logger, stream: io.StringIO) -> None:
        logger.info("a", extra={"event": "broker.started"})
        logger.info("b")

        assert [line["event"] for line in lines(stream)] == ["broker.started", "test"]

    def test_another_connection_of_a_host_is_counted(
        self, logger: logging.Logger, stream: io.StringIO, clock: Clock
    ) -> None:
        def complain(peer: str) -> None:
            logger.warning("closing connection of %s: %s", peer, "not RocketMQ")

        for port in range(40_000, 40_010):
            complain(f"10.0.0.7:{port}")
            complain(f"[fe80::1]:{port}")
        clock.now_s += REPEAT_WINDOW_S
        complain("10.0.0.7:1")

        assert [(line["message"], line.get("repeated")) for line in lines(stream)] == [
            ("closing connection of 10.0.0.7:40000: not RocketMQ", None),
            ("closing connection of [fe80::1]:40000: not RocketMQ", None),
            ("closing connection of 10.0.0.7:40009: not RocketMQ", 9),
            ("closing connection of [fe80::1]:40009: not RocketMQ", 9),
        ], "the last one stands for those that were counted"

    def test_a_flood_of_different_ones_is_bounded(self, logger: logging.Logger, stream: io.StringIO) -> None:
        for number in range(SUBJECTS_PER_KIND * 2):
            logger.warning("closing connection of %s: %s", "10.0.0.7:1", number)
        logger.warning("something else")

        assert len(lines(stream)) == SUBJECTS_PER_KIND + 1

    def test_faults_of_one_place_have_one_traceback(
        self, logger: logging.Logger, stream: io.StringIO, clock: Clock
    ) -> None:
        """Whatever the message says, and however the place was reached."""

        def fail(number: int) -> None:
            try:
                if number % 2:
                    int("T")
                else:
                    [].pop()
            except (ValueError, IndexError):
                logger.exception("request %d failed", number)

        for number in range(1000):
            fail(number)
        first = lines(stream)
        for handler in logger.handlers:
            handler.flush()

        assert [("trace" in line, line.get("repeated")) for line in first] == [(True, None)] * 2
        assert [("trace" in line, line.get("repeated")) for line in lines(stream)[2:]] == [(False, 499)] * 2

    def test_what_is_held_does_not_keep_frames_alive(
        self, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(logger, "propagate", False)  # pytest keeps every record that reaches the root

        class Large:
            """What a failing function had in its hands."""

        held: list[weakref.ref[Large]] = []

        def fail() -> None:
            large = Large()
            held.append(weakref.ref(large))
            raise ValueError

        for _ in range(3):
            try:
                fail()
            except ValueError:
                logger.exception("failed")
        gc.collect()

        assert [reference() for reference in held] == [None] * 3

    def test_debugging_shows_all(self, logger: logging.Logger, stream: io.StringIO) -> None:
        for _ in range(3):
            logger.debug("the same")

        assert len(lines(stream)) == 3


class TestStreams:
    @pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("I/O operation on closed file")])
    def test_a_lost_reader_is_given_up(self, error: Exception) -> None:
        stream = BrokenStream(error)
        writer = LineWriter(stream)

        writer.write("a")
        writer.write("b")

        assert stream.uses == 1

    def test_a_full_disk_is_tried_again(self) -> None:
        stream = BrokenStream(OSError(28, "No space left on device"))
        writer = LineWriter(stream)

        writer.write("a")
        writer.write("b")

        assert stream.uses == 2

    def test_a_process_without_streams_logs_nowhere(self) -> None:
        configure_logging(logging.INFO, LogFormat.AUTO, None).publish(GONE)

    def test_a_stream_that_is_closed_already_is_no_failure(self) -> None:
        stream = io.StringIO()
        stream.close()

        configure_logging(logging.INFO, LogFormat.AUTO, stream).publish(GONE)

    def test_a_narrow_encoding_gets_escapes(self) -> None:
        data = io.BytesIO()
        stream = io.TextIOWrapper(data, encoding="ascii")

        LineWriter(stream).write("topic=火")

        assert data.getvalue() == b"topic=\\u706b\n"


class TestConfigure:
    @pytest.mark.parametrize(
        ("log_format", "stream", "is_json"),
        [
            (LogFormat.AUTO, io.StringIO(), True),
            (LogFormat.AUTO, Terminal(), False),
            (LogFormat.TEXT, io.StringIO(), False),
            (LogFormat.JSON, Terminal(), True),
        ],
    )
    def test_auto_is_text_for_people(self, log_format: LogFormat, stream: io.StringIO, is_json: bool) -> None:  # noqa: FBT001
        configure_logging(logging.INFO, log_format, stream).publish(GONE)

        assert stream.getvalue().startswith("{") is is_json

    def test_records_of_the_library_come_out_in_the_same_form(self, stream: io.StringIO) -> None:
        configure_logging(logging.INFO, LogFormat.JSON, stream)

        logging.getLogger("cosmodrome.transport.server").info("from %s\nport", "10.0.0.7")
        logging.getLogger("cosmodrome.transport.server").debug("not this")

        assert lines(stream)[0] | {"time": ""} == {
            "time": "",
            "level": "INFO",
            "event": "server",
            "message": "from 10.0.0.7\nport",
        }
        assert len(lines(stream)) == 1

    def test_a_traceback_stays_on_its_line(self, stream: io.StringIO) -> None:
        configure_logging(logging.INFO, LogFormat.TEXT, stream)

        try:
            int("T")
        except ValueError:
            logging.getLogger("cosmodrome.transport.dispatch").exception("a fault of ours")

        assert len(stream.getvalue().splitlines()) == 1
        assert "trace=" in stream.getvalue()
        assert "ValueError" in stream.getvalue()

    def test_other_libraries_come_through_from_warning_on(self, stream: io.StringIO) -> None:
        configure_logging(logging.DEBUG, LogFormat.JSON, stream)

        logging.getLogger("asyncio").debug("not this")
        logging.getLogger("asyncio").error("never retrieved")

        assert [line["event"] for line in lines(stream)] == ["asyncio"]

    def test_what_was_counted_is_printed_at_the_end(self, stream: io.StringIO) -> None:
        configure_logging(logging.INFO, LogFormat.JSON, stream)
        for _ in range(3):
            logging.getLogger("cosmodrome.x").warning("again")

        end_logging()
        end_logging()

        assert [line.get("repeated") for line in lines(stream)] == [None, 2]

    def test_a_second_call_replaces_the_first(self, stream: io.StringIO) -> None:
        first = io.StringIO()
        configure_logging(logging.INFO, LogFormat.JSON, first)
        configure_logging(logging.INFO, LogFormat.JSON, stream)

        logging.getLogger("cosmodrome.x").info("once")

        assert first.getvalue() == ""
        assert len(lines(stream)) == 1
