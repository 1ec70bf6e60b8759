"""The programs of docs/recipes.md do what the page says, as they stand there."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from tests.interop.rig.ports import free_port
from tests.support.administered import Administered
from tests.support.faulty_broker import FaultyCluster, faulty_cluster

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
FILES: Final = dict(
    re.findall(r"^```python\n# file: (\S+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
)
WITHIN_S: Final = 60.0
GRACE_S: Final = 20.0


class Program:
    """A program of the page, running."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self._child = child
        self.lines: list[str] = []

    async def line(self, pattern: str) -> re.Match[str]:
        """Wait for a line of its output that a pattern is in."""
        assert self._child.stdout is not None
        async with asyncio.timeout(WITHIN_S):
            while text := (await self._child.stdout.readline()).decode():
                self.lines.append(text)
                if (found := re.search(pattern, text)) is not None:
                    return found
        raise AssertionError(f"no line with {pattern!r} in {''.join(self.lines)}")

    async def ended(self, after: signal.Signals | None = None, given: bytes = b"") -> int:
        """Send a signal and what it reads, and wait for its end within the grace time."""
        if after is not None:
            self._child.send_signal(after)
        async with asyncio.timeout(GRACE_S if after else WITHIN_S):
            out, _ = await self._child.communicate(given or None)
        self.lines += out.decode().splitlines(keepends=True)
        assert self._child.returncode is not None
        return self._child.returncode

    @property
    def out(self) -> str:
        """All it has written."""
        return "".join(self.lines)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={"orders": 4}) as one:
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the page, with what makes packages of folders."""
    place = tmp_path / "page"
    for name, text in FILES.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for package in ("shop", "shop/management", "shop/management/commands"):
        (place / package / "__init__.py").touch()
    (place / "project.py").write_text(SETTINGS, encoding="utf-8")
    return place


SETTINGS: Final = """
import os
from django.urls import path

DEBUG = True
SECRET_KEY = "of a test"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["shop.apps.ShopConfig"]
ROOT_URLCONF = "project"
USE_TZ = True


def order(request, number):
    from shop.views import order
    return order(request, number)


urlpatterns = [path("orders/<number>", order)]
"""


@contextlib.asynccontextmanager
async def running(
    folder: Path, cluster: FaultyCluster, *arguments: str, environment: dict[str, str] | None = None
) -> AsyncIterator[Program]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=folder,
        env={**os.environ, "NAMESRV_ADDR": cluster.name_server, "PYTHONUNBUFFERED": "1", **(environment or {})},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield Program(child)
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            await child.communicate()


async def post(port: int, path: str) -> dict[str, str]:
    """Ask a web server, and give its JSON."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 200 " in head.split(b"\r\n")[0], answer
    found: dict[str, str] = json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])
    return found


def test_the_page_has_programs() -> None:
    assert {"app.py", "flask_app.py", "shop/apps.py", "worker.py", "send.py", "drain.py", "lag.py"} <= set(FILES)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_fastapi_sends_consumes_and_ends_in_time_c027(folder: Path, cluster: FaultyCluster, loop: str) -> None:
    arguments = ("-m", "uvicorn", "app:app", "--port", "0", "--loop", loop)
    async with running(folder, cluster, *arguments) as program:
        port = int((await program.line(r"running on http://127\.0\.0\.1:(\d+)"))[1])
        answers = await asyncio.gather(*(post(port, f"/orders/{number}") for number in range(50)))
        assert len({answer["msg_id"] for answer in answers}) == 50
        billed = {(await program.line(r"billed (\d+)"))[1] for _ in range(50)}
        assert billed == {str(number) for number in range(50)}
        code = await program.ended(signal.SIGTERM)
    assert code in (0, -signal.SIGTERM), program.out
    assert "Traceback" not in program.out
    offsets = cluster.broker.groups.offsets
    assert sum(offset for (group, topic, _), offset in offsets.items() if (group, topic) == ("billing", "orders")) == 50
    assert cluster.broker.journal.requests(35, consumerGroup="billing")
    assert cluster.broker.journal.requests(35, producerGroup="web")


async def test_fastapi_with_two_workers_is_two_members_c027(folder: Path, cluster: FaultyCluster) -> None:
    port = free_port()
    async with running(folder, cluster, "-m", "uvicorn", "app:app", "--port", str(port), "--workers", "2") as program:
        groups = cluster.broker.groups.groups
        await cluster.broker.journal.until(
            lambda: "billing" in groups and len(set(groups["billing"].client_ids())) == 2, "two members"
        )
        await answering(port)
        answers = await asyncio.gather(*(post(port, f"/orders/{number}") for number in range(20)))
        assert len({answer["msg_id"] for answer in answers}) == 20
        billed: set[str] = set()
        while len(billed) < 20:
            billed.add((await program.line(r"billed (\d+)"))[1])
        await program.ended(signal.SIGTERM)
    assert "Traceback" not in program.out
    assert len(cluster.broker.journal.requests(35, consumerGroup="billing")) == 2


