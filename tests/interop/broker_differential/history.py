"""What is played: requests over named connections.

Owns: the steps of a history, and how they are shown.
Must not know: brokers.

Texts hold tokens: `~` is the suffix that keeps the names of two plays apart, `@{label.offset}` and `@{label.queue}` are
the commit log offset and the queue offset of what the step with this label stored, `@{label.id}` is its id.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FLAG_RESPONSE: Final = 1
FLAG_ONEWAY: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. A body that is no bytes is sent as JSON."""

    code: int
    ext: Mapping[str, str] | None = field(default_factory=dict)
    body: Any = b""
    connection: str = "a"
    label: str = ""
    codec: str = "JSON"
    is_oneway: bool = False

    def get(self, name: str) -> str:
        """Give a field as it is sent, tokens and all; empty when it is left out."""
        return (self.ext or {}).get(name, "")

    def __str__(self) -> str:
        """Show it in a line."""
        marks = (
            [self.codec] * (self.codec != "JSON")
            + ["oneway"] * self.is_oneway
            + [f"as {self.label}"] * bool(self.label)
        )
        body = f" {self.body!r:.300}" if self.body != b"" else ""
        return (
            f"{self.connection}: {self.code} {dict(self.ext) if self.ext is not None else None}{body} {' '.join(marks)}"
        )


@dataclass(frozen=True, slots=True)
class Close:
    """The client at the other end of a connection goes."""

    connection: str

    def __str__(self) -> str:
        """Show it in a line."""
        return f"{self.connection}: closed"


Step = Request | Close


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Steps, and where they come from."""

    seed: int
    number: int
    steps: tuple[Step, ...]
