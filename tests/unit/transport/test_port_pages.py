"""What is answered over HTTP on the remoting port, and what is not."""

import asyncio

import pytest

from cosmodrome.errors import GreetingRefusedError
from cosmodrome.transport.connection import ConnectionOptions
from cosmodrome.transport.dispatch import Dispatcher
from cosmodrome.transport.entrance import Entrance, EntrancePolicy, TlsMode
from cosmodrome.transport.limits import PeerLimits
from cosmodrome.transport.port_pages import LONGEST_HEAD_BYTES, PortPages
from cosmodrome.transport.server import ListenOptions, RemotingServer

URL = "http://127.0.0.1:19876"
PAGES = PortPages(unready=lambda: "", dashboard=lambda: URL)
TAIL = b" HTTP/1.1\r\nHost: x\r\n\r\n"


def split(wire: bytes) -> tuple[int, dict[str, str], str]:
    """Give status, header fields and body of an answer that is whole."""
    head, _, body = wire.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), fields, body.decode()


def answered(data: bytes, pages: PortPages = PAGES) -> tuple[int, dict[str, str], str]:
    answer = pages.answer(data)
    assert answer is not None
    return split(answer.wire)


@pytest.mark.parametrize("path", [b"/livez", b"/readyz", b"/readyz?verbose"])
def test_F125_probes_are_answered_and_are_no_refusal(path: bytes) -> None:  # noqa: N802
    answer = PAGES.answer(b"GET " + path + TAIL)

    assert answer is not None
    assert answer.refusal == ""
    status, fields, body = split(answer.wire)
    assert (status, body, fields["Connection"], fields["Cache-Control"]) == (200, "ok\n", "close", "no-store")
    assert fields["Content-Length"] == "3"


def test_F125_a_server_that_is_not_ready_says_why_and_is_live(  # noqa: N802
) -> None:
    pages = PortPages(unready=lambda: "waits 3 s more for brokers", dashboard=lambda: "")

    assert answered(b"GET /readyz" + TAIL, pages)[::2] == (503, "waits 3 s more for brokers\n")
    assert answered(b"GET /livez" + TAIL, pages)[::2] == (200, "ok\n")


def test_head_is_answered_without_a_body() -> None:
    status, fields, body = answered(b"HEAD /livez" + TAIL)

    assert (status, fields["Content-Length"], body) == (200, "3", "")


@pytest.mark.parametrize("path", [b"/", b"/healthz", b"/livez/", b"/api/v1/server", b"/%00", b"//livez"])
def test_any_other_path_is_a_page_that_says_where_to_go(path: bytes) -> None:
    answer = PAGES.answer(b"GET " + path + TAIL)

    assert answer is not None
    assert "HTTP" in answer.refusal
    status, _, body = split(answer.wire)
    assert status == 404
    assert body.startswith(f"this port speaks RocketMQ remoting; the dashboard is at {URL}\n")
    without = PortPages(unready=lambda: "", dashboard=lambda: "")
    assert "--http" in answered(b"GET " + path + TAIL, without)[2]


@pytest.mark.parametrize("method", [b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE"])
def test_other_methods_are_refused_before_their_head_is_whole(method: bytes) -> None:
    answer = PAGES.answer(method + b" /livez")

    assert answer is not None
    assert answer.refusal
    status, fields, _ = split(answer.wire)
    assert (status, fields["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "data",
    [
        b"GET /livez HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nTRANSFER-ENCODING : chunked\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nExpect: 100-continue\r\n\r\n",
        b"GET /livez" + TAIL + b"x",
        b"GET /livez" + TAIL + b"GET /livez" + TAIL,
        b"GET /livez\r\n\r\n",
        b"GET /livez HTTP/2.0\r\n\r\n",
        b"GET /livez  HTTP/1.1\r\n\r\n",
        b"GET http://x/livez HTTP/1.1\r\n\r\n",
        b"GET * HTTP/1.1\r\n\r\n",
        b"GET \r\n\r\n",
        b"GET /" + b"x" * LONGEST_HEAD_BYTES + TAIL,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * LONGEST_HEAD_BYTES,
    ],
    ids=[
        "length",
        "chunked",
        "expect",
        "one byte more",
        "pipelined",
        "no version",
        "version 2",
        "two blanks",
        "absolute",
        "star",
        "no path",
        "long path",
        "many fields",
    ],
)
def test_bodies_pipelining_and_whatever_is_not_plain_are_refused(data: bytes) -> None:
    answer = PAGES.answer(data)

    assert answer is not None
    assert answer.refusal
    assert split(answer.wire)[0] == 400


def test_an_empty_body_that_is_announced_is_none() -> None:
    assert answered(b"GET /livez HTTP/1.0\r\nContent-Length: 0\r\n\r\n")[0] == 200


def test_a_head_that_is_not_whole_is_waited_for_in_any_pieces() -> None:
    data = b"GET /livez" + TAIL
    for cut in range(1, len(data)):
        entrance = Entrance(EntrancePolicy(pages=PAGES))
        assert entrance.receive(data[:cut]) == (b"", b"", None)
        assert entrance.is_waiting is True
        admitted = entrance.receive(data[cut:])
        assert admitted.wire.endswith(b"ok\n")
        assert admitted.end
        assert bool(entrance.is_waiting) is False
        assert entrance.receive(b"GET /livez" + TAIL) == (b"", b"", None), "nothing more is answered"


@pytest.mark.parametrize("mode", TlsMode)
def test_F125_probes_are_answered_whatever_tls_demands(mode: TlsMode) -> None:  # noqa: N802
    entrance = Entrance(EntrancePolicy(tls_mode=mode, pages=PAGES))

    assert entrance.receive(b"GET /readyz" + TAIL).wire.endswith(b"ok\n")


def test_a_refusal_is_sent_and_told() -> None:
    with pytest.raises(GreetingRefusedError, match="HTTP") as refused:
        Entrance(EntrancePolicy(pages=PAGES)).receive(b"GET /" + TAIL)

    assert split(refused.value.reply)[0] == 404


async def test_on_a_connection_the_answer_ends_it_and_nobody_is_told() -> None:
    told: list[str] = []
    options = ListenOptions(
        host="127.0.0.1", port=0, connection=ConnectionOptions(entrance=EntrancePolicy(pages=PAGES))
    )
    server = RemotingServer(Dispatcher({}), options, on_refused=lambda _peer, _cause, reason: told.append(reason))
    await server.start()
    host, _, port = server.address.rpartition(":")
    try:
        for data, status in ((b"GET /readyz" + TAIL, 200), (b"GET /x" + TAIL, 404), (b"POST /livez" + TAIL, 405)):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(data)
            assert split(await reader.read())[0] == status
            writer.close()
            await writer.wait_closed()
        assert len(told) == 2
        assert server.refusals == {"greeting_refused": 2}
    finally:
        await server.close()


async def test_a_head_that_never_ends_is_given_up() -> None:
    told: list[str] = []
    options = ListenOptions(
        host="127.0.0.1",
        port=0,
        max_idle_s=1,
        limits=PeerLimits(greeting_timeout_s=0.05),
        connection=ConnectionOptions(entrance=EntrancePolicy(pages=PAGES)),
    )
    server = RemotingServer(Dispatcher({}), options, on_refused=lambda _peer, cause, _reason: told.append(cause))
    await server.start()
    host, _, port = server.address.rpartition(":")
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /livez HTTP/1.1\r\nX: ")
        assert await asyncio.wait_for(reader.read(), 20) == b""
        writer.close()
        await writer.wait_closed()
        assert told == ["greeting_deadline"]
    finally:
        await server.close()
