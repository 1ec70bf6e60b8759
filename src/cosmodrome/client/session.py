"""ClientSession: what the producers and consumers of one client share (Java: MQClientInstance).

Owns: the client id; connections, routes and background work, and their common end; heartbeats; whom a broker's request
    concerns.
Must not know: how messages are sent or consumed.
"""

import asyncio
import logging
import os
import secrets
import socket
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, Protocol, Self

from cosmodrome.client.config import DEFAULT_INSTANCE, ClientConfig, is_ip
from cosmodrome.client.requests import BrokerRequests, command
from cosmodrome.client.routes import Limits, TopicRoutes
from cosmodrome.client.server_list import ServerList
from cosmodrome.errors import ClientClosedError, MalformedBodyError, RocketMQError
from cosmodrome.protocol.bodies.heartbeat import ConsumerData, HeartbeatData, ProducerData
from cosmodrome.protocol.bodies.route import MASTER_ID
from cosmodrome.protocol.codes import FLAG_RESPONSE, ClientRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.replies import ReplyMessageRequestHeader
from cosmodrome.protocol.headers.transactions import CheckTransactionStateRequestHeader
from cosmodrome.protocol.messages.properties import PGROUP
from cosmodrome.protocol.messages.record import StoredMessage, decode_record
from cosmodrome.transport.channel import Channel, Links
from cosmodrome.transport.client import RemotingClient

logger = logging.getLogger(__name__)

FIRST_HEARTBEAT_S: Final = 1.0
LEAVE_LIMIT_S: Final = 1.0
"""How long a client that leaves waits for brokers to say that they know."""
_ELSEWHERE: Final = "192.0.2.1"
"""An address that nobody has: the way to it is the way out of this host."""
_GROUP_FIELDS: Final[Mapping[int, str]] = {
    ClientRequestCode.RESET_CONSUMER_CLIENT_OFFSET: "group",
    ClientRequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: "group",
    ClientRequestCode.GET_CONSUMER_RUNNING_INFO: "consumerGroup",
    ClientRequestCode.CONSUME_MESSAGE_DIRECTLY: "consumerGroup",
}
"""Which field of a relayed request names the consumer group that it concerns."""


class ProducerMember(Protocol):
    """What a session tells a producer. Neither may wait."""

    def on_check(self, address: str, header: CheckTransactionStateRequestHeader, message: StoredMessage) -> bool:
        """A broker asks how the transaction of this half message ended; whether this producer can tell."""

    def on_reply(self, header: ReplyMessageRequestHeader, body: bytes) -> bool:
        """A reply came; whether it was for this producer."""


class ConsumerMember(Protocol):
    """What a session asks and tells a consumer."""

    @property
    def group(self) -> str:
        """The group as it travels."""

    def consumer_data(self) -> ConsumerData:
        """What heartbeats say of it."""

    def on_members_changed(self) -> None:
        """Members of its group came or left. May not wait."""

    async def on_request(self, address: str, command: RemotingCommand) -> RemotingCommand | None:
        """Answer a request of a broker that names its group: 220, 221, 307 or 309."""

    async def persist_offsets(self) -> None:
        """Save how far it is."""


