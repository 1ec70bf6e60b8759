"""Commands about messages, and `send` and `consume`, in processes of their own: words, streams, signals, exit codes."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.admin_tool import Run, Tool, closed_port
from tests.support.broker_process import BrokerProcess
from tests.support.peer import Peer, topics_named
from tests.support.server_process import COMMAND, ServerProcess, server_environment
from tests.support.wire import Broker

from cosmodrome import Message
from cosmodrome.sync import Producer

WITHIN_S = 60.0


@pytest.fixture(scope="module")
def name_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A NameServer with a broker of ours, and one that nobody reaches with the topic `Far`."""
    with ExitStack() as stack:
        server = stack.enter_context(ServerProcess(tmp_path_factory.mktemp("namesrv")))
        stack.enter_context(BrokerProcess(tmp_path_factory.mktemp("broker"), namesrvAddr=server.address))
        peer = stack.enter_context(Peer(server.address))
        away = stack.enter_context(closed_port())
        peer.registered(Broker(name="broker-far", cluster="Far", addr=away), topics_named("Far", "Farther"))
        yield server.address


def put(name_server: str, topic: str, *bodies: bytes) -> None:
    """Send messages, without a process for it."""
    with Producer("putting", namesrv=name_server) as producer:
        for body in bodies:
            producer.send(Message(topic=topic, body=body))


class Shell:
    """Runs command lines as a user does."""

    def __init__(self, folder: Path, name_server: str) -> None:
        self.folder = folder
        self.environment = server_environment(folder) | {"NAMESRV_ADDR": name_server}
        self._tool = Tool(folder, {"NAMESRV_ADDR": name_server})

    def __call__(self, *words: str) -> Run:
        return self._tool.cosmodrome(*words)

    def fed(self, text: bytes, *words: str) -> Run:
        """Run one with this on standard input."""
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=self.folder,
            env=self.environment,
            input=text,
            capture_output=True,
            check=False,
            timeout=WITHIN_S,
        )
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    def started(self, *words: str) -> subprocess.Popen[str]:
        """Start one that goes on."""
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def shell(tmp_path: Path, name_server: str) -> Shell:
    return Shell(tmp_path, name_server)


def test_what_was_sent_is_consumed(shell: Shell) -> None:
    sent = shell("send", "There", "one", "two words", "-k", "k1", "-k", "k2", "--tag", "T", "-p", "a=b")
    found = shell("admin", "queryMsgByKey", "-t", "There", "-k", "k2", "-o", "json")
    consumed = shell("consume", "There", "-g", "there", "--from", "first", "-c", "2", "-o", "ndjson")

    assert (sent.code, len(sent.out.splitlines())) == (0, 2)
    assert [each["tag"] for each in found.json["messages"]] == ["T", "T"]
    assert sorted(each["body"] for each in consumed.rows) == ["one", "two words"]
    assert all(each["properties"]["a"] == "b" for each in consumed.rows)
    progress = shell("admin", "consumerprogress", "-groupName", "there", "-o", "json")
    assert progress.json["diff_total"] == 0


def test_lines_of_standard_input_are_messages(shell: Shell) -> None:
    sent = shell.fed("eins\nzwei\r\n\ndr\u00e4i".encode(), "send", "Lines", "--order-key", "k", "-o", "json")
    read = shell("consume", "Lines", "--from", "first", "-c", "3")

    assert (sent.json["sent"], sent.json["failed"]) == (3, 0)
    assert read.out.splitlines() == ["eins", "zwei", "dr\u00e4i"]


def test_standard_input_can_be_one_message(shell: Shell) -> None:
    shell.fed(b"a\nb\n", "send", "Whole", "--file", "-", "-q")
    assert shell("consume", "Whole", "--from", "first", "-c", "1").out == "a\\nb\\n\n"


def test_an_interrupt_ends_consuming_with_totals(shell: Shell, name_server: str) -> None:
    put(name_server, "Followed", b"first")
    with shell.started("consume", "Followed", "--from", "first") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "first\n"
        put(name_server, "Followed", b"second")
        assert following.stdout.readline() == "second\n"
        following.send_signal(signal.SIGINT)
        out, err = following.communicate(timeout=WITHIN_S)

    assert (following.returncode, out) == (0, "")
    assert err.startswith("note: received 2 messages (11 B) in ")


def test_an_interrupt_ends_sending_that_waits_for_input(shell: Shell) -> None:
    with shell.started("send", "Typed", "-o", "ndjson") as sending:
        assert sending.stdin is not None
        assert sending.stdout is not None
        sending.stdin.write("line\n")
        sending.stdin.flush()
        assert json.loads(sending.stdout.readline())["status"] == "SEND_OK"
        sending.send_signal(signal.SIGINT)
        assert sending.wait(WITHIN_S) == 130
        assert sending.stderr is not None
        assert "note: sent 1 message (4 B)" in sending.stderr.read()


def test_consuming_ends_when_nobody_reads_any_more(shell: Shell, name_server: str) -> None:
    put(name_server, "Piped", *[b"x"] * 20)
    with shell.started("consume", "Piped", "--from", "first") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "x\n"
        following.stdout.close()
        put(name_server, "Piped", *[b"y"] * 20)
        assert following.wait(WITHIN_S) == 0


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("consume Nowhere", 66, "NS-NOT-FOUND"),
        ("consume There --ack", 2, "--ack needs a --group"),
        ("send bad! x", 2, "illegal characters"),
        ("send Far x", 69, "NS-UNREACHABLE"),
        ("admin queryMsgByKey -t Far -k k", 69, "NS-UNREACHABLE"),
    ],
)
def test_what_cannot_be_done_has_an_exit_code_and_three_parts(shell: Shell, line: str, code: int, says: str) -> None:
    ran = shell(*line.split(" "))

    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert "error[NS-" in ran.err


def test_the_commands_of_the_shell_are_listed(shell: Shell) -> None:
    ran = shell("--help")
    assert "Send messages from the shell." in ran.out
    assert "Print messages in the shell." in ran.out
