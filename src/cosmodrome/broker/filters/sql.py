"""SQL92 filters on stored messages.

Owns: that each expression is read once; that a message which makes trouble is one that is not wanted.
Must not know: who subscribes; how messages are read.
"""

import functools
from collections.abc import Callable
from typing import Final

from cosmodrome.broker.filters.grammar import parse
from cosmodrome.errors import FilterError, MalformedBodyError
from cosmodrome.protocol.messages.properties import decode_properties, properties_text
from cosmodrome.protocol.messages.record import properties_in

RecordFilter = Callable[[memoryview], bool]
_REMEMBERED: Final = 1024


@functools.lru_cache(maxsize=_REMEMBERED)
def sql_filter(expression: str) -> RecordFilter:
    """Give what tells of a stored record whether its properties fulfil an SQL92 expression; unknown is not enough.

    Raises:
        FilterError: The expression is none; the text says what was found where.
    """
    evaluate = parse(expression).evaluate

    def is_wanted(record: memoryview) -> bool:
        try:
            return evaluate(decode_properties(properties_text(properties_in(record)))) is True
        except (FilterError, MalformedBodyError):
            return False

    return is_wanted
