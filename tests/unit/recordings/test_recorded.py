"""The form of recordings, and what is none."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.errors import RecordingError
from cosmodrome.protocol.command import encode_command, request
from cosmodrome.recordings.recorded import Recorded, from_hex, line_of, read_bytes, read_file, read_line

FRAME = encode_command(request(105, {"topic": "T"}, opaque=7))


RECORDED = st.builds(
    Recorded,
    st.floats(0, 1e9).map(lambda t_ms: round(t_ms, 1)),
    st.integers(1, 10_000),
    st.sampled_from(["request", "response"]),
    st.binary(max_size=60),
    st.booleans(),
    st.booleans(),
)


@given(RECORDED)
def test_a_line_reads_back(recorded: Recorded) -> None:
    assert read_line(line_of(recorded)) == recorded


def test_who_sent_it_counts_more_than_what_it_is() -> None:
    """A broker's request on the connection of a client."""
    line = json.loads(line_of(Recorded(1.0, 1, "request", FRAME)))
    assert read_line(json.dumps(line | {"from": "broker", "else": [1]}).encode()).direction == "response"


@pytest.mark.parametrize(
    "line",
    [b"{}", b"[]", b"{", b'{"frame_b64": 1}', b'{"frame_b64": "*"}', b'{"frame_b64": "AAAA", "dir": "up"}', b"\xff"],
)
def test_what_is_no_line_is_refused(line: bytes) -> None:
    with pytest.raises(RecordingError):
        read_line(line)


def test_a_bad_line_is_named_and_what_came_before_is_given(tmp_path: Path) -> None:
    good = line_of(Recorded(1.0, 1, "request", FRAME))
    (tmp_path / "a").write_bytes(good + b"\r\n\n" + good + b"\n{}\n")
    found = read_file(tmp_path / "a")
    assert [next(found).data, next(found).data] == [FRAME, FRAME]
    with pytest.raises(RecordingError, match="line 4: "):
        next(found)


@pytest.mark.parametrize(
    "text",
    [
        FRAME.hex().encode(),
        FRAME.hex(" ").upper().encode(),
        b"0x" + FRAME.hex(":").encode() + b"\n",
        b"\n".join(FRAME.hex()[start : start + 32].encode() for start in range(0, 2 * len(FRAME), 32)),
        FRAME,
    ],
)
def test_bare_frames_and_digits(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a").write_bytes(text)
    assert [each.data for each in read_file(tmp_path / "a")] == [FRAME]


def test_frames_that_follow_one_another_are_cut() -> None:
    assert [each.data for each in read_bytes(FRAME + FRAME)] == [FRAME, FRAME]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "nothing"),
        (FRAME[:3], "byte 0: a length field is cut"),
        (
            FRAME + FRAME[:-1],
            f"byte {len(FRAME)}: a frame of {len(FRAME)} bytes begins, and {len(FRAME) - 1} are there",
        ),
        (b"\x7f\xff\xff\xff" + FRAME, "no frame has 2147483651 bytes"),
        (b"\x80\0\0\0" + FRAME, "no frame has 4 bytes"),
    ],
)
def test_bytes_that_are_no_frames_say_where(data: bytes, why: str) -> None:
    with pytest.raises(RecordingError, match=why):
        list(read_bytes(data))


@pytest.mark.parametrize("text", [b"0", b"xy", "å".encode()])
def test_what_is_no_hexadecimal_is_refused(text: bytes) -> None:
    with pytest.raises(RecordingError, match="hexadecimal"):
        from_hex(text)