async def test_flask_under_its_reloader_c026(folder: Path, cluster: FaultyCluster) -> None:
    arguments = ("-m", "flask", "--app", "flask_app", "run", "--debug", "--port", str(free_port()))
    async with running(folder, cluster, *arguments) as program:
        await program.line("Debugger PIN")
        answer = await post(int(arguments[-1]), "/orders/7")
        assert cluster.broker.store.unique_keys("orders") == {answer["msg_id"]: 1}
        assert await program.ended(signal.SIGINT) == 0
    assert "Traceback" not in program.out


async def test_django_sends_and_a_command_consumes_c026(folder: Path, cluster: FaultyCluster) -> None:
    environment = {"DJANGO_SETTINGS_MODULE": "project", "PYTHONPATH": str(folder)}
    port = free_port()
    server = ("-m", "django", "runserver", f"127.0.0.1:{port}")
    async with running(folder, cluster, *server, environment=environment) as program:
        await program.line(rf"Starting development server at http://127\.0\.0\.1:{port}")
        await answering(port)
        answer = await post(port, "/orders/7")
        assert cluster.broker.store.unique_keys("orders") == {answer["msg_id"]: 1}
        await program.ended(signal.SIGINT)
    assert "Traceback" not in program.out
    assert not cluster.broker.groups.groups
    async with running(folder, cluster, "-m", "django", "bill", environment=environment) as program:
        await program.line("billed 7")
        assert await program.ended(signal.SIGTERM) == 0
    await committed_in_all(cluster, "billing", 1)


async def answering(port: int) -> None:
    """Wait until somebody listens: Django writes that it starts before it does."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                await writer.wait_closed()
                return


async def committed_in_all(cluster: FaultyCluster, group: str, count: int) -> None:
    """Wait until a group has stored offsets for so many messages."""
    offsets = cluster.broker.groups.offsets
    await cluster.broker.journal.until(
        lambda: (
            sum(offset for (each, topic, _), offset in offsets.items() if (each, topic) == (group, "orders")) == count
        ),
        f"{count} messages done by {group}",
    )


async def test_a_worker_of_two_processes_shares_the_queues_and_ends_at_once(
    folder: Path, cluster: FaultyCluster
) -> None:
    cluster.broker.sends.settings.level_s = 0.1
    async with running(folder, cluster, "worker.py") as program:
        await cluster.broker.journal.until(
            lambda: (
                len(cluster.broker.groups.groups["billing"].members) == 2 if cluster.broker.groups.groups else False
            ),
            "two members",
        )
        for number in range(8):
            cluster.broker.put("orders", b"%d" % number, number % 4)
        cluster.broker.put("orders", b"not yet", 0)
        # Queues change hands while the second member joins: then a message may come to both.
        wanted = {*(str(number) for number in range(8)), "not yet"}
        handled: list[str] = []
        while set(handled) != wanted or handled.count("not yet") < 2:
            handled.append((await program.line(r"^Process-\d handling (.*)$"))[1])
        code = await program.ended(signal.SIGTERM)
    assert code == 0, program.out
    assert "Traceback" not in program.out
    assert len(cluster.broker.journal.requests(35, consumerGroup="billing")) == 2


async def test_scripts(folder: Path, cluster: FaultyCluster) -> None:
    async with running(folder, cluster, "send.py") as program:
        assert await program.ended(given=b"one\ntwo\n") == 0
    assert program.out.split() == list(cluster.broker.store.unique_keys("orders"))
    async with running(folder, cluster, "drain.py") as program:
        assert await program.ended() == 0
    assert {line.split()[2] for line in program.lines} == {"one", "two"}
    assert "ResourceWarning" not in program.out
    await committed_in_all(cluster, "report", 2)


async def test_the_lag_script_tells_a_monitor(folder: Path, cluster: FaultyCluster) -> None:
    Administered(cluster.broker)
    cluster.broker.groups.commit(("billing", "orders", 0), 0)
    for over, code in ((0, 0), (1001, 1)):
        for _ in range(over):
            cluster.broker.put("orders", b"x", 0)
        async with running(folder, cluster, "lag.py", "billing") as program:
            assert await program.ended() == code
        assert program.out == f"orders broker-a 0 {over}\n"
    await cluster.broker.die()
    async with running(folder, cluster, "lag.py", "billing") as program:
        assert await program.ended() == 1
    assert "ConnectError" in program.out
