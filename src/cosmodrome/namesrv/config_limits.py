"""The configuration keys that bound what peers can cost.

Owns: each limit, once: its name, default, range, and when a change takes effect. docs/reliability.md says why each
    default is what it is.
Must not know: who keeps to them (transport/, processors/).
"""

from dataclasses import dataclass
from typing import Final

from cosmodrome.namesrv.config_java import JavaConfig
from cosmodrome.namesrv.config_keys import Effect, Family, Key, Kind, option

_INT: Final = Kind.INT
_OURS: Final = Family.COSMODROME
_RESTART: Final = Effect.RESTART


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig(JavaConfig):
    """Ceilings and deadlines, all per server unless they say otherwise; 0 is no limit where a key allows it."""

    greeting_timeout_seconds: int = option(
        10,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "close a connection whose greeting or TLS handshake takes longer",
            unit="seconds",
            minimum=1,
            maximum=3600,
        ),
    )
