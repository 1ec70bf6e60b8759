"""Commands that find one message: queryMsgById, queryMsgByKey, queryMsgByUniqueKey, queryMsgByOffset.

Owns: their layouts.
Must not know: how brokers find messages.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cosmodrome.admin.cluster_access import administered, client_options, explained, queue_of, routed
from cosmodrome.admin.java_text import direct_result_text, result_text
from cosmodrome.admin.message_rows import (
    UTF_8,
    body_of,
    body_text,
    labelled,
    message_lines,
    message_row,
    write_body,
)
from cosmodrome.admin.message_tracks import Track, tracks_of
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, snake_case
from cosmodrome.admin.sending import TOOLS_GROUP, send_row
from cosmodrome.client.admin.admin import AdminClient
from cosmodrome.client.admin.messages import LIMIT, IndexQuery
from cosmodrome.client.admin.pulls import Wanted
from cosmodrome.client.message import Message, MessageView
from cosmodrome.client.producer.producer import Producer
from cosmodrome.errors import MissingError, OperatorError, RocketMQError, UsageError
from cosmodrome.protocol.bodies.heartbeat import ConsumeType
from cosmodrome.protocol.messages.properties import MAX_OFFSET, MIN_OFFSET, UNIQ_KEY, is_reserved
from cosmodrome.shown_text import shown

DEFAULT_FOUND: Final = 64
_HOUR_MS: Final = 3_600_000
_LAST_MS: Final = 2**63 - 1
_PARTLY_FAILED: Final = 1

Find = Callable[[str], Awaitable[Sequence[MessageView]]]
Act = Callable[[MessageView], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How a message is shown: its body by a charset, or in a file of a folder; with the id that its broker gave it."""

    charset: str | None = None
    folder: str | None = None
    with_offset_id: bool = True
    more_properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ById:
    """The options of queryMsgById."""

    topic: str
    msg_ids: Sequence[str]
    body_format: str | None
    body_folder: str | None
    group: str | None
    client_id: str | None
    resends: bool | None
    unit_name: str | None
    cluster: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByUniqueKey:
    """The options of queryMsgByUniqueKey."""

    topic: str
    msg_id: str
    shows_all: bool
    body_folder: str | None
    group: str | None
    client_id: str | None
    begin_ms: int | None
    end_ms: int | None
    cluster: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByKey:
    """The options of queryMsgByKey."""

    topic: str
    key: str
    begin_ms: int | None
    end_ms: int | None
    limit: int | None
    key_type: str | None
    last_key: str | None
    cluster: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByOffset:
    """The options of queryMsgByOffset."""

    topic: str
    broker_name: str
    queue_id: int
    offset: int
    body_format: str | None
    body_folder: str | None
    route_topic: str | None


