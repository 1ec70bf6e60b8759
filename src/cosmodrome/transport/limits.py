"""What peers may cost a server.

Owns: the limits, as numbers; how many connections there are, in total and of each address; which of them would
    give way to a newcomer.
Must not know: sockets; what is done to a connection that exceeds a limit.
"""

from dataclasses import dataclass
from typing import Final

from cosmodrome.errors import PeerLimitError

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLimits:
    """The limits of a server's connections; 0 is no limit, except for the pace.

    Attributes:
        greeting_timeout_s: From the first byte of a PROXY header, another greeting or a TLS handshake to its end.
        frame_timeout_s: From a frame's first byte to its last. What arrives at `min_bytes_per_s` gets as long again.
        write_timeout_s: For a peer above the high-water mark to come below the low one; as long again at that pace.
        min_bytes_per_s: The slowest pace, over one timeout, at which a peer counts as alive.
        connections: How many there may be.
        connections_per_address: How many there may be with one address at the other end of the socket.
        unsent_bytes: What peers above their high-water marks may be owed together.
    """

    greeting_timeout_s: float = 10
    frame_timeout_s: float = 30
    write_timeout_s: float = 30
    min_bytes_per_s: int = 1024
    connections: int = 0
    connections_per_address: int = 0
    unsent_bytes: int = 256 * MIB

    def check_greeting(self, elapsed_s: float) -> PeerLimitError | None:
        """Judge a greeting or TLS handshake that is not over."""
        if not self.greeting_timeout_s or elapsed_s <= self.greeting_timeout_s:
            return None
        return PeerLimitError("greeting_deadline", "the greeting or TLS handshake takes too long")

    def check_frame(self, elapsed_s: float, received: int) -> PeerLimitError | None:
        """Judge a frame that is not complete, `received` bytes of which came since."""
        if not self._is_too_slow(self.frame_timeout_s, elapsed_s, received):
            return None
        reason = f"a frame is not complete and only {received} bytes of it came in {elapsed_s:.0f} s"
        return PeerLimitError("frame_deadline", f"{reason} (frameTimeoutSeconds, minBytesPerSecond)")

    def check_taking(self, elapsed_s: float, taken: int, left: int) -> PeerLimitError | None:
        """Judge a peer above its high-water mark that took `taken` bytes of answers since and is owed `left`."""
        if not self._is_too_slow(self.write_timeout_s, elapsed_s, taken):
            return None
        reason = f"it took only {taken} bytes of answers in {elapsed_s:.0f} s and is owed {left}"
        return PeerLimitError("write_stalled", f"{reason} (writeTimeoutSeconds, minBytesPerSecond)")

    def _is_too_slow(self, timeout_s: float, elapsed_s: float, moved: int) -> bool:
        return 0 < timeout_s < elapsed_s and moved < elapsed_s * self.min_bytes_per_s


class Census:
    """The connections of one server, counted.

    A connection that has not sent a request that is served yet is unproven. The unproven one that was silent for longest
    gives way when there is no room, so peers that hold connections and say nothing keep nobody out.
    """

    def __init__(self, limits: PeerLimits) -> None:
        self._limits = limits
        self._descriptor_ceiling = 0
        self._count = 0
        self._hosts: dict[int, str] = {}
        self._of_host: dict[str, int] = {}
        self._unproven: dict[int, None] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def unproven_count(self) -> int:
        """How many have not sent a request that is served yet, nor given way."""
        return len(self._unproven)

    def set_descriptor_ceiling(self, connections: int) -> None:
        """Take note of how many connections the system's descriptors are enough for; 0 for any number."""
        self._descriptor_ceiling = connections

    @property
    def is_out_of_descriptors(self) -> bool:
        """Whether the system's limit, and not the configured one, is reached."""
        return 0 < self._descriptor_ceiling <= self._count

    def enter(self, connection_id: int, host: str) -> None:
        """Count a connection."""
        self._count += 1
        if self._limits.connections_per_address:
            self._hosts[connection_id] = host
            self._of_host[host] = self._of_host.get(host, 0) + 1

    def leave(self, connection_id: int) -> None:
        """Count a connection no more. Call it once for each that entered."""
        self._count -= 1
        self._unproven.pop(connection_id, None)
        host = self._hosts.pop(connection_id, None)
        if host is not None:
            self._of_host[host] -= 1
            if not self._of_host[host]:
                del self._of_host[host]

    def unproven(self, connection_id: int) -> None:
        """Take note that a connection opened, or received bytes that are no whole frame yet."""
        self._unproven.pop(connection_id, None)
        self._unproven[connection_id] = None

    def proven(self, connection_id: int) -> None:
        """Take note that a connection has sent a whole frame."""
        self._unproven.pop(connection_id, None)

    def give_way(self) -> int | None:
        """Choose the connection that gives way to a newcomer; None when all are proven. It is not chosen again."""
        chosen = next(iter(self._unproven), None)
        if chosen is not None:
            del self._unproven[chosen]
        return chosen

    def refusal_of_host(self, host: str) -> PeerLimitError | None:
        """Say why a newcomer with this address is refused whoever else gives way; None when it is not."""
        limit = self._limits.connections_per_address
        if not limit or self._of_host.get(host, 0) < limit:
            return None
        return PeerLimitError(
            "too_many_connections_of_address",
            f"there are {limit} connections of {host} already, which is the limit (maxConnectionsPerAddress)",
        )

    def refusal(self) -> PeerLimitError | None:
        """Say why there is no room for one more connection; None when there is."""
        limit = self._limits.connections
        if limit and self._count >= limit:
            return PeerLimitError(
                "too_many_connections", f"there are {limit} connections already, which is the limit (maxConnections)"
            )
        if self.is_out_of_descriptors:
            return PeerLimitError(
                "descriptors",
                f"there are {self._count} connections already, all that the system's limit of open files allows",
            )
        return None
