"""The blocking NameServer and AdminClient; what the facade has of each async client."""

import inspect
import threading
from typing import Any

import pytest
from tests.unit.sync.conftest import run_program

from cosmodrome import ClientClosedError, NoRouteError, sync
from cosmodrome.client.admin import admin
from cosmodrome.client.consumer import consumer, lite_pull
from cosmodrome.client.producer import producer
from cosmodrome.namesrv import in_process
from cosmodrome.sync.admin import AdminClient


def test_a_name_server_runs_in_a_thread_of_its_own() -> None:
    with sync.NameServer(port=0) as name_server, sync.AdminClient(namesrv=name_server.address) as admin_client:
        admin_client.name_servers.kv_put("N", "k", "v")
        assert admin_client.name_servers.kv_get("N", "k") == "v"
        assert dict(admin_client.name_servers.kv_list("N")) == {"k": "v"}
        assert admin_client.brokers.list() == ()
        with pytest.raises(NoRouteError):
            admin_client.topics.route("nowhere")
        with pytest.raises(NoRouteError):
            name_server.wait_for_route("nowhere", timeout=0.01)
    assert name_server.address == ""
    assert not [each for each in threading.enumerate() if each.name == "cosmodrome-sync"]
    with pytest.raises(ClientClosedError):
        admin_client.topics.names()


FORK = """
with sync.NameServer(port=0) as name_server, sync.AdminClient(namesrv=name_server.address) as admin:
    admin.name_servers.kv_put("N", "k", "v")
    child = os.fork()
    if child == 0:
        print(admin.name_servers.kv_get("N", "k"), flush=True)
        try:
            name_server.wait_for_route("T", 0.01)
        except RuntimeError as error:
            print("make one in this process" in str(error), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(admin.name_servers.kv_get("N", "k"), flush=True)
"""


async def test_a_child_process_administers_over_connections_of_its_own() -> None:
    program = await run_program(FORK, "")

    assert (program.code, program.err) == (0, "")
    assert program.out.splitlines() == ["v", "True", "v"]


def public(kind: type[Any]) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))}


@pytest.mark.parametrize(
    ("blocking", "asynchronous", "other_names"),
    [
        (sync.Producer, producer.Producer, {"pending_count", "pending_bytes"}),
        (sync.Consumer, consumer.Consumer, set()),
        (sync.LitePullConsumer, lite_pull.LitePullConsumer, set()),
        (sync.NameServer, in_process.NameServer, set()),
    ],
)
def test_the_facade_has_every_call_of_the_client(
    blocking: type[Any], asynchronous: type[Any], other_names: set[str]
) -> None:
    missing = public(asynchronous) - set(dir(blocking)) - other_names

    assert not missing


@pytest.mark.parametrize("part", ["topics", "groups", "offsets", "messages", "clients", "brokers", "name_servers"])
def test_the_facade_has_every_call_of_each_part_of_the_admin_client(part: str) -> None:
    whole: Any = admin.AdminClient(namesrv="127.0.0.1:9876")
    facade: Any = AdminClient(namesrv="127.0.0.1:9876")

    calls = {name for name in vars(type(getattr(facade, part))) if not name.startswith("_")}

    assert calls == public(type(getattr(whole, part)))


def test_calls_carry_the_text_of_the_client() -> None:
    assert sync.Producer.send.__doc__ == producer.Producer.send.__doc__
    assert inspect.getdoc(sync.AdminClient(namesrv="127.0.0.1:9876").topics.create)


def test_only_what_is_there_can_be_imported() -> None:
    with pytest.raises(AttributeError, match="Produzer"):
        getattr(sync, "Produzer")  # noqa: B009 -- the name is not there
    assert {"Producer", "Consumer", "AdminClient", "NameServer"} <= set(dir(sync))
