"""Field cases of clients in whole programs and in servers of others: C023, C024, C026, C027."""

import asyncio
import itertools
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.field.test_recipe_cases import FILES, SETTINGS, answering, post, running
from tests.interop.rig.ports import free_port
from tests.support.consuming import TOPIC, Seen, fill, undisturbed
from tests.support.faulty_broker import FaultyCluster, faulty_cluster

from cosmodrome import ClientConfig, ClientSession, Consumer, Message, Producer

ORDERS = "orders"
ORDERS_OF_CLOSING = tuple(itertools.permutations(("p0", "p1", "c0", "c1")))


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[FaultyCluster]:
    async with faulty_cluster(tmp_path, topics={TOPIC: 2, ORDERS: 4}) as one:
        yield one


class Four:
    """Two producers and two consumers of four groups, with one client id."""

    def __init__(self, cluster: FaultyCluster) -> None:
        config = ClientConfig(namesrv=cluster.name_server, persist_interval_s=0.1, close_timeout_s=3)
        self.session = ClientSession(config)
        self.seen = {name: Seen() for name in ("c0", "c1")}
        options: dict[str, Any] = {"session": self.session, "consume_from": "first"}
        self.clients: dict[str, Producer | Consumer] = {
            **{name: Producer(name, session=self.session) for name in ("p0", "p1")},
            **{
                name: Consumer(name, subscriptions={TOPIC: None}, handler=self.seen[name], **options)
                for name in self.seen
            },
        }

    async def start(self) -> None:
        for client in self.clients.values():
            await client.start()

    async def works(self, names: tuple[str, ...], body: bytes, cluster: FaultyCluster) -> None:
        """Each of these sends, or gets what is sent."""
        for name in names:
            client = self.clients[name]
            if isinstance(client, Producer):
                assert (await client.send(Message(topic=TOPIC, body=body))).attempts == 1
        if not any(name.startswith("p") for name in names):
            cluster.broker.put(TOPIC, body)
        for name in names:
            if name in self.seen:
                await self.seen[name].until(lambda name=name: body in self.seen[name].bodies)  # type: ignore[misc]  # bound early


async def closed_in_order(cluster: FaultyCluster, order: tuple[str, ...], *, is_watched: bool) -> None:
    """Open all four, and close them in this order; each says goodbye for its group alone."""
    four = Four(cluster)
    await four.start()
    names = {
        client.client_id if isinstance(client, Producer) else client.status().client_id
        for client in four.clients.values()
    }
    assert len(names) == 1
    cluster.broker.journal.clear()
    for closed, name in enumerate(order):
        await four.clients[name].close()
        byes = cluster.broker.journal.requests(35)
        named = [bye.ext.get("producerGroup") or bye.ext.get("consumerGroup") for bye in byes]
        assert named == list(order[: closed + 1])
        if is_watched:
            await four.works(order[closed + 1 :], "".join((*order, str(closed))).encode(), cluster)
    assert not four.session.is_open


async def test_c023_two_producers_and_two_consumers_close_in_any_order(cluster: FaultyCluster) -> None:
    """Every eighth order; tests/soak has all 24."""
    async with undisturbed():
        for order in ORDERS_OF_CLOSING[::8]:
            await closed_in_order(cluster, order, is_watched=True)


async def test_c023_all_of_them_close_at_once_under_traffic(cluster: FaultyCluster) -> None:
    async with undisturbed():
        four = Four(cluster)
        await four.start()
        producers = [client for client in four.clients.values() if isinstance(client, Producer)]
        sends = [
            asyncio.ensure_future(producer.send(Message(topic=TOPIC, body=b"x")))
            for producer in producers
            for _ in range(50)
        ]
        await four.seen["c0"].came(1)
        await asyncio.gather(*(client.close() for client in four.clients.values()))
        assert {result.attempts for result in await asyncio.gather(*sends)} == {1}
        assert not four.session.is_open
        assert len(cluster.broker.journal.requests(35)) == 4


