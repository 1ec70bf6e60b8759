"""What a check finds.

Owns: its form, for people and for programs.
Must not know: what is checked.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Verdict(Enum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check: its name, which never changes, what was found, why that matters, and what to do."""

    name: str
    verdict: Verdict
    what: str
    why: str = ""
    do: str = ""

    def text(self) -> str:
        """Give it for people."""
        lines = [f"{self.verdict.value:<5} {self.name:<14} {self.what}"]
        lines += [f"      why: {self.why}"] if self.why else []
        lines += [f"      do:  {self.do}"] if self.do else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The server that is looked at, as its configuration says, or as it runs.

    Attributes:
        kind: `namesrv` or `broker`.
        host: Where it listens.
        port: The same; 0 for any.
        http: Where its HTTP is, `host:port`; empty for none.
        folder: Where it keeps its files.
        pid_file: Holds its process id while it runs.
        certificates: Files of certificates that it uses.
    """

    kind: str
    host: str
    port: int
    http: str
    folder: Path
    pid_file: Path
    certificates: tuple[Path, ...] = ()


def ok(name: str, what: str) -> Finding:
    """Give a finding that is good."""
    return Finding(name=name, verdict=Verdict.OK, what=what)


def warn(name: str, what: str, why: str, do: str) -> Finding:
    """Give one that may do harm."""
    return Finding(name=name, verdict=Verdict.WARN, what=what, why=why, do=do)


def fail(name: str, what: str, why: str, do: str) -> Finding:
    """Give one that does harm."""
    return Finding(name=name, verdict=Verdict.FAIL, what=what, why=why, do=do)


def counted(count: int, what: str) -> str:
    """Give `1 broker`, `2 brokers`."""
    return f"{count} {what}{'' if count == 1 else 's'}"