async def query_msg_by_id(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print messages by their ids; or have a member of a group consume them again; or send them again."""
    asked = ById(**flags)
    name_server = (await routed(servers, asked.topic)).name_server
    async with administered(servers, name_server) as admin:
        work = _Work(servers, output, admin)

        async def find(msg_id: str) -> Sequence[MessageView]:
            return (await admin.messages.by_id(msg_id, topic=asked.topic)).messages[:1]

        if asked.group is not None and asked.client_id is not None:
            return await work.each(asked.msg_ids, find, work.consuming(asked.group, asked.client_id))
        if asked.resends is not None:
            options = client_options(servers, name_server) | ({"unit_name": asked.unit_name} if asked.unit_name else {})
            async with Producer(TOOLS_GROUP, **options) as producer:
                return await work.each(asked.msg_ids if asked.resends else [], find, work.sending_again(producer))
        return await work.each(
            asked.msg_ids, find, work.showing(Shown(charset=asked.body_format, folder=asked.body_folder))
        )


async def query_msg_by_unique_key(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print the messages with a sender's id, the first or all; or have a member of a group consume it again."""
    asked = ByUniqueKey(**flags)
    query = IndexQuery(asked.topic, asked.msg_id, LIMIT, asked.begin_ms or 0, _end_ms(asked.end_ms), is_unique=True)
    async with administered(servers, (await routed(servers, asked.topic)).name_server) as admin:
        work = _Work(servers, output, admin)

        async def find(_: str) -> Sequence[MessageView]:
            found = (await admin.messages.by_index(query)).messages
            return found if asked.shows_all else found[:1]

        act = work.showing(Shown(folder=asked.body_folder, with_offset_id=False))
        if asked.group is not None and asked.client_id is not None:
            act = work.consuming(asked.group, asked.client_id)
        return await work.each([asked.msg_id], find, act)


async def query_msg_by_key(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print where the messages with a key are, or with a tag."""
    asked = ByKey(**flags)
    query = IndexQuery(
        asked.topic,
        asked.key,
        asked.limit or DEFAULT_FOUND,
        asked.begin_ms or 0,
        _end_ms(asked.end_ms),
        index_type="T" if asked.key_type == "T" else None,
        last_key=asked.last_key,
    )
    async with administered(servers, (await routed(servers, asked.topic)).name_server) as admin:
        found = await admin.messages.by_index(query)
    if not found.messages and not found.failures:
        kind = "tag" if asked.key_type == "T" else "key"
        raise _nothing(f"topic {asked.topic} has no message with the {kind} {asked.key!r}")
    output.text(f"{'#Message ID':<50} {'#QID':>4} {'#Offset':>40} {'#IndexKey':<200}")
    for message in found.messages:
        index_key = _index_key(message, asked.key_type or "K", asked.key)
        line = f"{shown(message.msg_id):<50} {message.queue.queue_id:>4} {message.queue_offset:>40} {index_key:<200}"
        output.row({**message_row(message, None), "index_key": index_key}, line)
    output.end("messages", topic=asked.topic, key=asked.key, may_be_more=found.may_be_more)
    return await _conclude(servers, output, found.failures)


async def query_msg_by_offset(servers: NameServers, output: Output, **flags: Any) -> int:
    """Print the message at an offset of a queue."""
    asked = ByOffset(**flags)
    found = await routed(servers, asked.route_topic or asked.topic)
    queue = queue_of(found.route, asked.topic, asked.broker_name, asked.queue_id)
    async with administered(servers, found.name_server) as admin:
        pulled = await admin.messages.pull(queue, asked.offset, Wanted(limit=1))
        message = next((each for each in pulled.messages if each.queue_offset == asked.offset), None)
        if message is None:
            is_empty = pulled.max_offset <= pulled.min_offset
            raise MissingError(
                f"queue {queue.queue_id} of {queue.topic} at {queue.broker_name} has no message at {asked.offset}.",
                why="it is empty."
                if is_empty
                else f"it has those from {pulled.min_offset} to {pulled.max_offset - 1}.",
            )
        bounds = {MIN_OFFSET: str(pulled.min_offset), MAX_OFFSET: str(pulled.max_offset)}
        form = Shown(charset=asked.body_format, folder=asked.body_folder, more_properties=bounds)
        await _Work(servers, output, admin).showing(form)(message)
    output.end("messages")
    return 0


class _Work:
    """What is done with messages that were found."""

    def __init__(self, servers: NameServers, output: Output, admin: AdminClient) -> None:
        self._servers = servers
        self._output = output
        self._admin = admin

    async def each(self, msg_ids: Sequence[str], find: Find, act: Act) -> int:
        """Do something with the messages of each id; what fails is reported, and the others are done."""
        failures: list[OperatorError] = []
        for msg_id in msg_ids:
            try:
                async with explained(self._servers):
                    found = await find(msg_id)
                    if not found:
                        raise _nothing(f"there is no message {msg_id}")
                    for message in found:
                        await act(message)
            except OperatorError as error:
                failures.append(error)
        is_all = len(failures) == len(msg_ids) and bool(failures)
        if not is_all:
            self._output.end("messages")
        for failure in failures[1:] if is_all else failures:
            self._output.error(failure)
        if is_all:
            raise failures[0]
        return _PARTLY_FAILED if failures else 0

    def showing(self, form: Shown) -> Act:
        """Print a message and who consumed it."""

        async def act(message: MessageView) -> None:
            path = None if form.folder is None else write_body(message, form.folder)
            properties = {**message.properties, **form.more_properties}
            lines = message_lines(message, properties, with_offset_id=form.with_offset_id)
            if path is not None:
                lines.append(labelled("Message Body Path:", path))
            if path is None or form.charset is not None:
                lines.append(labelled("Message Body:", body_text(body_of(message), form.charset or UTF_8)))
            tracks, reason = await _tracks(self._admin, message)
            facts = {"body_path": path, "tracks": [track.row() for track in tracks]}
            row = {**message_row(message, form.charset or UTF_8), **facts}
            self._output.row(row, *lines, *_track_lines(tracks))
            if reason is not None:
                self._output.note(f"who consumes it is not known: {reason}")

        return act

    def consuming(self, group: str, client_id: str) -> Act:
        """Have a member of a group consume a message again."""

        async def act(message: MessageView) -> None:
            members = await self._admin.clients.consumers(group)
            if client_id not in members.members:
                known = ", ".join(sorted(members.members)) or "nobody"
                raise MissingError(
                    f"no member {client_id!r} of group {group} is online.",
                    why=f"online is: {known}.",
                    remedy="start it, or name one that is",
                )
            if members.consume_type is not ConsumeType.CONSUME_PASSIVELY:
                raise UsageError(f"{client_id} pulls: nobody can have it consume a message.")
            result = await self._admin.messages.consume_directly(group, client_id, message)
            outcome = None if result.consume_result is None else result.consume_result.name
            row = {"msg_id": message.msg_id, "consumer_group": group, "client_id": client_id, **snake_case(result)}
            self._output.row({**row, "consume_result": outcome}, direct_result_text(result))

        return act

    def sending_again(self, producer: Producer) -> Act:
        """Send a message once more, under the id that its sender gave it, as mqadmin does."""

        async def act(message: MessageView) -> None:
            own = {name: value for name, value in message.properties.items() if not is_reserved(name)}
            result = await producer.send(
                Message(
                    topic=message.topic,
                    body=body_of(message),
                    tag=message.tag,
                    keys=message.keys,
                    properties=own,
                    flag=message.flag,
                    sharding_key=message.sharding_key,
                    msg_id=message.properties.get(UNIQ_KEY),
                ),
                timeout=self._servers.timeout_s,
            )
            row = {"original_msg_id": message.msg_id, **send_row(result)}
            text = f"prepare resend msg. originalMsgId={message.msg_id}{result_text(result)}"
            self._output.row(row, shown(text))

        return act


async def _tracks(admin: AdminClient, message: MessageView) -> tuple[list[Track], str | None]:
    """Give who consumed a message; a message that was found is shown even if nobody knows that."""
    try:
        return await tracks_of(admin, message), None
    except RocketMQError as error:
        return [], " ".join(str(error).split())


def _track_lines(tracks: Iterable[Track]) -> list[str]:
    lines = [track.line() for track in tracks]
    return ["", "", *(lines or ["WARN: No Consumer"])]


async def _conclude(servers: NameServers, output: Output, failures: Mapping[str, RocketMQError]) -> int:
    if not failures:
        return 0
    from cosmodrome.admin.client_errors import explained_by_client  # noqa: PLC0415  # most commands succeed

    for failure in failures.values():
        output.error(await explained_by_client(servers, failure))
    output.note(f"what {', '.join(failures)} has is missing")
    return _PARTLY_FAILED


def _end_ms(end_ms: int | None) -> int:
    return _LAST_MS if end_ms is None else end_ms


def _index_key(message: MessageView, key_type: str, key: str) -> str:
    """Write the key by which 5.5 finds a message in an index in RocksDB, and goes on behind it."""
    stored = message.stored
    hour_ms = stored.store_timestamp_ms // _HOUR_MS * _HOUR_MS
    return shown(f"{hour_ms}@{stored.topic}@{key_type}@{key}@{message.msg_id}@{stored.commit_log_offset}")


def _nothing(what: str) -> MissingError:
    return MissingError(
        f"{what}.",
        why="it was never stored, it was deleted with its age (fileReservedTime), or brokers have no index of it.",
        remedy="check the spelling, and the topic",
    )
