"""How long to wait before trying again, and how often.

Owns: the pauses after each kind of pull result; delay levels of retries; when a message has failed for good.
Must not know: what was tried; clocks.
"""

from typing import Final

PULL_FAILED_S: Final = 1.0
"""After an answer that is of no use, or none."""
FLOW_CONTROL_S: Final = 0.02
"""After the broker's word that it is asked too often."""
REJOIN_S: Final = 1.0
"""At least so far apart are heartbeats that a refusal of one queue's pulls asks for."""
FIRST_REJOIN_S: Final = 0.2
"""Until the first pull after such a heartbeat."""
QUICK_ANSWER_S: Final = 0.02
"""A broker that found nothing and answered sooner did not hold the pull."""
CONSUME_AGAIN_LOCALLY_S: Final = 5.0
"""Until a message that could be sent back nowhere is handed out again."""
DELAY_LEVELS: Final = 18
FIRST_RETRY_LEVEL: Final = 3
TO_DEAD_LETTERS: Final = -1
"""The delay level that asks for the dead-letter queue at once."""
DEFAULT_MAX_RECONSUME: Final = 16
UNLIMITED: Final = 2**31 - 1

# Codes of the broker that lost its members: a heartbeat brings this one back.
_FORGOT_US: Final = frozenset({24, 25})
FLOW_CONTROL_CODE: Final = 215


def pause_after_refusal_s(code: int) -> float:
    """Give the pause before the next pull of a queue whose pull was refused with this code."""
    return FLOW_CONTROL_S if code == FLOW_CONTROL_CODE else PULL_FAILED_S


def pause_after_quick_answers_s(in_a_row: int) -> float:
    """Give the pause after so many answers of nothing that came at once: brokers that hold no pulls are not flooded."""
    return min(QUICK_ANSWER_S * 2 ** min(in_a_row - 2, 8), PULL_FAILED_S) if in_a_row > 1 else 0.0


def asks_for_heartbeat(code: int) -> bool:
    """Whether a refused pull says that the broker does not know this member, or not its subscriptions."""
    return code in _FORGOT_US


def max_reconsume_times(setting: int, *, is_orderly: bool) -> int:
    """Give how often a message is tried again at most; -1 stands for 16, or for ever in order."""
    if setting >= 0:
        return setting
    return UNLIMITED if is_orderly else DEFAULT_MAX_RECONSUME


def retry_level(reconsume_times: int, delay_level: int | None) -> int:
    """Give the delay level of a normal message that stands for a failed one; None leaves it to the count."""
    if delay_level:
        return min(delay_level, DELAY_LEVELS)
    return min(FIRST_RETRY_LEVEL + reconsume_times, DELAY_LEVELS)


def checked_delay_level(delay_level: int | None) -> int:
    """Give the level as it travels: 0 leaves it to the broker, -1 asks for the dead-letter queue.

    Raises:
        ValueError: It is no level of 1 to 18, nor -1 or 0.
    """
    level = 0 if delay_level is None else delay_level
    if isinstance(level, bool) or not isinstance(level, int) or not TO_DEAD_LETTERS <= level <= DELAY_LEVELS:
        raise ValueError(
            f"delay_level is 1 to {DELAY_LEVELS}, 0 for the broker's choice or -1 for dead letters, not {level!r}"
        )
    return level
