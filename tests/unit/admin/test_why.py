"""`cosmodrome why` of servers that are asked over the wire only."""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support import wire
from tests.support.builders import AsyncWire, running

from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.admin.why import why
from cosmodrome.client.addresses import chosen_addresses, resolve
from cosmodrome.transport.client import RemotingClient

A = wire.Broker(name="broker-a", cluster="C", id=0, addr="10.0.0.5:10911")


async def asked(
    addresses: list[str], topic: str | None = None, broker: str | None = None
) -> tuple[int, dict[str, Any]]:
    remoting = RemotingClient()
    out = io.StringIO()
    output = Output(OutputForm.JSON, out, io.StringIO(), Verbosity.USUAL)
    try:
        servers = NameServers(remoting, await resolve(chosen_addresses(",".join(addresses), {}), 5), 5)
        code = await why(servers, output, topic, broker)
    finally:
        await remoting.close()
    return code, json.loads(out.getvalue())


@asynccontextmanager
async def server(folder: Path, *topics: str) -> AsyncIterator[str]:
    async with running(folder) as run, await AsyncWire.connect(run.server.address) as peer:
        if topics:
            body = wire.register_body([wire.topic_config(name) for name in (*topics, "another")])
            assert (await peer.request(103, wire.registration_ext(A), body)).code == 0
        yield run.server.address


async def test_what_the_present_tells(tmp_path: Path) -> None:
    async with server(tmp_path, "orders", "TBW102") as address:
        code, found = await asked([address], "orders")
        assert (code, found["situation"]) == (0, "routed")
        code, found = await asked([address], "order")
        assert (code, found["situation"]) == (66, "misspelt")
        code, found = await asked([address], "payments")
        assert (code, found["situation"]) == (66, "auto_creation")
        code, found = await asked([address], broker="broker-a")
        assert (code, found["situation"]) == (0, "alive")
        code, found = await asked([address], broker="broker-b")
        assert (code, found["situation"]) == (66, "misspelt")
        code, found = await asked([address], broker="C")
        assert (code, found["situation"]) == (66, "cluster_name")


async def test_other_servers_of_the_list_are_its_peers(tmp_path: Path) -> None:
    async with server(tmp_path / "one", "else") as one, server(tmp_path / "two", "orders") as two:
        code, found = await asked([one, two, "127.0.0.1:1"], "orders")
        assert (code, found["situation"], found["server"]) == (66, "elsewhere", one)
        assert "peer_silent" in {each["situation"] for each in found["evidence"]}


async def test_a_server_without_brokers(tmp_path: Path) -> None:
    async with server(tmp_path) as address:
        assert (await asked([address], "orders"))[1]["situation"] == "no_brokers"
        assert (await asked([address], broker="broker-a"))[1]["situation"] == "unknown"
