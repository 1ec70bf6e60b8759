"""The HTTP listener of a broker, from the call of its start to the end of its stop.

Owns: that it answers while the store is opened, and until everything is answered; its timer.
Must not know: what is asked there (http/app.py); what a broker is made of.
"""

from collections.abc import Iterable

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.config import BrokerConfig
from cosmodrome.broker.metrics.families import Measures
from cosmodrome.broker.view import BrokerView, Seen
from cosmodrome.http.application import Application
from cosmodrome.http.plane import HttpPlane, plane_at
from cosmodrome.metrics.family import Family


class Watch:
    """One run of a broker, as it is seen from outside. Without an address for HTTP nothing is opened or measured."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        """Watch a broker with these settings."""
        self._view = BrokerView(config, clock)
        self._measures: Measures | None = None
        self._plane: HttpPlane | None = plane_at(config.http)

    @property
    def address(self) -> str:
        """Where HTTP is answered, `host:port` as bound; empty when it is not."""
        return "" if self._plane is None else self._plane.address

    def begin(self) -> None:
        """Take the address, and answer from now on.

        Raises:
            BindError: It could not be had.
        """
        if self._plane is not None:
            self._plane.bind()
            self._view.lag.start()
            self._plane.start(lambda: _application(self._view))

    async def measured(self) -> Iterable[Family]:
        """Give every metric as it is now; how late the event loop is, without HTTP, from the first call on."""
        if self._measures is None:
            self._measures = Measures(self._view)
            if self._plane is None and not self._view.is_stopping:
                self._view.lag.start()
        return await self._measures.families()

    def opened(self, seen: Seen) -> None:
        """Note that the store is open."""
        self._view.seen = seen

    def started(self) -> None:
        """Note that requests are served."""
        self._view.is_started = True

    def draining(self) -> None:
        """Note that the stop has begun."""
        self._view.is_stopping = True

    async def end(self) -> None:
        """Answer nothing more. May be called again."""
        self._view.is_stopping = True
        self._view.lag.stop()
        if self._plane is not None:
            await self._plane.stop()
        self._view.seen = None


def _application(view: BrokerView) -> Application:
    from cosmodrome.broker.http.app import application  # noqa: PLC0415 -- slow to load, and not for everybody

    return application(view)
