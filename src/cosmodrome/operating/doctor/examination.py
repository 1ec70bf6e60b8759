"""All checks of one server, in order.

Owns: which there are; that one which cannot be made is a finding, too.
Must not know: what any of them looks at.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

from cosmodrome.client.addresses import Address
from cosmodrome.operating.doctor import certificates, machine, server, storage
from cosmodrome.operating.doctor.finding import Finding, Subject, ok, warn

Check = Callable[[], Iterable[Finding]]


def examine(subject: Subject, name_servers: Sequence[Address], own_address: str) -> Iterator[Finding]:
    """Look at everything; each check is begun when the finding before it was taken."""
    pid = server.running_pid(subject)
    checks: dict[str, Check] = {
        "python": machine.versions,
        "open files": machine.descriptors,
        "clock": machine.clocks,
        "memory": machine.memory,
        "addresses": partial(machine.addresses, own_address),
        "data folder": partial(storage.folder, subject.folder),
        "disk": partial(storage.room, subject.folder),
        "file system": partial(storage.file_system, subject.folder),
        "certificate": partial(certificates.certificates, subject.certificates, datetime.now(UTC)),
        "process": partial(_process, subject, pid),
        "port": partial(server.port, subject, pid),
        "HTTP": partial(server.readiness, subject, pid),
        "NameServer": partial(server.name_servers, name_servers),
    }
    for name, check in checks.items():
        yield from _made(name, check)


def _process(subject: Subject, pid: int | None) -> Iterator[Finding]:
    if pid is None:
        yield ok("process", f"no {subject.kind} runs that has {subject.pid_file}")
    else:
        yield ok("process", f"{pid} ({subject.pid_file})")


def _made(name: str, check: Check) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 -- outermost: the other checks are still of use
        what = f"could not be looked at: {type(error).__name__}: {error}"
        yield warn(name, what, "this is a fault of cosmodrome, or of an unusual machine.", "please report it")
