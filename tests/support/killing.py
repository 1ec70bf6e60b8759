"""A server under write load that is killed again and again, and what it promised.

Owns: the load, the instants of the kills, the books on every acknowledged change, and the state they allow.
Must not know: the package under test, beyond its command line and the names of its files.
"""

import json
import random
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.peer import CFGGET, SUCCESS, Peer
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import Answer

KV_WRITERS: Final = 4
NAMESPACES: Final = ("ORDER_TOPIC_CONFIG", "N 火")
KEYS_PER_WRITER: Final = 6
SETTINGS: Final = ("productEnvName", "unRegisterBrokerQueueCapacity")
DEFAULTS: Final = ("center", "3000")
FIRST_SETTING: Final = 10_000
LONGEST_VALUE: Final = 3000
MOST_CHANGES: Final = 25
LONGEST_DELAY_S: Final = 0.1
LOAD_S: Final = 30
LONGEST_START_S: Final = 0.6
KILLED_IN_START: Final = 5
"""One of so many."""
KV_FILE: Final = "kvConfig.json"
SETTINGS_FILE: Final = "namesrv.properties"
AUDIT_FILE: Final = "audit.jsonl"
LONG_LIVED: Final = frozenset({KV_FILE, f"{KV_FILE}.bak", SETTINGS_FILE, f"{SETTINGS_FILE}.bak"})


def add_kills_option(parser: pytest.Parser, default: int) -> None:
    """Register `--kills`, once."""
    try:
        parser.addoption("--kills", type=int, help=f"how often a server under load is killed (default {default})")
    except ValueError:
        return


@dataclass(slots=True)
class Figures:
    """What a campaign did and found."""

    kills: int = 0
    in_start: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    unanswered_done: int = 0
    amid_a_write: int = 0
    files: int = 0
    audit_lines: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills ({self.in_start} of them before it was ready, {self.amid_a_write} with half-written files "
            f"left) in {self.seconds:.0f} s: {self.acknowledged} acknowledged changes, 0 lost; {self.unanswered} "
            f"unanswered, {self.unanswered_done} of them done; {self.files} files read after a kill, 0 damaged; "
            f"{self.audit_lines} audit lines, none missing"
        )


@dataclass(slots=True)
class _Book:
    """What one writer knows about its entries: values by name (None: there is none), and the change on its way."""

    known: dict[tuple[str, str], str | None] = field(default_factory=dict)
    pending: tuple[tuple[str, str], str | None] | None = None
    acknowledged: int = 0
    audited: int = 0
    refusal: Answer | None = None

    def allowed(self, name: tuple[str, str]) -> set[str | None]:
        """Give what a restarted server may answer for an entry."""
        values = {self.known.get(name)}
        if self.pending is not None and self.pending[0] == name:
            values.add(self.pending[1])
        return values

    def change(self, name: tuple[str, str], value: str | None, answer: Answer) -> None:
        if answer.code == SUCCESS:
            self.acknowledged += 1
            self.audited += value is not None or self.known.get(name) is not None
            self.known[name] = value
        else:
            self.refusal = answer
        self.pending = None


