"""Clients on systems that have less: no fork, no signals in the loop, no uvloop, no options of sockets, no /proc."""

import ast
import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.support.faulty_broker import FaultyCluster, faulty_cluster

import cosmodrome

SOURCE: Final = Path(cosmodrome.__file__).parent
PARTS: Final = ("client", "sync", "transport/client.py", "transport/channel.py", "transport/daemon_thread.py")
# What Windows does not have, or does otherwise; used by servers, never by clients.
POSIX_MODULES: Final = frozenset(
    {"fcntl", "grp", "posix", "pwd", "resource", "signal", "termios", "select", "multiprocessing"}
)
POSIX_NAMES: Final = frozenset(
    {
        "add_reader", "add_writer", "add_signal_handler", "remove_signal_handler", "chown", "fchown", "fork", "forkpty",
        "geteuid", "getuid", "kill", "killpg", "mkfifo", "pread", "pwrite", "sched_getaffinity", "sched_setaffinity",
        "sendfile", "setsid", "set_blocking", "sysconf", "uname", "waitpid", "AF_UNIX", "SO_REUSEPORT", "open_unix_connection",
    }
)  # fmt: skip


def files() -> list[Path]:
    """Give every module that clients are made of."""
    found = []
    for part in PARTS:
        place = SOURCE / part
        found += sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return found


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_is_used_that_only_some_systems_have(path: Path) -> None:
    """What is asked for with hasattr is fine: `register_at_fork` is."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not {alias.name.partition(".")[0] for alias in node.names} & POSIX_MODULES
        elif isinstance(node, ast.ImportFrom):
            assert str(node.module).partition(".")[0] not in POSIX_MODULES
        elif isinstance(node, ast.Attribute):
            assert node.attr not in POSIX_NAMES, f"line {node.lineno}"


# On Windows: no such functions, constants and modules; an event loop without signals and without file descriptors
# to watch (the proactor's); os.name "nt", by which the saving of files goes.
ELSEWHERE: Final = """
import asyncio, importlib.abc, os, socket, sys

for module in (os, socket):
    for name in (
        "fork", "forkpty", "register_at_fork", "kill", "killpg", "getuid", "geteuid", "getgid", "chown", "fchown", "fchmod",
        "lchown", "uname", "sysconf", "sched_getaffinity", "waitpid", "pread", "pwrite", "sendfile", "mkfifo", "getpgid",
        "SO_REUSEPORT", "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT",
        "MSG_DONTWAIT", "O_NOFOLLOW", "O_CLOEXEC",
    ):
        if hasattr(module, name):
            delattr(module, name)

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("fcntl", "grp", "pwd", "resource", "termios", "uvloop"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())

class Loop(asyncio.SelectorEventLoop):
    def add_signal_handler(self, *_):
        raise NotImplementedError
    remove_signal_handler = add_signal_handler
    def add_reader(self, *_):
        raise NotImplementedError
    add_writer = add_reader
"""
ASYNC: Final = """
from cosmodrome import AdminClient, Consumer, LitePullConsumer, Message, Producer, TransactionState

async def main(namesrv, folder):
    options = {"namesrv": namesrv, "subscriptions": {"T": None}, "consume_from": "first"}
    seen = []
    def plain(message):
        seen.append(message.body)
    check = lambda _: TransactionState.COMMIT
    async with Producer("pg", namesrv=namesrv, trace=True, check_transaction=check) as producer:
        await producer.send(Message(topic="T", body=b"1" * 200_000))
        await producer.send_transaction(Message(topic="T", body=b"2"), lambda *_: TransactionState.COMMIT)
        async with Consumer("plain", handler=plain, trace=True, **options):
            while len(seen) < 2:
                await asyncio.sleep(0.01)
        async with Consumer("all", broadcasting=True, offset_folder=folder, handler=plain, orderly=True, **options):
            while len(seen) < 4:
                await asyncio.sleep(0.01)
        async with LitePullConsumer("lite", **options) as lite:
            while len(seen) < 6:
                seen.extend(message.body for message in await lite.poll(5))
        async with AdminClient(namesrv=namesrv) as admin:
            assert [each.name for each in await admin.brokers.list()] == ["broker-a"]
    print("done", len(seen), flush=True)

with asyncio.Runner(loop_factory=Loop) as runner:
    runner.run(main(*sys.argv[1:]))
"""
BLOCKING: Final = """

from cosmodrome import Message, sync
with sync.Producer("pg", namesrv=sys.argv[1]) as producer:
    producer.send(Message(topic="T", body=b"1"))
    with sync.Consumer("G", namesrv=sys.argv[1], subscriptions={"T": None}, consume_from="first") as consumer:
        next(iter(consumer)).ack()
print("done", flush=True)
"""


@pytest.mark.parametrize("program", [ASYNC, BLOCKING], ids=["asyncio", "threads"])
async def test_clients_work_without_them(tmp_path: Path, program: str) -> None:
    async with faulty_cluster(tmp_path / "ns", topics={"T": 2}) as cluster:
        code, out, errors = await _ran(ELSEWHERE + program, cluster, tmp_path / "offsets")
    assert (code, errors) == (0, "")
    assert out.startswith("done")


async def _ran(text: str, cluster: FaultyCluster, folder: Path) -> tuple[int | None, str, str]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-c", text, cluster.name_server, str(folder),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(60):
        out, errors = await child.communicate()
    return child.returncode, out.decode(), errors.decode()
