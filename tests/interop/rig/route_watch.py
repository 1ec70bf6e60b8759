"""When each of several NameServers tells of a change, measured side by side.

Owns: asking all of them in turn over open connections, and the clock.
Must not know: what the change is; which NameServer should be first.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.view import GET_ROUTEINFO_BY_TOPIC, SUCCESS
from tests.support.waiting import PAUSE_S, wait_until
from tests.support.wire import Wire

POLL_S: Final = PAUSE_S

Route = Mapping[str, Any]


def times_until(
    servers: Sequence[NameServer], topic: str, is_reached: Callable[[Route], bool], since: float, within_s: float
) -> list[float]:
    """Poll the route of a topic at every server, and return for each the seconds from `since` to the first match.

    Every POLL_S the servers that have not matched are asked, in the order given: a change that falls between two
    questions of one round is seen at the later server first. `since` is a time of time.monotonic().

    Raises:
        NotInTimeError: A server had no match in `within_s` seconds.
    """
    times: dict[str, float] = {}
    with ExitStack() as stack:
        wires = {server.address: stack.enter_context(Wire(server.address)) for server in servers}

        def have_all_matched() -> bool:
            for address in [each for each in wires if each not in times]:
                answer = wires[address].request(GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
                if answer.code == SUCCESS and is_reached(answer.json()):
                    times[address] = time.monotonic() - since
            return len(times) == len(wires)

        wait_until(have_all_matched, f"the new route of {topic} at {len(wires)} NameServers", within_s)
    return [times[server.address] for server in servers]