class ClientSession:
    """Shared by any number of producers and consumers of one event loop, whoever opens and closes first.

    The first `acquire` starts it and the last `release` ends it; it may be started again. `async with` does both.
    """

    def __init__(self, config: ClientConfig) -> None:
        self.config = config
        self.client_id = ""
        """Drawn at the start, anew each time."""
        self._users = 0
        self._producers: dict[str, list[ProducerMember]] = {}
        self._consumers: dict[str, ConsumerMember] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._runner: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._beat_now: asyncio.Event | None = None
        self._is_stale = False
        self._build()

    def _build(self) -> None:
        config = self.config
        sign = None if config.credentials is None else config.credentials.signed
        links = Links(prepare=sign, on_request=self._asked, on_opened=self._opened)
        self.remoting = RemotingClient(tls=config.tls_maker(), links=links)
        limits = Limits(config.request_timeout_s, config.route_interval_s)
        self.servers = ServerList(config.name_servers, config.address_server, config.request_timeout_s)
        self.routes = TopicRoutes(self.remoting, self.servers, limits)
        self.requests = BrokerRequests(self.remoting, config.request_timeout_s)

    @property
    def is_open(self) -> bool:
        """Whether it is started and not yet ended."""
        return self._runner is not None

    async def acquire(self) -> Self:
        """Use it; pair each with one `release`.

        Raises:
            RuntimeError: It is in use in another event loop.
            ConnectError: The local address cannot be found out.
        """
        if self._ending is not None:
            await asyncio.shield(self._ending)
        loop = asyncio.get_running_loop()
        if self._runner is None:
            if self._is_stale:
                self._build()
            self._is_stale = True
            self._loop = loop
            self._beat_now = asyncio.Event()
            self.client_id = self._drawn_id()
            self._runner = loop.create_task(self._run(), name=f"cosmodrome-session-{self.client_id}")
        self.check_loop()
        self._users += 1
        return self

    async def release(self) -> None:
        """Stop using it; the last one ends everything that it started. Too many releases do nothing.

        Cancelling who waits for the end does not cancel it.
        """
        if self._users == 0:
            return
        self._users -= 1
        runner = self._runner
        if self._users or runner is None:
            return
        self._runner = None
        self._ending = asyncio.get_running_loop().create_task(self._end(runner), name=f"end-{self.client_id}")
        await asyncio.shield(self._ending)

    async def _end(self, runner: asyncio.Task[None]) -> None:
        try:
            for task in tuple(self._tasks):
                task.cancel()
            runner.cancel()
            await asyncio.gather(runner, *self._tasks, return_exceptions=True)
            self.routes.close()
            self.servers.close()
            await self.remoting.close()
        finally:
            self._ending = None

    async def __aenter__(self) -> Self:
        return await self.acquire()

    async def __aexit__(self, *_: object) -> None:
        await self.release()

    def check_loop(self) -> None:
        """Refuse the use of a client that belongs elsewhere: connections cannot be shared.

        Raises:
            RuntimeError: The running event loop is another one, for example after a fork.
            ClientClosedError: It is not open.
        """
        if self._runner is None:
            raise ClientClosedError("the client is not open")
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("this client was opened in another event loop; open one in each loop and process")

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run something beside everything else; it is cancelled when the session ends. What it raises is logged."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(_logged(work, name), name=f"cosmodrome-{name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # of one that was cancelled before it began
        return task

    def add_producer(self, group: str, member: ProducerMember) -> None:
        """Announce a producer group; brokers learn of it by the next heartbeat, which is sent at once."""
        self._producers.setdefault(group, []).append(member)
        self.heartbeat_soon()

    async def remove_producer(self, group: str, member: ProducerMember) -> None:
        """Leave a producer group, unless another producer of this session is in it."""
        members = self._producers.get(group, [])
        if member in members:
            members.remove(member)
            if not members:
                del self._producers[group]
                await self._leave(producer_group=group)

    def add_consumer(self, member: ConsumerMember) -> None:
        """Announce a consumer.

        Raises:
            ValueError: This session has a consumer of that group.
        """
        if member.group in self._consumers:
            raise ValueError(
                f"this session has a consumer of group {member.group}: give the second one a session of its own"
            )
        self._consumers[member.group] = member
        self.heartbeat_soon()

    async def remove_consumer(self, member: ConsumerMember) -> None:
        """Leave a consumer group."""
        if self._consumers.get(member.group) is member:
            del self._consumers[member.group]
            await self._leave(consumer_group=member.group)

    def heartbeat_soon(self) -> None:
        """Have a heartbeat sent by the background work."""
        if self._beat_now is not None:
            self._beat_now.set()

    async def heartbeat(self) -> Mapping[str, RocketMQError]:
        """Tell all brokers of the routes of the groups, slaves only if there are consumers; give those that failed."""
        addresses = self._heartbeat_addresses()
        outcomes = await asyncio.gather(*(self.heartbeat_to(each) for each in addresses))
        return {address: error for address, error in zip(addresses, outcomes, strict=True) if error is not None}

    async def heartbeat_to(self, address: str) -> RocketMQError | None:
        """Tell one broker of the groups; give what went wrong, which is logged, or None."""
        if not (self._producers or self._consumers):
            return None
        data = HeartbeatData(
            client_id=self.client_id,
            producer_data_set=tuple(ProducerData(group_name=group) for group in self._producers),
            consumer_data_set=tuple(member.consumer_data() for member in self._consumers.values()),
        )
        try:
            await self.requests.heartbeat(address, data)
        except RocketMQError as error:
            logger.warning("heartbeat to %s failed: %s", address, error)
            return error
        return None

    async def _run(self) -> None:
        beat = self.spawn(self._beat(), "heartbeats")
        fresh = self.spawn(self.routes.keep_fresh(), "routes")
        save = self.spawn(self._persist(), "offsets")
        try:
            await asyncio.gather(beat, fresh, save)
        finally:
            if self._runner is not None:  # nobody closed it: the event loop ends
                for address in self.remoting.addresses():
                    self.remoting.drop(address)
                warnings.warn(f"client {self.client_id} was not closed", ResourceWarning, source=self, stacklevel=2)

    async def _beat(self) -> None:
        assert self._beat_now is not None  # noqa: S101 -- made by acquire
        wait_s = FIRST_HEARTBEAT_S
        while True:
            try:
                async with asyncio.timeout(wait_s):
                    await self._beat_now.wait()
            except TimeoutError:
                pass
            self._beat_now.clear()
            wait_s = self.config.heartbeat_interval_s
            try:
                await self.heartbeat()
            except Exception:
                logger.exception("a heartbeat failed")

    async def _persist(self) -> None:
        while True:
            await asyncio.sleep(self.config.persist_interval_s)
            for member in tuple(self._consumers.values()):
                try:
                    await member.persist_offsets()
                except RocketMQError as error:
                    logger.warning("cannot save the offsets of group %s: %s", member.group, error)
                except Exception:
                    logger.exception("cannot save the offsets of group %s", member.group)

    async def _leave(self, *, producer_group: str | None = None, consumer_group: str | None = None) -> None:
        async def leave(address: str) -> None:
            try:
                async with asyncio.timeout(LEAVE_LIMIT_S):
                    await self.requests.unregister(
                        address, self.client_id, producer_group=producer_group, consumer_group=consumer_group
                    )
            except (RocketMQError, TimeoutError) as error:
                logger.debug("cannot leave group %s at %s: %s", producer_group or consumer_group, address, error)

        open_now = set(self.remoting.addresses())
        await asyncio.gather(*(leave(each) for each in self._broker_addresses() if each in open_now))

    def _heartbeat_addresses(self) -> tuple[str, ...]:
        return self._broker_addresses() if self._consumers else self.master_addresses()

    def master_addresses(self) -> tuple[str, ...]:
        """Give the addresses of the masters of all routes."""
        brokers = self.routes.brokers().values()
        return tuple(dict.fromkeys(each[MASTER_ID] for each in brokers if MASTER_ID in each))

    def _broker_addresses(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each for ids in self.routes.brokers().values() for each in ids.values()))

    def _opened(self, channel: Channel) -> None:
        """Tell a broker of the groups the moment that it can be asked: the connection is what it knows us by."""
        if channel.address in self._heartbeat_addresses():
            self.spawn(self.heartbeat_to(channel.address), f"heartbeat-{channel.address}")

    def _asked(self, channel: Channel, asked: RemotingCommand) -> None:
        try:
            handle = _HANDLERS.get(asked.code)
            if handle is not None:
                handle(self, channel, asked)
            else:
                self._answer(channel, asked, ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "not supported by this client")
        except MalformedBodyError as error:
            logger.warning("request %d of %s cannot be read: %s", asked.code, channel.address, error)
            self._answer(channel, asked, ResponseCode.SYSTEM_ERROR, str(error))
        except Exception as error:
            logger.exception("request %d of %s failed", asked.code, channel.address)
            self._answer(channel, asked, ResponseCode.SYSTEM_ERROR, f"the client failed: {type(error).__name__}")

    def _check_asked(self, channel: Channel, asked: RemotingCommand) -> None:
        header = decode_ext_fields(CheckTransactionStateRequestHeader, asked.ext_fields)
        message, _ = decode_record(asked.body)
        group = message.properties.get(PGROUP, "")
        members = self._producers.get(group, ())
        if not any(member.on_check(channel.address, header, message) for member in members):
            logger.warning("%s asks about a transaction of group %r: nobody here can tell", channel.address, group)

    def _members_changed(self, channel: Channel, asked: RemotingCommand) -> None:
        group = (asked.ext_fields or {}).get("consumerGroup")
        member = self._consumers.get(group or "")
        if member is None:
            logger.debug("%s tells of group %r, which is not here", channel.address, group)
        else:
            member.on_members_changed()

    def _reply_came(self, channel: Channel, asked: RemotingCommand) -> None:
        header = decode_ext_fields(ReplyMessageRequestHeader, asked.ext_fields)
        members = [member for group in self._producers.values() for member in group]
        if not any(member.on_reply(header, asked.body) for member in members):
            logger.warning("%s sent a reply for which nobody waits (any more)", channel.address)
        self._answer(channel, asked, ResponseCode.SUCCESS, None)

    def _relayed(self, channel: Channel, asked: RemotingCommand) -> None:
        group = (asked.ext_fields or {}).get(_GROUP_FIELDS[asked.code])
        member = self._consumers.get(group or "")
        if member is None:
            self._answer(channel, asked, ResponseCode.SYSTEM_ERROR, f"group {group} has no consumer in this client")
        else:
            self.spawn(self._relay(member, channel, asked), f"request-{asked.code}-of-{channel.address}")

    async def _relay(self, member: ConsumerMember, channel: Channel, asked: RemotingCommand) -> None:
        try:
            answer = await member.on_request(channel.address, asked)
        except RocketMQError as error:
            self._answer(channel, asked, ResponseCode.SYSTEM_ERROR, str(error))
        else:
            if answer is not None and not asked.is_oneway:
                channel.answer(answer.replaced(opaque=asked.opaque, flag=FLAG_RESPONSE))

    def _answer(self, channel: Channel, asked: RemotingCommand, code: int, remark: str | None) -> None:
        if not asked.is_oneway:
            channel.answer(command(code).replaced(opaque=asked.opaque, flag=FLAG_RESPONSE, remark=remark))

    def _drawn_id(self) -> str:
        config = self.config
        # Address and process number are alike in containers and after a fork; the digits are not.
        instance = config.instance_name
        if instance == DEFAULT_INSTANCE:
            instance = f"{os.getpid()}#{secrets.token_hex(8)}"
        unit = f"@{config.unit_name}" if config.unit_name else ""
        return f"{config.client_ip or local_ip(config.towards)}@{instance}{unit}"