class KillCampaign:
    """Kills a server many times on one data folder; every run checks what the one before promised.

    Args:
        folder: Where the server lives.
        survivors: Where to put a copy of the files as each kill left them, `<number>/<file>`; None keeps none.
        seed: Of the load and of the instants.
    """

    def __init__(self, folder: Path, *, survivors: Path | None = None, seed: int = 1) -> None:
        """Prepare; nothing is started."""
        self.figures = Figures()
        self._folder = folder
        self._survivors = survivors
        self._random = random.Random(seed)
        self._kv_books = [_Book() for _ in range(KV_WRITERS)]
        self._settings_books = [_Book() for _ in SETTINGS]

    def run(self, kills: int) -> Figures:
        """Kill so many times, then look once more."""
        began = time.monotonic()
        while self.figures.kills < kills:
            if self.figures.kills % KILLED_IN_START == KILLED_IN_START - 1:
                self._kill_in_start()
            else:
                self._kill_under_load()
            self.figures.kills += 1
            self._look_at_files()
        with ServerProcess(self._folder) as server:
            self._look_at(server)
        self.figures.acknowledged = self._acknowledged()
        self.figures.seconds = time.monotonic() - began
        return self.figures

    @property
    def _books(self) -> list[_Book]:
        return [*self._kv_books, *self._settings_books]

    def _acknowledged(self) -> int:
        return sum(book.acknowledged for book in self._books)

    def _refusals(self) -> list[Answer]:
        return [book.refusal for book in self._books if book.refusal is not None]

    def _kill_in_start(self) -> None:
        server = ServerProcess(self._folder)
        server.start()
        time.sleep(self._random.uniform(0, LONGEST_START_S))  # the instant is the point
        server.kill()
        self.figures.in_start += 1

    def _kill_under_load(self) -> None:
        with ServerProcess(self._folder) as server:
            self._look_at(server)
            writers = [
                threading.Thread(target=self._write_kv, args=(server.address, number, self._random.random()))
                for number in range(KV_WRITERS)
            ]
            writers += [
                threading.Thread(target=self._write_settings, args=(server.address, number))
                for number in range(len(SETTINGS))
            ]
            for writer in writers:
                writer.start()
            wanted = self._acknowledged() + self._random.randrange(MOST_CHANGES)
            wait_until(lambda: self._acknowledged() >= wanted or self._refusals(), f"{wanted} changes", LOAD_S)
            time.sleep(self._random.uniform(0, LONGEST_DELAY_S))  # as above
            server.kill()
            for writer in writers:
                writer.join()
            assert not self._refusals(), self._refusals()

    def _write_kv(self, address: str, number: int, seed: float) -> None:
        """Change entries of this writer's own until the server is gone."""
        chance, book = random.Random(seed), self._kv_books[number]
        try:
            with Peer(address) as peer:
                while book.refusal is None:
                    namespace, key = chance.choice(NAMESPACES), f"{number}-{chance.randrange(KEYS_PER_WRITER)}"
                    is_put = chance.random() < 0.7
                    text = f"{chance.randrange(10**9)};é\n\\" + "x" * chance.randrange(LONGEST_VALUE)
                    value = text if is_put else None
                    book.pending = ((namespace, key), value)
                    answer = peer.put_kv(namespace, key, text) if is_put else peer.delete_kv(namespace, key)
                    book.change((namespace, key), value, answer)
        except OSError:
            return

    def _write_settings(self, address: str, number: int) -> None:
        book, name = self._settings_books[number], ("", SETTINGS[number])
        try:
            with Peer(address) as peer:
                while book.refusal is None:
                    value = str(max(int(book.known.get(name) or 0), FIRST_SETTING) + 1)
                    book.pending = (name, value)
                    book.change(name, value, peer.change_config(**{SETTINGS[number]: value}))
        except OSError:
            return

    def _look_at(self, server: ServerProcess) -> None:
        """Fail unless a server that was started again knows all that was acknowledged, and has cleaned up."""
        with Peer(server.address) as peer:
            found = _entries_of(peer)
            for number, book in enumerate(self._kv_books):
                own = {name: value for name, value in found.items() if name[1].startswith(f"{number}-")}
                self._compare(book, own)
            settings = _settings_of(peer.request(CFGGET).body.decode())
            for key, book in zip(SETTINGS, self._settings_books, strict=True):
                is_saved = book.known or settings[key] not in DEFAULTS
                self._compare(book, {("", key): settings[key]} if is_saved else {})
        names = {each.name for each in (self._folder / "data").iterdir()}
        assert not [name for name in names if name.endswith(".tmp") or "damaged" in name], names
        assert "damaged" not in server.stderr, server.stderr
        self._look_at_audit_log()

    def _look_at_audit_log(self) -> None:
        """A line is there for every change that was acknowledged, and every line is one."""
        path = self._folder / "data" / AUDIT_FILE
        lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        self.figures.audit_lines = sum(line["event"] == "change" for line in lines)
        assert self.figures.audit_lines >= sum(book.audited for book in self._books)

    def _compare(self, book: _Book, found: dict[tuple[str, str], str | None]) -> None:
        pending = {book.pending[0]} if book.pending else set()
        for name in found.keys() | book.known.keys() | pending:
            assert found.get(name) in book.allowed(name), (name, found.get(name), book)
        if book.pending is not None:
            self.figures.unanswered += 1
            self.figures.unanswered_done += found.get(book.pending[0]) == book.pending[1]
        book.known = {name: found.get(name) for name in found.keys() | book.known.keys()}
        book.pending = None

    def _look_at_files(self) -> None:
        """Read what a kill has left, as it lies there; keep it if that is wanted."""
        folder = self._folder / "data"
        files = {each.name: each for each in folder.iterdir()} if folder.exists() else {}
        self.figures.amid_a_write += any(name.endswith(".tmp") for name in files)
        for name in LONG_LIVED & files.keys():
            self.figures.files += 1
            if name.startswith(KV_FILE):
                assert isinstance(read_kv_file(files[name]), dict)
            else:
                settings = _settings_of(files[name].read_text(encoding="ascii"))
                assert settings.keys() <= set(SETTINGS)
                assert all(int(value) >= FIRST_SETTING for value in settings.values())
            if self._survivors is not None:
                kept = self._survivors / f"{self.figures.kills:03}"
                kept.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(files[name], kept / name)


def read_kv_file(path: Path) -> dict[str, dict[str, str]]:
    """Read a KV file as strict JSON."""
    tables: dict[str, dict[str, str]] = json.loads(path.read_bytes())["configTable"]
    return tables


def _entries_of(peer: Peer) -> dict[tuple[str, str], str | None]:
    entries: dict[tuple[str, str], str | None] = {}
    for namespace in NAMESPACES:
        answer = peer.list_kv(namespace)
        table: dict[str, Any] = answer.json()["table"] if answer.code == SUCCESS else {}
        entries |= {(namespace, key): value for key, value in table.items()}
    return entries


def _settings_of(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())
