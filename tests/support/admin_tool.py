"""The administration command line, and what it may meet at the other end.

Owns: runs of `cosmodrome admin`; listeners that answer as told, stay silent or are closed; a resolver of its own.
Must not know: the package under test, beyond its command line; what a test claims.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from tests.support.server_process import run_command, server_environment
from tests.support.wire import Answer, dump, frame, split

TOOL_S: Final = 60.0
_TICK_S: Final = 0.2
"""Generous for a busy machine; a run takes a fifth of a second."""

_RESOLVER: Final = """\
import json, os, socket

_ask = socket.getaddrinfo

def _answer(host, port, *arguments, **options):
    with open(os.environ["TEST_RECORDS"], encoding="utf-8") as file:
        records = json.load(file)
    hosts = records.get(host, [host])
    return [entry for each in hosts for entry in _ask(each, port, *arguments, **options)]

socket.getaddrinfo = _answer
"""


# The system's own figure for a child begins with the memory of its parent.
_WITH_PEAK: Final = """\
import atexit, re, sys
from pathlib import Path

def tell():
    print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)

atexit.register(tell)
from cosmodrome.cli import main
main()
"""


class Run(NamedTuple):
    """How a run of the tool ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on standard output."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        """The JSON lines on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


class Tool:
    """Runs commands as a user does, in `folder`."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        """Lay `environment` over that of this process; NAMESRV_ADDR of this process is not passed on."""
        self._folder = folder
        self._environment = {"NAMESRV_ADDR": ""} | dict(environment or {})

    def __call__(self, *words: str) -> Run:
        """Run `cosmodrome admin` with these words."""
        return self.cosmodrome("admin", *words)

    def cosmodrome(self, *words: str) -> Run:
        """Run `cosmodrome` with these words."""
        done = run_command(*words, folder=self._folder, environment=self._environment, within_s=TOOL_S)
        return Run(done.returncode, done.stdout, done.stderr)

    def resolving(self, records: Mapping[str, list[str]]) -> "Tool":
        """Give a tool for which names have these addresses."""
        folder = self._folder / "resolver"
        folder.mkdir(exist_ok=True)
        (folder / "sitecustomize.py").write_text(_RESOLVER, encoding="utf-8")
        file = folder / "records.json"
        file.write_text(json.dumps(records), encoding="utf-8")
        path = os.pathsep.join([str(folder), server_environment(self._folder)["PYTHONPATH"]])
        return Tool(self._folder, self._environment | {"PYTHONPATH": path, "TEST_RECORDS": str(file)})


class Reply(NamedTuple):
    """What a double answers."""

    code: int = 0
    body: bytes = b""
    remark: str | None = None
    ext: Mapping[str, str] | None = None


Answers = Mapping[int, "Reply | Callable[[Answer], Reply]"]


class Double:
    """A server that answers each request code as told, and others with code 3."""

    def __init__(self, answers: Answers, host: str = "127.0.0.1") -> None:
        """Listen on a free port of `host`."""
        self.requests: list[Answer] = []
        self._answers = answers
        self._listener = socket.create_server((host, 0))
        self._listener.settimeout(_TICK_S)
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._is_over = threading.Event()
        self.address = f"{host}:{self._listener.getsockname()[1]}"

    def asked(self) -> list[int]:
        """Give the codes of all requests so far."""
        return [request.code for request in self.requests]

    def __enter__(self) -> Self:
        """Start answering."""
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all threads, the one that accepts first, and close everything."""
        self._is_over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # where that ends a wait for the next connection
        self._threads[0].join()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()
        for each in (self._listener, *self._open):
            each.close()

    def _start(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._is_over.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            connection.settimeout(None)
            self._open.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        buffer = b""
        with contextlib.suppress(OSError):
            while data := connection.recv(1 << 16):
                requests, buffer = split(buffer + data)
                for request in requests:
                    self.requests.append(request)
                    answer = self._answers.get(request.code, Reply(3, remark="not supported"))
                    reply = answer(request) if callable(answer) else answer
                    connection.sendall(_encoded(reply, request.opaque))


@contextlib.contextmanager
def silent_port() -> Iterator[str]:
    """Give the address of a port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        yield f"{host}:{port}"


@contextlib.contextmanager
def closed_port() -> Iterator[str]:
    """Give the address of a port on which nobody listens, as long as this lasts."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        host, port = holder.getsockname()
        yield f"{host}:{port}"


def peak_kib(*words: str, folder: Path, out: Path) -> int:
    """Run `cosmodrome` to a good end, its standard output going to a file, and give its peak memory."""
    with out.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", _WITH_PEAK, *words],
            cwd=folder,
            env=server_environment(folder),
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TOOL_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1])


def _encoded(reply: Reply, opaque: int) -> bytes:
    header: dict[str, Any] = {"code": reply.code, "flag": 1, "language": "JAVA", "opaque": opaque, "version": 513}
    if reply.remark is not None:
        header["remark"] = reply.remark
    if reply.ext is not None:
        header["extFields"] = dict(reply.ext)
    return frame(dump(header), reply.body)
