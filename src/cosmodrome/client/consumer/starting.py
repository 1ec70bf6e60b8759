"""How a consumer that could not be started ends.

Owns: the limit of a start; that nothing is left running of one that failed or was given up; what is raised then.
Must not know: what a start consists of.
"""

import asyncio
from collections.abc import Awaitable, Callable

from cosmodrome.errors import ClientClosedError, RequestTimeoutError


async def start_or_close(
    starting: asyncio.Task[None], limit_s: float, close: Callable[[], Awaitable[None]], group: str, hint: str = ""
) -> None:
    """Wait for a start; if it does not come to its end, close the consumer. `hint` follows the text of a time-out.

    Raises:
        RequestTimeoutError: The limit went by.
        ClientClosedError: Somebody else closed the consumer meanwhile.
    """
    try:
        async with asyncio.timeout(limit_s):
            await starting
    except TimeoutError:
        await close()
        raise RequestTimeoutError(
            f"the consumer of group {group} could not be started in {limit_s:g} s{hint}"
        ) from None
    except BaseException:
        is_closed_by_another = starting.cancelled() and not _is_being_cancelled()
        await close()
        if is_closed_by_another:
            raise ClientClosedError(f"the consumer of group {group} was closed while it started") from None
        raise


def _is_being_cancelled() -> bool:
    """Whether the running task was asked to end, and not just something for which it waits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