HANDLING = """
import asyncio, signal, sys, threading
from cosmodrome import Consumer, sync

def act(message):
    {act}

async def main():
    async with Consumer("G", namesrv=sys.argv[1], subscriptions={{"T": None}}, consume_from="first", handler={handler}) as one:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        handled.append(asyncio.get_running_loop())
        await stop.wait()

async def later(message):
    act(message)

handled = []
{run}
print([each.name for each in threading.enumerate() if not each.daemon], flush=True)
sys.exit(5)
"""
KILL = "__import__('os').kill(__import__('os').getpid(), signal.SIGTERM)"
THREADED = """
def work():
    with sync.Consumer("G", namesrv=sys.argv[1], subscriptions={"T": None}, consume_from="first", handler=act) as one:
        one.wait()
threading.Thread(target=work, daemon=True).start()
signal.sigwait({signal.SIGTERM})
"""
KEPT = """
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
async def cell():
    one = Consumer("G", namesrv=sys.argv[1], subscriptions={"T": None}, consume_from="first", handler=later)
    await one.start()
    await asyncio.sleep(0.3)
    await one.close()
asyncio.run_coroutine_threadsafe(cell(), loop).result(30)
"""


@pytest.mark.parametrize(
    ("what", "act", "handler", "run"),
    [
        ("an exception in a handler", f"{KILL}; raise ValueError('of a handler')", "later", "asyncio.run(main())"),
        ("an exit in a handler", f"{KILL}; sys.exit(9)", "later", "asyncio.run(main())"),
        ("an exit in a plain handler", f"{KILL}; sys.exit(9)", "act", "asyncio.run(main())"),
        ("a daemon thread that is not closed", KILL, "act", THREADED),
        ("a loop that keeps running", "pass", "later", KEPT),
    ],
)
async def test_c024_a_program_ends_in_time_with_its_own_code(
    cluster: FaultyCluster, what: str, act: str, handler: str, run: str
) -> None:
    """SIGTERM ends what waits; nothing of ours keeps the interpreter."""
    fill(cluster.broker, 1)
    text = HANDLING.format(act=act, handler=handler, run=run)
    # The main thread waits for the signal in `sigwait`: no other thread may take it.
    blocked = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n" if run == THREADED else ""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", blocked + text, cluster.name_server,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    async with asyncio.timeout(60):
        threads = (await child.stdout.readline()).decode().strip()
        began_s = time.monotonic()
        _, errors = await child.communicate()
    assert (child.returncode, threads) == (5, "['MainThread']"), (what, errors.decode())
    assert time.monotonic() - began_s < 20
    assert b"Fatal" not in errors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The programs of docs/recipes.md."""
    place = tmp_path / "page"
    for name, text in FILES.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for package in ("shop", "shop/management", "shop/management/commands"):
        (place / package / "__init__.py").touch()
    (place / "project.py").write_text(SETTINGS, encoding="utf-8")
    return place


@pytest.mark.parametrize("app", ["flask_app:app", "django"])
async def test_c026_under_gunicorn_each_worker_is_a_client_of_its_own(
    folder: Path, cluster: FaultyCluster, app: str
) -> None:
    """Loaded before the fork, and after it; SIGTERM ends all of it."""
    port = free_port()
    environment = {"PYTHONPATH": str(folder)}
    if app == "django":
        wsgi = "from django.core.wsgi import get_wsgi_application\napplication = get_wsgi_application()\n"
        (folder / "site_wsgi.py").write_text(wsgi, encoding="utf-8")
        environment["DJANGO_SETTINGS_MODULE"] = "project"
        app = "site_wsgi:application"
    arguments = (
        "-m",
        "gunicorn",
        "--preload",
        "--workers",
        "2",
        "--bind",
        f"127.0.0.1:{port}",
        "--no-control-socket",
        app,
    )
    async with running(folder, cluster, *arguments, environment=environment) as program:
        await program.line("Booting worker")
        await answering(port)
        ids: set[str] = set()
        while len({each[:12] for each in ids}) < 2:  # the sender's address and process
            ids.add((await post(port, f"/orders/{len(ids)}"))["msg_id"])
            assert len(ids) < 400
        assert cluster.broker.store.unique_keys(ORDERS) == dict.fromkeys(ids, 1)
        clients = {beat.json()["clientID"] for beat in cluster.broker.journal.requests(34)}
        assert len(clients) >= 2
        await program.ended(signal.SIGTERM)
    assert "Traceback" not in program.out, program.out


async def test_c026_a_reload_ends_the_old_client_and_begins_a_new_one(folder: Path, cluster: FaultyCluster) -> None:
    port = free_port()
    arguments = ("-m", "flask", "--app", "flask_app", "run", "--debug", "--port", str(port))
    async with running(folder, cluster, *arguments) as program:
        await program.line("Debugger PIN")
        await post(port, "/orders/1")
        text = (folder / "flask_app.py").read_text(encoding="utf-8")
        (folder / "flask_app.py").write_text(text + "\n# changed\n", encoding="utf-8")
        await program.line("reloading")
        await program.line("Debugger PIN")
        await answering(port)
        await post(port, "/orders/2")
        assert len(cluster.broker.store.bodies(ORDERS)) == 2
        assert await program.ended(signal.SIGINT) == 0
    assert "Traceback" not in program.out


AIOHTTP = """
from aiohttp import web
from cosmodrome import Consumer, Message, Producer

