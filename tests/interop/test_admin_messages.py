"""`cosmodrome admin` and mqadmin 5.5.0 print the same about messages and groups, of Apache's servers and of ours.

What differs on purpose: the body of a message is in a file only when a folder is named, queues and groups come in
order, and whole names. What varies from run to run is masked: ids that are made, times that are measured.
"""

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.interop.rig.mqadmin import MqAdmin
from tests.interop.rig.our_broker import OurBroker
from tests.interop.rig.stage import OURS, Stage
from tests.support.admin_tool import Run, Tool
from tests.support.wire import Wire

from cosmodrome import Message, MessageQueue
from cosmodrome.sync import Consumer, Producer

BROKER: Final = "broker-a"
TRACES: Final = "RMQ_SYS_TRACE_TOPIC"
FOLDER: Final = "/tmp/rocketmq/msgbodys"  # noqa: S108  # where mqadmin writes bodies
UPDATE_AND_CREATE_TOPIC: Final = 17
WITHIN_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Servers with some messages, and both tools."""

    stage: Stage
    name_server: str
    broker: str
    java: MqAdmin
    ours: Tool
    words: dict[str, str]

    def run(self, line: str, *, is_fresh: bool = False) -> tuple[str, Run]:
        """Run one command line with both; `is_fresh` for a command that mqadmin runs once in a process."""
        words = [word.format_map(self.words) for word in line.split(" ")]
        theirs = [word for word in words if not word.startswith("--bodyFolder")]
        java = self.stage.mqadmin(V5_5) if is_fresh else self.java
        printed = java.run(*theirs, "-n", self.name_server)
        if is_fresh:
            java.stop()
        return printed.lstrip("\n"), self.ours(*words, "-n", self.name_server)


@pytest.fixture(scope="module", params=[OURS, pytest.param(V5_5, marks=pytest.mark.full)])
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        stage = stack.enter_context(new_stage(f"admin-messages-{request.param}"))
        name_server = stage.started_name_server(request.param).address
        if request.param == OURS:
            broker = stack.enter_context(OurBroker(BROKER, name_server, broker_cluster_name=CLUSTER)).address
        else:
            settings = BrokerSettings(release=V5_5, name=BROKER, name_servers=[name_server])
            broker = stage.registered_broker(settings).address
        for topic in ("T", "Sent", "Moved"):
            _make_topic(broker, topic)
        words = _fill(name_server)
        stack.enter_context(_online(name_server))
        yield Place(
            stage=stage, name_server=name_server, broker=broker, java=stage.mqadmin(V5_5), ours=Tool(stage.folder),
            words=words | {"broker": broker, "folder": FOLDER},
        )  # fmt: skip


def _make_topic(broker: str, topic: str) -> None:
    fields = {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": "2", "writeQueueNums": "2", "perm": "6",
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip
    with Wire(broker) as connection:
        answer = connection.request(UPDATE_AND_CREATE_TOPIC, fields)
    assert answer.code == 0, answer


def _fill(name_server: str) -> dict[str, str]:
    """Send messages, have an offline group consume them, and give the ids of one of each tag."""
    with Producer("senders", namesrv=name_server) as producer:
        sent = [
            producer.send(
                Message(
                    topic="T", body=f"body {number}".encode(), tag="TagB" if number == 5 else "TagA",
                    keys=["k1", f"own{number}"], properties={"color": "red", "a.b": "x y"},
                ),
                queue=MessageQueue("T", BROKER, number % 2),
            )
            for number in range(8)
        ]  # fmt: skip
        for number in range(4):
            producer.send(Message(topic="Moved", body=b"x"), queue=MessageQueue("Moved", BROKER, number % 2))
    for group, topic, count in (("Offline", "T", 8), ("Mover", "Moved", 4)):
        _consume(name_server, group, topic, count)
    return {
        "id": sent[0].msg_id, "offset_id": sent[0].offset_msg_id, "other_id": sent[5].msg_id,
        "other_offset_id": sent[5].offset_msg_id, "unknown_id": sent[0].msg_id[:-8] + "FFFFFFFF",
    }  # fmt: skip


def _options(name_server: str) -> dict[str, Any]:
    return {"namesrv": name_server, "consume_from": "first", "persist_interval_s": 0.2}


def _consume(name_server: str, group: str, topic: str, count: int) -> None:
    with Consumer(group, subscriptions={topic: None}, **_options(name_server)) as consumer:
        for _ in range(count):
            next(consumer).ack()


@contextlib.contextmanager
def _online(name_server: str) -> Iterator[None]:
    """Keep a member of a group online that has consumed what it subscribes to."""
    left, done = [7], threading.Event()

    def handle(_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            done.set()

    options = _options(name_server) | {"concurrency": 1}
    with Consumer("Online", subscriptions={"T": "TagA"}, handler=handle, **options):
        assert done.wait(WITHIN_S)
        yield


View = Callable[[str], object]


def exact(text: str) -> object:
    return text.rstrip("\n")


def unordered(text: str) -> object:
    """The lines after the first, sorted."""
    first, *others = text.splitlines() or [""]
    return [first, *sorted(others)]


def tracked(text: str) -> object:
    """A message exactly, and the groups that have it in any order; mqadmin puts them on one line for a unique key."""
    message, _, tracks = text.replace("]MessageTrack", "]\nMessageTrack").partition("\n\n\n")
    return message, sorted(tracks.rstrip("\n").splitlines())


def by_queue(text: str) -> object:
    """The blocks of queues in any order."""
    return sorted(text.split("-" * 56 + "\n"))


def masked(*patterns: str) -> View:
    """As `unordered`, without what varies."""

    def view(text: str) -> object:
        for pattern in patterns:
            text = re.sub(pattern, "*", text)
        return unordered(text)

    return view


timeless: Final = masked(r"timestamp\(long\)\[\d+\]", r"TPS: [\d.]+", r"#Client IP +", r"(?<=  )[\d.]+ +(?=\d+ +$)")
sent_somewhere: Final = masked(r"\b\d +SEND_OK", r"[0-9A-F]{32,56}")
measured: Final = masked(
    r"(?<=    )\d+$", r"(?m)\d+$", r"RT: .*", r"rt=\d+", r"[0-9A-F]{32,56}", r"queueId=\d", r"Offset=\d+"
)


@dataclass(frozen=True, slots=True)
class Case:
    line: str
    view: View = exact
    is_core: bool = False
    is_fresh: bool = False


CASES: Final = [
    Case("queryMsgById -t T -i {offset_id} --bodyFolder={folder}", tracked, is_core=True),
    Case("queryMsgById -t T -i {id} -f UTF-8 --bodyFolder={folder}", tracked),
    Case("queryMsgById -t T -i {other_offset_id} --bodyFolder={folder}", tracked),
    Case("querymsgbyid -topic T -msgId {id} --bodyFolder={folder}", tracked),
    Case("queryMsgByUniqueKey -t T -i {other_id} --bodyFolder={folder}", tracked),
    Case("queryMsgByKey -t T -k own3", is_core=True),
    Case("queryMsgByKey -t T -k k1", unordered),
    Case("queryMsgByOffset -t T -b broker-a -i 1 -o 2 --bodyFolder={folder}", tracked, is_core=True),
    Case("queryMsgByOffset -t T -b broker-a -i 0 -o 0 -f UTF-8 --bodyFolder={folder}", tracked),
    Case("printMsg -t T", by_queue),
    Case("printMsg -t T -s TagB -d false", by_queue),
    Case("printMsg -t T -b 2001-01-01#00:00:00:000", by_queue),
    Case("printMsgByQueue -t T -a broker-a -i 1 -p true -d true -f true", is_core=True),
    Case("printMsgByQueue -t T -a broker-a -i 0 -p true"),
    Case("printMsgByQueue -t T -a broker-a -i 0"),
    Case("consumeMessage -t T -b broker-a -i 0 -o 1 -c 2", is_fresh=True),
    Case("consumeMessage -t T -b broker-a -i 0", is_fresh=True),
    Case("consumeMessage -t T -b broker-a -i 0 -o 99", is_fresh=True),
    Case("consumerProgress -g Offline", timeless, is_core=True),
    Case("consumerProgress -g Offline -t T -s true", timeless),
    Case("consumerProgress -g Online -s true", timeless),
    Case("resetOffsetByTime -g Mover -t Moved -s 0", timeless, is_core=True),
    Case("resetOffsetByTime -g Mover -t Moved -s now -f false", timeless),
    Case("resetOffsetByTime -g Mover -t Moved -s 2001-01-01#00:00:00:000", timeless),
    Case("resetOffsetByTime -g Mover -t Moved -s 0 -b {broker} -q 1 -o 1", timeless),
    Case("consumerProgress -g Mover", timeless),
    Case("skipAccumulatedMessage -g Mover -t Moved", unordered),
    Case("consumerProgress -g Mover -t Moved", timeless),
    Case("sendMessage -t Sent -p hello -k k1 -c TagA", sent_somewhere, is_fresh=True),
    Case("sendMessage -t Sent -p hello -b broker-a -i 1", sent_somewhere, is_fresh=True),
    Case("checkMsgSendRT -t Sent -a 3 -s 20", measured),
    Case("sendMsgStatus -b broker-a -c 2 -s 30", measured),
]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.line.partition(" --")[0], marks=() if case.is_core else pytest.mark.full)
        for case in CASES
    ],
)
def test_prints_what_mqadmin_prints(place: Place, case: Case) -> None:
    theirs, ours = place.run(case.line, is_fresh=case.is_fresh)

    assert "Exception" not in theirs
    assert (ours.code, ours.err) == (0, "")
    assert case.view(ours.out) == case.view(theirs)


@pytest.mark.full
def test_all_groups_are_listed_as_mqadmin_lists_them(place: Place) -> None:
    """mqadmin lists groups that have a retry topic; which of the two comes first differs by a moment of TPS."""
    theirs, ours = place.run("consumerProgress")
    rows = [{line.split()[0]: line.split()[1:-2] for line in text.splitlines()[1:]} for text in (theirs, ours.out)]

    assert ours.out.splitlines()[0] == theirs.splitlines()[0]
    assert rows[0] == rows[1]
    assert {"Online", "Offline", "Mover"} <= rows[1].keys()


@pytest.mark.full
def test_a_member_is_told_to_consume_as_mqadmin_tells_it(place: Place) -> None:
    members = place.ours("consumerProgress", "-g", "Online", "-o", "json", "-n", place.name_server).json
    assert members["queues"]
    words = (
        "queryMsgById",
        "-t",
        "T",
        "-i",
        place.words["id"],
        "-g",
        "Online",
        "-d",
        "nobody",
        "-n",
        place.name_server,
    )

    assert "not online" in place.java.run(*words)
    assert place.ours(*words).code == 66


@pytest.mark.full
def test_the_trace_of_a_message_is_shown_as_mqadmin_shows_it(place: Place) -> None:
    with Producer("traced", namesrv=place.name_server, trace="Sent") as producer:
        sent = producer.send(Message(topic="T", body=b"traced", keys=["traced"]), queue=MessageQueue("T", BROKER, 0))
    theirs, ours = place.run(f"queryMsgTraceById -t Sent -i {sent.msg_id}")

    assert "traced" in theirs
    assert exact(ours.out) == exact(theirs)


@pytest.mark.full
def test_what_the_shell_sends_and_consumes_mqadmin_sees(place: Place) -> None:
    def shell(*words: str) -> Run:
        return place.ours.cosmodrome(*words, "-n", place.name_server)

    sent = shell("send", "Shelled", "from the shell", "--tag", "TagS", "--key", "k9", "-o", "ndjson")
    printed = place.java.run("printMsg", "-t", "Shelled", "-n", place.name_server)
    read = shell("consume", "Shelled", "--from", "first", "--tag", "TagS", "-c", "1", "--for", "60s")
    consumed = shell("consume", "Shelled", "-g", "shelled", "--from", "first", "-c", "1", "--for", "60s")
    progress = place.java.run("consumerProgress", "-g", "shelled", "-n", place.name_server)

    assert f"MSGID: {sent.json['msg_id']} " in printed
    assert "BODY: from the shell" in printed
    assert read.out == consumed.out == "from the shell\n"
    assert "Consume Diff Total: 0" in progress


# Not queryMsgByUniqueKey: mqadmin looks for 24 s for an id that is not there.
FAILURES: Final = [
    ("queryMsgById -t T -i {unknown_id}", 66),
    ("queryMsgById -t Nowhere -i {id}", 66),
    ("queryMsgByKey -t T -k nokey", 66),
    ("queryMsgByOffset -t T -b broker-x -i 0 -o 0", 66),
    ("queryMsgTraceById -t Nowhere -i {id}", 66),
    ("printMsg -t Nowhere", 66),
    ("printMsgByQueue -t T -a broker-x -i 0", 66),
    ("consumerProgress -g Nobody", 66),
    ("resetOffsetByTime -g Mover -t Nowhere -s now", 66),
    ("resetOffsetByTime -g Nobody -t Moved -s now", 66),
    ("resetOffsetByTime -g Mover -t Moved -s never", 2),
    ("skipAccumulatedMessage -g Nobody -t Moved", 66),
]


@pytest.mark.full
@pytest.mark.parametrize(("line", "code"), FAILURES, ids=[line for line, _ in FAILURES])
def test_what_fails_in_mqadmin_fails_with_an_exit_code(place: Place, line: str, code: int) -> None:
    theirs, ours = place.run(line)

    assert "Exception" in theirs
    assert (ours.code, ours.out) == (code, "")
    assert ours.err.startswith("error[NS-")
