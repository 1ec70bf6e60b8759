"""Commands about messages, run in this process against a NameServer and a broker of ours.

Owns: the servers, with small files; messages to find; how a command ended.
Must not know: any command.
"""

import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from cosmodrome import Broker, Message, NameServer, Producer, SendResult
from cosmodrome.admin.name_servers import Access, NameServers
from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.client.addresses import Servers, parse_addresses
from cosmodrome.client.admin.admin import AdminClient
from cosmodrome.transport.client import RemotingClient

Command = Callable[..., Awaitable[int]]

BROKER: Final = "broker-u"
CLUSTER: Final = "BenchCluster"
SMALL: Final[dict[str, Any]] = {
    "broker_name": BROKER,
    "broker_cluster_name": CLUSTER,
    "mapped_file_size_commit_log": 1 << 20,
    "mapped_file_size_consume_queue": 20_000,
    "max_index_num": 2000,
    "max_hash_slot_num": 500,
}


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Standard output by lines."""
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        """The document on standard output."""
        return json.loads(self.out)


class Terminal(io.StringIO):
    """A standard error that a person watches."""

    def isatty(self) -> bool:
        """It is one."""
        return True


class MessagingBench:
    """Runs commands; all options that are not given are None."""

    def __init__(self, name_server: str, remoting: RemotingClient, producer: Producer) -> None:
        self.name_server = name_server
        self.producer = producer
        self.admin = AdminClient(namesrv=name_server)
        self.access = Access()
        self.topic = self.group = ""
        self._topics = 0
        self._remoting = remoting

    async def new_topic(self, queues: int = 1) -> str:
        """Make a topic, which everything is about from now on; the group's name is new too."""
        self._topics += 1
        self.topic, self.group = f"Benched{self._topics}", f"group-{self._topics}"
        await self.admin.topics.create(self.topic, queues=queues)
        return self.topic

    async def run(self, command: Command, *, form: str = "text", **flags: Any) -> Ran:
        """Run one, about the topic unless another one is given."""
        return await self.run_bare(command, form=form, **{"topic": self.topic, **flags})

    async def run_bare(
        self, command: Command, *, form: str = "text", err: io.StringIO | None = None, **flags: Any
    ) -> Ran:
        """Run one with these options and no others."""
        out, err = io.StringIO(), err or io.StringIO()
        servers = NameServers(self._remoting, Servers(parse_addresses(self.name_server), {}), 10.0, self.access)
        code = await command(servers, Output(OutputForm(form), out, err, Verbosity.USUAL), **flags)
        return Ran(code, out.getvalue(), err.getvalue())

    async def filled(self, count: int, tag: Callable[[int], str]) -> None:
        """Put so many messages into one queue; the body of each is `body` and its number."""
        bodies = [(f"body{number}".encode(), tag(number)) for number in range(count)]
        batch = [Message(topic=self.topic, body=body, tag=each) for body, each in bodies]
        await self.producer.send_batch(batch)

    async def sent(self, body: str | bytes, **members: Any) -> SendResult:
        """Send a message to the topic."""
        data = body.encode() if isinstance(body, str) else body
        return await self.producer.send(Message(topic=self.topic, body=data, **members))


@asynccontextmanager
async def messaging_bench(**settings: Any) -> AsyncIterator[MessagingBench]:
    """Start everything; all ends with the context."""
    async with NameServer(port=0) as name_server, Broker(namesrv=name_server.address, **SMALL, **settings):
        remoting = RemotingClient()
        try:
            async with Producer("bench", namesrv=name_server.address) as producer:
                bench = MessagingBench(name_server.address, remoting, producer)
                async with bench.admin:
                    yield bench
        finally:
            await remoting.close()
