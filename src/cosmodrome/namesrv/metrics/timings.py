"""How long took what a server does by itself.

Owns: the times of scans for silent brokers and of writes of the KV file; how often such a write failed.
Must not know: who measures; who reads the times.
"""

from cosmodrome.transport.traffic import Durations


class Timings:
    """Times since the start."""

    def __init__(self) -> None:
        self.expiry_scans = Durations()
        """Of scans for silent brokers, with what was done about those that were found."""
        self.kv_writes = Durations()
        """Of writes of the KV file, those that failed among them."""
        self.kv_write_failures = 0

    def kv_written(self, took_s: float, is_done: bool) -> None:  # noqa: FBT001 -- KVConfigStore.on_written
        """Take note of a write of the KV file, and whether it is on disk."""
        self.kv_writes.add(took_s)
        if not is_done:
            self.kv_write_failures += 1
