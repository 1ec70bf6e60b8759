"""What lint says about one place of a file.

Owns: the form of a finding, and how it reads.
Must not know: any rule.
"""

import enum
from dataclasses import dataclass

from cosmodrome.configuring.files import SettingsFile
from cosmodrome.namesrv.properties import Property


class Severity(enum.StrEnum):
    """How bad it is: an error will not work or loses messages, a warning may, a note is good to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    Attributes:
        file: The file's name as it was given.
        line: Where in it, from 1; 0 for something that is not in it.
        severity: How bad it is.
        rule: A word that never changes.
        key: The setting that it is about.
        text: What it is, and what comes of it.
        remedy: What to do, a sentence, or empty.
    """

    file: str
    line: int
    severity: Severity
    rule: str
    key: str
    text: str
    remedy: str = ""

    def lines(self) -> list[str]:
        """Give it as a person reads it."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        first = f"{place}: {self.severity} {self.text}"
        return [first, f"    {self.remedy}"] if self.remedy else [first]


@dataclass(frozen=True, slots=True)
class Rule:
    """Makes the findings of one rule about one file."""

    name: str
    file: SettingsFile

    def error(self, at: Property | str, text: str, remedy: str = "") -> Finding:
        """Find that something will not work."""
        return self._finding(Severity.ERROR, at, text, remedy)

    def warning(self, at: Property | str, text: str, remedy: str = "") -> Finding:
        """Find that something may do harm."""
        return self._finding(Severity.WARNING, at, text, remedy)

    def note(self, at: Property | str, text: str, remedy: str = "") -> Finding:
        """Find something that is good to know."""
        return self._finding(Severity.NOTE, at, text, remedy)

    def _finding(self, severity: Severity, at: Property | str, text: str, remedy: str) -> Finding:
        key, line = (at, 0) if isinstance(at, str) else (at.key, at.line)
        return Finding(
            file=self.file.shown, line=line, severity=severity, rule=self.name, key=key, text=text, remedy=remedy
        )
