"""Long work in slices: a generator that yields where something else may be done, and returns its result.

Owns: the name of that shape, and doing all of it without a pause.
Must not know: who does something else meanwhile.
"""

from collections.abc import Generator
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")

Slices = Generator[None, None, ResultT]
"""Work whose slices each take well under a millisecond or so. Closing it gives it up."""


def at_once(work: Generator[Any, None, ResultT]) -> ResultT:
    """Do all slices, and give the result; raises what the work raises."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: ResultT = end.value
            return result
