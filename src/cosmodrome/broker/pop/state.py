"""What POP mode knows beside messages.

Owns: the parts, empty.
Must not know: requests; files.
"""

from dataclasses import dataclass, field

from cosmodrome.broker.pop.in_flight import InFlight
from cosmodrome.broker.pop.modes import RequestModes
from cosmodrome.broker.pop.orders import Orders
from cosmodrome.broker.pop.waiting import WaitingLimits, WaitingPops

_LIMITS = WaitingLimits(1024, 100_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PopState:
    """The parts. What waits begins empty: clients come again by themselves."""

    in_flight: InFlight = field(default_factory=InFlight)
    orders: Orders = field(default_factory=Orders)
    modes: RequestModes = field(default_factory=RequestModes)
    waiting: WaitingPops = field(default_factory=lambda: WaitingPops(_LIMITS))
