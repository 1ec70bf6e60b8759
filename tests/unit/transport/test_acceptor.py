"""Accepting, with and without descriptors."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.support.builders import eventually

from cosmodrome.transport import acceptor as acceptor_module
from cosmodrome.transport.acceptor import Acceptor


class Troubled(socket.socket):
    """A listening socket that fails to accept for as long as there are errors left."""

    def __init__(self, *errors: int) -> None:
        super().__init__()
        self.errors = list(errors)
        self.attempts = 0
        self.setblocking(False)
        self.bind(("127.0.0.1", 0))
        self.listen(64)

    def accept(self) -> tuple[socket.socket, object]:
        self.attempts += 1
        if self.errors:
            number = self.errors.pop(0)
            raise OSError(number, os.strerror(number))
        return super().accept()


class Accepted:
    """What an acceptor told."""

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []
        self.errors: list[OSError] = []

    def take(self, sock: socket.socket, _address: object) -> None:
        self.sockets.append(sock)


@asynccontextmanager
async def accepting(listener: Troubled) -> AsyncIterator[tuple[Acceptor, Accepted]]:
    told = Accepted()
    acceptor = Acceptor(listener, told.take, told.errors.append)
    try:
        yield acceptor, told
    finally:
        await acceptor.stop()
        for sock in told.sockets:
            sock.close()
    assert listener.fileno() == -1


def connect(listener: Troubled, count: int) -> list[socket.socket]:
    return [socket.create_connection(listener.getsockname()) for _ in range(count)]


def close(clients: list[socket.socket]) -> None:
    for client in clients:
        client.close()


async def test_all_who_wait_are_accepted() -> None:
    listener = Troubled()
    async with accepting(listener) as (_, told):
        clients = connect(listener, 50)
        await eventually(lambda: len(told.sockets) == 50, "all of them")
        clients += connect(listener, 1)
        await eventually(lambda: len(told.sockets) == 51, "one more")
        assert {sock.gettimeout() for sock in told.sockets} == {0.0}
        close(clients)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
async def test_without_descriptors_it_waits_until_told(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(acceptor_module, "_RETRY_S", 3600)
    listener = Troubled(number, number)
    async with accepting(listener) as (acceptor, told):
        clients = connect(listener, 2)
        for failures in (1, 2):
            await eventually(lambda failures=failures: len(told.errors) == failures, "the failure")  # type: ignore[misc]
            await asyncio.sleep(0.05)
            assert listener.attempts == failures, "it does not try again by itself"
            assert not told.sockets
            acceptor.retry()
        await eventually(lambda: len(told.sockets) == 2, "both")
        close(clients)


async def test_without_descriptors_it_tries_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor_module, "_RETRY_S", 0.05)
    listener = Troubled(errno.EMFILE, errno.EMFILE, errno.EMFILE)
    async with accepting(listener) as (_, told):
        clients = connect(listener, 1)
        await eventually(lambda: told.sockets, "the connection")
        assert len(told.errors) == 3
        close(clients)


async def test_one_that_is_gone_again_is_passed_over() -> None:
    listener = Troubled(errno.ECONNABORTED, errno.EPERM)
    async with accepting(listener) as (_, told):
        clients = connect(listener, 1)
        await eventually(lambda: told.sockets, "the other one")
        assert not told.errors
        close(clients)


async def test_any_other_failure_is_told_and_survived(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(acceptor_module, "_RETRY_S", 0.05)
    listener = Troubled(errno.EOPNOTSUPP)
    async with accepting(listener) as (_, told):
        clients = connect(listener, 1)
        await eventually(lambda: told.sockets, "the connection")
        assert "cannot accept connections" in caplog.text
        close(clients)


async def test_stopping_while_it_waits_for_descriptors() -> None:
    listener = Troubled(errno.EMFILE)
    async with accepting(listener) as (_, told):
        clients = connect(listener, 1)
        await eventually(lambda: told.errors, "the failure")
    close(clients)
    assert not told.sockets