_HANDLERS: Final[Mapping[int, Callable[[ClientSession, Channel, RemotingCommand], None]]] = {
    ClientRequestCode.CHECK_TRANSACTION_STATE: ClientSession._check_asked,  # noqa: SLF001 -- its own
    ClientRequestCode.NOTIFY_CONSUMER_IDS_CHANGED: ClientSession._members_changed,  # noqa: SLF001
    ClientRequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT: ClientSession._reply_came,  # noqa: SLF001
    ClientRequestCode.RESET_CONSUMER_CLIENT_OFFSET: ClientSession._relayed,  # noqa: SLF001
    ClientRequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: ClientSession._relayed,  # noqa: SLF001
    ClientRequestCode.GET_CONSUMER_RUNNING_INFO: ClientSession._relayed,  # noqa: SLF001
    ClientRequestCode.CONSUME_MESSAGE_DIRECTLY: ClientSession._relayed,  # noqa: SLF001
}


def local_ip(towards: str) -> str:
    """Give the address of this host from which a numeric address is reached; without one, the host's own guess."""
    if not is_ip(towards):
        towards = _ELSEWHERE  # a name is not looked up here: that may take long
    family = socket.AF_INET6 if ":" in towards else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.setblocking(False)
            probe.connect((towards, 9))  # of a datagram socket: nothing is sent
            return str(probe.getsockname()[0]).partition("%")[0]
    except OSError:
        return "127.0.0.1"


async def _logged(work: Awaitable[Any], name: str) -> Any:
    try:
        return await work
    except asyncio.CancelledError:
        raise
    except Exception:
        logger.exception("background work %s ended by an error", name)
        return None
