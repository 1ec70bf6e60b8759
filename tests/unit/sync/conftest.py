"""Blocking clients in threads and programs of their own, with a double in the test's event loop."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.faulty_broker import FaultyCluster, faulty_cluster

WITHIN_S: Final = 30.0
PRELUDE: Final = """
import os, sys, threading
from cosmodrome import Message
from cosmodrome import sync
address = sys.argv[1]
"""


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={"T": 4}) as one:
        yield one


class Program:
    """A Python program that has ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


async def run_program(text: str, *arguments: str, within_s: float = WITHIN_S) -> Program:
    """Run a program with warnings shown, and wait for its end.

    Raises:
        TimeoutError: It did not end; it is killed.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "always::ResourceWarning",
        "-c",
        PRELUDE + text,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(within_s):
            out, err = await child.communicate()
    except BaseException:
        child.kill()
        await child.wait()
        raise
    assert child.returncode is not None
    return Program(child.returncode, out.decode(), err.decode())
