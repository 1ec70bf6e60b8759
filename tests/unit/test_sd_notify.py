"""What a service manager is told, over real sockets."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cosmodrome.cli.sd_notify import ServiceManager


class Manager:
    """The other end."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{name[1:]}" if name.startswith("@") else name)
        self._socket.settimeout(10)

    def told(self) -> list[str]:
        return self._socket.recv(65536).decode().split("\n")

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    name = str(tmp_path / "notify") if request.param == "path" else f"@cosmodrome-test-{os.getpid()}"
    manager = Manager(name)
    yield manager
    manager.close()


def test_the_life_of_a_service(manager: Manager) -> None:
    service = ServiceManager({"NOTIFY_SOCKET": manager.name})

    service.ready("listening on 0.0.0.0:9876")
    assert manager.told() == ["READY=1", "STATUS=listening on 0.0.0.0:9876"]

    before = time.monotonic_ns() // 1000
    service.reloading()
    state, moment = manager.told()
    assert state == "RELOADING=1"
    assert before <= int(moment.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000

    service.stopping("SIGTERM")
    assert manager.told() == ["STOPPING=1", "STATUS=stopping: SIGTERM"]


async def test_signs_of_life_come_from_the_loop(manager: Manager) -> None:
    """Of a loop that stands still there are none."""
    service = ServiceManager({"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "60000"})
    service.watch()
    for _ in range(3):
        assert await asyncio.to_thread(manager.told) == ["WATCHDOG=1"]
    service.unwatch()
    service.unwatch()
    service.ready("last")
    told = [manager.told()]
    while told[-1] == ["WATCHDOG=1"]:
        told.append(manager.told())
    assert len(told) < 3


@pytest.mark.parametrize("more", [{"WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "soon"}, {"WATCHDOG_USEC": ""}])
async def test_a_watchdog_that_is_not_for_this_process(manager: Manager, more: dict[str, str]) -> None:
    service = ServiceManager({"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000"} | more)
    service.watch()
    service.ready("first")

    assert manager.told() == ["READY=1", "STATUS=first"]


def test_a_status_is_one_line(manager: Manager) -> None:
    ServiceManager({"NOTIFY_SOCKET": manager.name}).ready("a\nMAINPID=1" + "x" * 1000)

    _, status = manager.told()
    assert status.startswith("STATUS=a MAINPID=1x")
    assert len(status) < 250


def test_without_a_manager_nothing_happens(caplog: pytest.LogCaptureFixture) -> None:
    service = ServiceManager({})
    service.ready("a")
    service.watch()
    service.stopping("b")

    assert caplog.records == []


def test_a_manager_that_is_gone_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).ready("a")

    assert "cannot be told" in caplog.text
