"""All rules over some files.

Owns: which rules there are; the order of findings.
Must not know: how findings are shown (cli/).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cosmodrome.configuring.described import Program
from cosmodrome.configuring.files import SettingsFile, read_settings_file
from cosmodrome.configuring.linting.address_rules import announced, name_servers
from cosmodrome.configuring.linting.broker_file import BrokerFile
from cosmodrome.configuring.linting.estate_rules import ports, together
from cosmodrome.configuring.linting.finding import Finding, Severity
from cosmodrome.configuring.linting.host import Host
from cosmodrome.configuring.linting.key_rules import permissions, repeated_keys, unknown_keys, untaken_values
from cosmodrome.configuring.linting.role_rules import durability, open_doors, role_and_id, store_path
from cosmodrome.errors import ConfigError

_OF_FILES: Final[tuple[Callable[[SettingsFile], Iterator[Finding]], ...]] = (
    unknown_keys,
    repeated_keys,
    untaken_values,
    permissions,
    name_servers,
)
_OF_BROKERS: Final[tuple[Callable[[BrokerFile], Iterator[Finding]], ...]] = (
    role_and_id,
    durability,
    store_path,
    open_doors,
    ports,
)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in so many files, by file and line."""

    findings: tuple[Finding, ...]
    files: int = 1

    def everywhere(self) -> tuple[Finding, ...]:
        """Give the notes that each of several files has in the same words, those of the first file."""
        files: dict[tuple[str, ...], set[str]] = {}
        for each in self.findings:
            files.setdefault(_words(each), set()).add(each.file)
        first = {_words(each): each for each in reversed(self.findings) if each.severity is Severity.NOTE}
        same = [each for words, each in first.items() if self.files > 1 and len(files[words]) == self.files]
        return tuple(reversed(same))

    def count(self, severity: Severity) -> int:
        """Give how many findings are so bad."""
        return sum(each.severity is severity for each in self.findings)

    @property
    def summary(self) -> str:
        """Give the last line for people."""
        counts = [(self.count(severity), severity.value) for severity in Severity]
        said = [f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count]
        return ", ".join(said) or "nothing found"


def is_same(one: Finding, other: Finding) -> bool:
    """Tell whether two findings say the same, wherever they are."""
    return _words(one) == _words(other)


def _words(finding: Finding) -> tuple[str, ...]:
    return (finding.severity, finding.rule, finding.key, finding.text, finding.remedy)


def lint(given: Sequence[str], host: Host) -> Report:
    """Look at these files of brokers, each by itself and all together. One that cannot be read is a finding."""
    findings: list[Finding] = []
    brokers: list[BrokerFile] = []
    for name in dict.fromkeys(given):
        try:
            file = read_settings_file(name, Program.BROKER)
        except ConfigError as error:
            findings.append(_unreadable(name, error))
        else:
            brokers.append(BrokerFile(file, host))
            findings += _findings_of(brokers[-1])
    findings += together(brokers)
    order = {name: at for at, name in enumerate(given)}
    found = sorted(findings, key=lambda each: (order[each.file], each.line == 0, each.line))
    return Report(tuple(found), len(order))


def _findings_of(broker: BrokerFile) -> Iterator[Finding]:
    for of_file in _OF_FILES:
        yield from of_file(broker.file)
    yield from announced(broker.file, broker.host)
    for of_broker in _OF_BROKERS:
        yield from of_broker(broker)


def _unreadable(name: str, error: ConfigError) -> Finding:
    return Finding(
        file=name,
        line=0,
        severity=Severity.ERROR,
        rule="unreadable",
        key="",
        text=error.what.removeprefix(f"{name}: "),
        remedy=(error.remedy or "").capitalize(),
    )
