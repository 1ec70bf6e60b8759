"""What must hold before a server is ready.

Owns: how a check is written for people.
Must not know: what is checked; how it is asked for (probes.py).
"""

from typing import NamedTuple


class Check(NamedTuple):
    """One thing that must hold: its name, what is said when it holds, why it does not.

    `note` is what else to know of it; that keeps nobody away.
    """

    name: str
    holds: str
    reason: str = ""
    note: str = ""

    def line(self) -> str:
        """Give what ?verbose shows."""
        if self.reason:
            return f"[-] {self.name}: {self.reason}\n"
        return f"[+] {self.holds}{f' ({self.note})' if self.note else ''}\n"
