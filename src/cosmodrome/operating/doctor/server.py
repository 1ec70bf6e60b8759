"""Checks of a server that runs, or of the port that it will need.

Owns: who has its port, whether it answers, whether it is ready, who is connected; what other NameServers know.
Must not know: how its files are.
"""

import asyncio
import dataclasses
import errno
from collections.abc import Iterator, Sequence
from typing import Final

from cosmodrome.client.addresses import Address
from cosmodrome.errors import AdminError, MalformedBodyError, OperatorError, RemotingError
from cosmodrome.namesrv.port_owner import find_port_owner
from cosmodrome.operating.api import Api
from cosmodrome.operating.doctor.finding import Finding, Subject, counted, fail, ok, warn
from cosmodrome.operating.process import RunningProcess
from cosmodrome.protocol.bodies.cluster import decode_cluster_info
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import request
from cosmodrome.transport.client import RemotingClient
from cosmodrome.transport.listening import listening_socket

_TIMEOUT_S: Final = 3.0
_HTTP_TIMEOUT_S: Final = 10.0
"""A server that has just started loads its libraries before it answers."""


def running_pid(subject: Subject) -> int | None:
    """Give the process of the server, by its pid file; None when it does not run, or cannot be seen."""
    try:
        with RunningProcess(subject.pid_file) as process:
            return process.pid
    except AdminError:
        return None


def as_it_runs(subject: Subject) -> Subject:
    """Give the server with the addresses that its process has, which flags may have named; as it is when it does not run."""
    try:
        with RunningProcess(subject.pid_file) as process:
            found = process.addresses()
    except AdminError:
        found = None
    host, _, number = ("", "", "") if found is None else found.remoting.rpartition(":")
    if found is None or not number.isascii() or not number.isdecimal():
        return subject
    return dataclasses.replace(subject, host=host.strip("[]"), port=int(number), http=found.http)


def port(subject: Subject, pid: int | None) -> Iterator[Finding]:
    """Look whether the server has its port, or could have it."""
    where = f"{subject.host}:{subject.port}"
    try:
        listening_socket(subject.host, subject.port).close()
    except OSError as error:
        yield _taken(subject, where, error, pid)
        return
    if pid is not None and subject.port:
        yield fail(
            "port",
            f"{where} is free, although process {pid} runs",
            "it listens somewhere else, or is just starting or stopping.",
            "name the configuration that it was started with: -c FILE",
        )
    else:
        yield ok("port", f"{where} is free" if subject.port else "any free one")


def _taken(subject: Subject, where: str, error: OSError, pid: int | None) -> Finding:
    if error.errno != errno.EADDRINUSE:
        do = "use a port from 1024 on, or CAP_NET_BIND_SERVICE" if error.errno == errno.EACCES else "bindAddress"
        return fail("port", f"{where} cannot be had: {error.strerror or error}", "the start will fail.", do)
    owner = find_port_owner(subject.port)
    if pid is not None and (owner is None or owner.pid == pid):
        return ok("port", f"{where}, of the running process {pid}")
    who = f"process {owner.pid} ({owner.command})" if owner else "another process"
    if pid is None and owner is not None and "cosmodrome" in owner.command:
        return ok("port", f"{where}, of {who}")
    return fail("port", f"{where} is taken by {who}", "the start will fail.", "stop it, or choose another port")


def readiness(subject: Subject, pid: int | None) -> Iterator[Finding]:
    """Ask the server over HTTP whether it is ready, and whom it has."""
    if not subject.http:
        yield ok("HTTP", "off")
        return
    api = Api(subject.http, timeout_s=_HTTP_TIMEOUT_S)
    try:
        status, text = api.text("/readyz?verbose")
    except OperatorError as error:
        if pid is None:
            yield ok("HTTP", f"nobody at {subject.http}: the server does not run")
        else:
            yield fail(
                "HTTP", f"nobody answers at {subject.http}, although process {pid} runs", error.why or error.what,
                "name where it is: --http HOST:PORT (http.listening in its log)",
            )  # fmt: skip
        return
    lines = text.strip().splitlines()
    if status == 200:
        yield ok("ready", f"says {subject.http}")
        if subject.kind == "namesrv":
            yield from _connected(api)
    else:
        yield fail(
            "ready",
            lines[-1] if lines else f"status {status}",
            "load balancers send nobody there.",
            "wait, or see its log",
        )


def _connected(api: Api) -> Iterator[Finding]:
    try:
        info = api.get("/api/v1/server")
        brokers, topics = int(info["brokers"]), int(info["topics"])
    except (OperatorError, KeyError, TypeError, ValueError):
        return  # the policy may keep this from us, and a server of another release has no such page
    if brokers:
        yield ok("brokers", f"{brokers} connected, {counted(topics, 'topic')}")
    else:
        yield warn(
            "brokers", "none is connected", "no topic has a route.", f"namesrvAddr={info.get('address')} in broker.conf"
        )


def name_servers(addresses: Sequence[Address]) -> Iterator[Finding]:
    """Ask NameServers by remoting which brokers they know."""
    counts: dict[str, int] = {}
    for address, found in zip(addresses, asyncio.run(_asked(addresses)), strict=True):
        name = str(address)
        if isinstance(found, int):
            counts[name] = found
        else:
            yield fail(
                "NameServer", f"{name} does not answer: {found}", "brokers and clients that ask it wait.",
                "start it, or take it from the list",
            )  # fmt: skip
    if len(set(counts.values())) > 1:
        what = ", ".join(f"{name} knows {counted(count, 'broker')}" for name, count in counts.items())
        yield warn(
            "NameServers", what, "a client's route depends on whom it asks.",
            f"cosmodrome peers diff -n '{';'.join(counts)}'",
        )  # fmt: skip
    elif counts:
        yield ok(
            "NameServers",
            f"{len(counts)} {'answers' if len(counts) == 1 else 'answer'}, each knows {counted(next(iter(counts.values())), 'broker')}",
        )


async def _asked(addresses: Sequence[Address]) -> list[int | str]:
    client = RemotingClient()
    try:
        return list(await asyncio.gather(*(_brokers_of(client, str(each)) for each in addresses)))
    finally:
        await client.close()


async def _brokers_of(client: RemotingClient, address: str) -> int | str:
    """Give how many names of brokers it knows, or why that is not known."""
    try:
        answer = await client.request(address, request(RequestCode.GET_BROKER_CLUSTER_INFO), _TIMEOUT_S)
    except (RemotingError, OSError) as error:
        return str(error)
    if answer.code != ResponseCode.SUCCESS:
        return f"it answered {answer.code}, {answer.remark}"
    try:
        return len(decode_cluster_info(answer.body).broker_addr_table)
    except MalformedBodyError as error:
        return f"its answer cannot be read: {error}"
