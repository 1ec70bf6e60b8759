"""Bytes for the fuzz targets: what was found by fuzzing, changed a little, and first inputs made of recordings.

Owns: the strategy, and where the corpus is.
Must not know: what the targets check.
"""

from functools import cache
from pathlib import Path

from fuzz.seeds import seeds
from hypothesis import strategies as st

CORPUS = Path(__file__).resolve().parents[2] / "fuzz" / "corpus"


@cache
def corpus(target: str) -> tuple[bytes, ...]:
    """Give the committed inputs of a target, in order of their names."""
    return tuple(path.read_bytes() for path in sorted((CORPUS / target).iterdir()))


@cache
def known(target: str) -> tuple[bytes, ...]:
    """Give the committed inputs and the first ones."""
    return (*corpus(target), *seeds(target))


@st.composite
def near(draw: st.DrawFn, target: str) -> bytes:
    """Give an input that is known, with up to four changes; now and then any bytes."""
    if draw(st.integers(0, 7)) == 0:
        return draw(st.binary(max_size=200))
    data = bytearray(draw(st.sampled_from(known(target))))
    for _ in range(draw(st.integers(0, 4))):
        _change(draw, data, target)
    return bytes(data)


def _change(draw: st.DrawFn, data: bytearray, target: str) -> None:
    at = draw(st.integers(0, len(data)))
    match draw(st.integers(0, 4)):
        case 0:
            data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
        case 1:
            data[at:at] = draw(st.binary(max_size=8))
        case 2:
            del data[at : at + draw(st.integers(1, 40))]
        case 3:
            data[at:at] = data[: draw(st.integers(0, 60))]
        case _:
            data[at:] = draw(st.sampled_from(known(target)))[-100:]
