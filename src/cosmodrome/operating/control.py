"""Reload, drain and stop a server that runs, from outside.

Owns: both ways to it (its process, its JSON API), and what each gives; exit codes.
Must not know: the grammar of the command line; where words are written.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cosmodrome.errors import AdminError, ConfigError, NoAnswerError, UnreachableError
from cosmodrome.operating.api import Api
from cosmodrome.operating.process import RunningProcess, Waiting

_LOOK_S: Final = 0.1
_LISTS: Final = ("applied", "restart", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """Keys in force now, and at the next start; by key, the flag or variable that wins over the file."""

    applied: tuple[str, ...]
    needs_restart: tuple[str, ...]
    overridden: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Give it for people."""
        lines = [f"applied: {', '.join(self.applied)}" if self.applied else "nothing changed that can change now"]
        if self.needs_restart:
            lines.append(f"at the next start: {', '.join(self.needs_restart)}")
        lines += [f"{key}: overridden by {origin}" for key, origin in self.overridden.items()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """A server that is out of use, or back: since when, and how many connections it has."""

    draining: bool
    since: str | None
    connections: int

    def text(self) -> str:
        """Give it for people."""
        if not self.draining:
            return "in use again"
        return f"out of use since {self.since}; {_counted(self.connections, 'connections')} {'is' if self.connections == 1 else 'are'} left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A server that has ended: its process, how long that took, what the stop met."""

    pid: int
    took_s: float
    figures: Mapping[str, int]

    def text(self) -> str:
        """Give it for people."""
        met = ", ".join(_counted(count, name.replace("_", " ")) for name, count in self.figures.items())
        return f"process {self.pid} ended in good order after {self.took_s:.1f} s ({met})"


def _counted(count: int, what: str) -> str:
    """Give `1 connection`, `2 connections`; `what` is the plural."""
    return f"{count} {what.removesuffix('s') if count == 1 else what}"


def reload_process(path: Path, timeout_s: float, waiting: Waiting) -> Reloaded:
    """Reload by SIGHUP.

    Raises:
        ConfigError: What was read cannot be used; nothing was changed.
        AdminError: It is not there, may not be told, or says nothing in time.
    """
    with RunningProcess(path) as process:
        outcome = process.reload(timeout_s, waiting)
    lists: dict[str, tuple[str, ...]] = {
        name: tuple(map(str, found)) if isinstance(found := outcome.get(name), list) else () for name in _LISTS
    }
    if outcome.get("reason"):
        raise ConfigError(
            str(outcome["reason"]),
            keys=lists["refused"],
            why="nothing was changed: the configuration in force stays as it is.",
            remedy="mend it, and reload again",
        )
    return Reloaded(
        applied=lists["applied"], needs_restart=lists["restart"], overridden=_overridden(outcome.get("overridden"))
    )


def reload_over_http(api: Api) -> Reloaded:
    """Reload by the API.

    Raises:
        ConfigError: What was read cannot be used; nothing was changed.
        AdminError: It does not answer, or refuses.
    """
    answer = _members(api, api.change("POST", "/api/v1/reload", {}), applied=list, needs_restart=list)
    return Reloaded(
        applied=tuple(map(str, answer["applied"])),
        needs_restart=tuple(map(str, answer["needs_restart"])),
        overridden=_overridden(answer.get("overridden")),
    )


def _overridden(found: object) -> dict[str, str]:
    """Read what servers of earlier releases do not say."""
    return {str(key): str(origin) for key, origin in found.items()} if isinstance(found, dict) else {}


def drain(api: Api, *, draining: bool, until: int | None, timeout_s: float, waiting: Waiting) -> Drained:
    """Take a server out of use, or back; then wait until it has no more than `until` connections, if that is given.

    Raises:
        NoAnswerError: It has more after so long; it stays out of use.
        AdminError: It does not answer, or refuses.
    """
    state = _drained(api, api.change("PUT", "/api/v1/drain", {"draining": draining}))
    begun_s = time.monotonic()
    while draining and until is not None and state.connections > until:
        waited_s = time.monotonic() - begun_s
        if waited_s > timeout_s:
            raise NoAnswerError(
                f"{api.address} is out of use, and has {_counted(state.connections, 'connections')} after {timeout_s:g} s.",
                why="brokers, and clients older than 5.3.2, are not sent away by it.",
                remedy="stop it: their connections end then, and they go elsewhere",
            )
        waiting(waited_s)
        time.sleep(_LOOK_S)
        state = _drained(api, api.get("/api/v1/drain"))
    return state


def stop_process(path: Path, timeout_s: float, waiting: Waiting) -> Stopped:
    """Stop by SIGTERM: what is in work is finished, and the process ends.

    Raises:
        AdminError: It is not there, may not be told, does not end in time, or ended without a proper goodbye.
    """
    begun_s = time.monotonic()
    with RunningProcess(path) as process:
        figures = process.stop(timeout_s, waiting)
        if not figures:
            raise AdminError(
                f"process {process.pid} ended, and not in good order.", remedy="see the last lines of its log"
            )
        numbers = {name: count for name, count in figures.items() if isinstance(count, int)}
        return Stopped(pid=process.pid, took_s=time.monotonic() - begun_s, figures=numbers)


def stop_over_http(api: Api, timeout_s: float, waiting: Waiting) -> Stopped:
    """Stop by the API, and wait until nobody answers there any more.

    Raises:
        AdminError: It does not answer, refuses, or does not end in time.
    """
    begun_s = time.monotonic()
    answer = _members(api, api.change("POST", "/api/v1/stop", {}), pid=int, connections=int)
    while True:
        waited_s = time.monotonic() - begun_s
        try:
            api.text("/livez")
        except UnreachableError:
            figures = {"connections": answer["connections"]}
            return Stopped(pid=answer["pid"], took_s=time.monotonic() - begun_s, figures=figures)
        except NoAnswerError:
            pass  # it is busy with its end
        if waited_s > timeout_s:
            raise NoAnswerError(f"{api.address} did not end in {timeout_s:g} s.", remedy="give it more: --timeout S")
        waiting(waited_s)
        time.sleep(_LOOK_S)


def _drained(api: Api, answer: Any) -> Drained:
    state = _members(api, answer, draining=bool, connections=int)
    since = state.get("since")
    return Drained(
        draining=state["draining"], since=None if since is None else str(since), connections=state["connections"]
    )


def _members(api: Api, answer: Any, **kinds: type) -> dict[str, Any]:
    if not isinstance(answer, dict) or not all(isinstance(answer.get(name), kind) for name, kind in kinds.items()):
        raise AdminError(f"{api.address} answered with something else.", why="it is no server of this release.")
    return answer