async def clients(app):
    async def handle(message):
        print("billed", message.body.decode(), flush=True)
    async with Producer("web") as producer, Consumer("billing", subscriptions={"orders": "*"}, handler=handle, consume_from="first"):
        app["producer"] = producer
        yield

async def order(request):
    number = request.match_info["number"]
    result = await request.app["producer"].send(Message(topic="orders", body=number.encode()))
    return web.json_response({"msg_id": result.msg_id})

app = web.Application()
app.cleanup_ctx.append(clients)
app.add_routes([web.post("/orders/{number}", order)])
web.run_app(app, host="127.0.0.1", port=int(__import__("sys").argv[1]))
"""


async def test_c027_under_aiohttp(folder: Path, cluster: FaultyCluster) -> None:
    """Requests that send (1,000 in tests/soak), and SIGTERM with requests open."""
    (folder / "aiohttp_app.py").write_text(AIOHTTP, encoding="utf-8")
    await requests_that_send(folder, cluster, "aiohttp_app.py", str(port := free_port()), port=port)


async def test_c027_under_uvicorn(folder: Path, cluster: FaultyCluster) -> None:
    """Requests that send (1,000 in tests/soak), on uvloop, and SIGTERM with requests open."""
    port = free_port()
    arguments = ("-m", "uvicorn", "app:app", "--port", str(port), "--loop", "uvloop", "--log-level", "warning")
    await requests_that_send(folder, cluster, *arguments, port=port)


async def requests_that_send(
    folder: Path, cluster: FaultyCluster, *arguments: str, port: int, count: int = 150
) -> None:
    """Have a web server send a message for each request, and end it while some are open."""
    async with running(folder, cluster, *arguments) as program:
        await answering(port)
        many = asyncio.Semaphore(50)

        async def ask(number: int) -> str:
            async with many:
                return (await post(port, f"/orders/{number}"))["msg_id"]

        assert len(set(await asyncio.gather(*(ask(number) for number in range(count))))) == count
        late = [asyncio.ensure_future(ask(number)) for number in range(20)]
        await asyncio.sleep(0)
        await program.ended(signal.SIGTERM)
        ends = await asyncio.gather(*late, return_exceptions=True)
    assert "Traceback" not in program.out
    assert len(cluster.broker.store.unique_keys(ORDERS)) >= count + sum(isinstance(each, str) for each in ends)
    offsets = {key: offset for key, offset in cluster.broker.groups.offsets.items() if key[:2] == ("billing", ORDERS)}
    assert sum(offsets.values()) >= count * 9 // 10
    assert cluster.broker.journal.requests(35, consumerGroup="billing")
    assert cluster.broker.journal.requests(35, producerGroup="web")
