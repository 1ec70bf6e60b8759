"""The administration command line in this process, and a cluster of doubles to run it against.

Owns: runs of `mqadmin` words; a NameServer and brokers that answer as told.
Must not know: what a command asks and prints.
"""

import contextlib
import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.support.admin_tool import Double, Reply, Run
from tests.support.wire import Answer, dump

from cosmodrome.cli.admin import admin, run

CLUSTER: Final = "C"
Replies = Mapping[int, Any]


def run_admin(*words: str) -> Run:
    """Run one command line to its end, with whatever it writes."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(admin, words, "mqadmin")
        except SystemExit as ended:
            code = ended.code
    texts = []
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
        texts.append(stream.read())
    assert isinstance(code, int)
    return Run(code, *texts)


class DoubleCluster:
    """A NameServer that knows these brokers, all masters of one cluster unless `slaves` says otherwise."""

    def __init__(self, name_server: Double, brokers: list[Double]) -> None:
        self.name_server = name_server
        self.brokers = brokers

    def __call__(self, *words: str) -> Run:
        """Run a command line with the address of this NameServer."""
        return run_admin(*words, "-n", self.name_server.address)

    def asked(self, code: int) -> list[Answer]:
        """Give what all brokers were asked under this code."""
        return [request for broker in self.brokers for request in broker.requests if request.code == code]


@contextlib.contextmanager
def double_cluster(
    *answers: Replies, names: Replies | None = None, with_slave: bool = False
) -> Iterator[DoubleCluster]:
    """Run a broker for each mapping of answers; with `with_slave` the last is the slave of the first."""
    with contextlib.ExitStack() as stack:
        brokers = [stack.enter_context(Double(each)) for each in answers]
        addresses = [broker.address for broker in brokers]
        server = stack.enter_context(Double({**name_server_answers(addresses, with_slave=with_slave), **(names or {})}))
        yield DoubleCluster(server, brokers)


def name_server_answers(addresses: list[str], *, with_slave: bool = False) -> dict[int, Reply]:
    """Give what a NameServer says of brokers `a`, `b`, ... at these addresses, each with every topic."""
    masters = addresses[:-1] if with_slave else addresses
    tables = {chr(ord("a") + number): {"0": address} for number, address in enumerate(masters)}
    if with_slave:
        tables["a"]["1"] = addresses[-1]
    datas = {name: {"brokerAddrs": addrs, "brokerName": name, "cluster": CLUSTER} for name, addrs in tables.items()}
    queues = [
        {"brokerName": name, "perm": 6, "readQueueNums": 3, "topicSysFlag": 0, "writeQueueNums": 4} for name in tables
    ]
    return {
        105: Reply(body=dump({"brokerDatas": list(datas.values()), "queueDatas": queues, "filterServerTable": {}})),
        106: Reply(body=dump({"brokerAddrTable": datas, "clusterAddrTable": {CLUSTER: list(tables)}})),
        206: Reply(body=dump({"topicList": ["T", "U", "%RETRY%g"]})),
        304: Reply(body=dump({"topicList": [CLUSTER, *tables]})),
        **dict.fromkeys((100, 102, 216), Reply()),
        101: Reply(22, remark="No config item, Namespace: ORDER_TOPIC_CONFIG Key: T"),
    }
