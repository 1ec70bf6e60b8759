"""The thread in which blocking clients live."""

import asyncio
import concurrent.futures
import threading

import pytest

from cosmodrome import ClientClosedError
from cosmodrome.sync.loop_thread import LoopThread, SharedLoop


class User:
    """A client that the end of the process closes."""

    def __init__(self, future: concurrent.futures.Future[None] | None = None) -> None:
        self.future = future
        self.was_asked = False

    def begin_close(self) -> concurrent.futures.Future[None] | None:
        self.was_asked = True
        return self.future


async def number() -> int:
    return 7


async def fail() -> None:
    raise ValueError("of the work")


def test_work_is_done_in_the_loop_and_its_error_is_raised() -> None:
    thread = LoopThread()
    try:
        assert thread.call(number()) == 7
        with pytest.raises(ValueError, match="of the work"):
            thread.call(fail())
    finally:
        thread.stop()


def test_the_end_of_the_loop_ends_who_waits() -> None:
    thread = LoopThread()
    began = threading.Event()
    met: list[BaseException] = []

    async def forever() -> None:
        began.set()
        await asyncio.get_running_loop().create_future()

    def wait() -> None:
        try:
            thread.call(forever())
        except ClientClosedError as error:
            met.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    began.wait()
    thread.stop()
    waiting.join(20)
    assert "before the call ended" in str(met[0])
    with pytest.raises(ClientClosedError, match="is closed"):
        thread.call(number())
    thread.stop()


def test_the_thread_ends_with_its_last_user_and_a_new_one_gets_a_new_one() -> None:
    shared = SharedLoop()
    users = User(), User()
    first, second = shared.enter(users[0]), shared.enter(users[1])
    assert first is second
    shared.leave(first)
    assert first.call(number()) == 7
    shared.leave(first)
    with pytest.raises(ClientClosedError):
        first.call(number())
    third = shared.enter(users[0])
    shared.leave(first)  # of a thread that has ended: no matter
    assert third.call(number()) == 7
    shared.leave(third)


def test_the_end_of_the_process_closes_all_and_waits_for_none_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosmodrome.sync.loop_thread.EXIT_LIMIT_S", 0.05)
    shared = SharedLoop()
    never: concurrent.futures.Future[None] = concurrent.futures.Future()
    users = User(never), User()
    thread = shared.enter(users[0])
    shared.enter(users[1])
    shared.end()
    assert all(user.was_asked for user in users)
    with pytest.raises(ClientClosedError):
        thread.call(number())
    shared.end()


def test_after_a_fork_everything_is_new() -> None:
    shared = SharedLoop()
    user = User()
    thread = shared.enter(user)
    shared.lock.acquire()  # by a thread that does not exist in the child
    shared.after_fork()
    other = shared.enter(user)
    assert other is not thread
    shared.leave(other)
    assert thread.call(number()) == 7
    thread.stop()
