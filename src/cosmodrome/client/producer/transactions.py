"""Transactions: a message that consumers see only when a local transaction is committed.

Owns: the half message, the local transaction, the word to the broker how it ended, the answers when a broker asks.
Must not know: how a message is sent.
"""

import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from cosmodrome.client.message import Message, ReceivedMessage, SendResult, SendStatus
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import MessageError, RocketMQError
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.headers.transactions import (
    TRANSACTION_COMMIT,
    TRANSACTION_ROLLBACK,
    TRANSACTION_UNKNOWN,
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
)
from cosmodrome.protocol.messages.ids import decode_offset_msg_id
from cosmodrome.protocol.messages.properties import PGROUP, TRAN_MSG
from cosmodrome.protocol.messages.record import StoredMessage
from cosmodrome.transport.daemon_thread import in_daemon_thread

logger = logging.getLogger(__name__)

MAX_CHECKS: Final = 64
"""Checkers that run at the same time; brokers ask again about what found no place."""


class TransactionState(Enum):
    """How a local transaction ended."""

    COMMIT = TRANSACTION_COMMIT
    ROLLBACK = TRANSACTION_ROLLBACK
    UNKNOWN = TRANSACTION_UNKNOWN
    """Not known yet: the broker asks later."""


class TransactionResult(NamedTuple):
    """What became of a transaction. `error` is what the local transaction raised, if it did; its state is UNKNOWN then."""

    send_result: SendResult
    state: TransactionState
    error: Exception | None = None


Execute = Callable[[Message, SendResult], TransactionState | Awaitable[TransactionState | None] | None]
"""The local transaction. Only a TransactionState that it gives counts; everything else means UNKNOWN."""
Check = Callable[[ReceivedMessage], TransactionState | Awaitable[TransactionState | None] | None]
"""Looks up how the local transaction of a message ended."""


class Ended(NamedTuple):
    """An end that a broker was told of; `is_checked` tells whether it had asked."""

    address: str
    topic: str
    msg_id: str
    transaction_id: str
    state: TransactionState
    is_checked: bool
    tag: str | None
    keys: tuple[str, ...]
    region: str | None = None


class _End(NamedTuple):
    address: str
    header: EndTransactionRequestHeader


class Transactions:
    """The transactions of one producer group."""

    def __init__(
        self, session: ClientSession, group: str, check: Check, on_end: Callable[[Ended], None] = lambda _: None
    ) -> None:
        self._session = session
        self._group = group
        self._check = check
        self._on_end = on_end
        # Message id → the newest question about it, which is the one to be answered.
        self._asked: dict[str, _End] = {}

    def half_properties(self, message: Message) -> Mapping[str, str]:
        """Give what makes a message a half message.

        Raises:
            MessageError: It is delayed: a broker would throw it away.
        """
        if message.is_delayed:
            raise MessageError("a transaction message cannot be delayed")
        return {TRAN_MSG: "true", PGROUP: self._group}

    async def execute(self, message: Message, result: SendResult, execute: Execute) -> TransactionResult:
        """Run the local transaction of a half message that was sent, and tell the broker how it ended.

        It is not run, and the message rolled back, when the half message is not stored as it must be.
        """
        state, error = TransactionState.ROLLBACK, None
        if result.status is SendStatus.OK:
            state, error = await _outcome(execute, message, result)
        end = self._first_end(result, state)
        await self._end(end, None if error is None else repr(error))
        self._on_end(
            Ended(
                end.address,
                message.topic,
                result.msg_id,
                result.transaction_id or result.msg_id,
                state,
                is_checked=False,
                tag=message.tag,
                keys=tuple(message.keys),
                region=result.region,
            )
        )
        return TransactionResult(result, state, error)

    def on_check(self, address: str, header: CheckTransactionStateRequestHeader, message: StoredMessage) -> None:
        """Begin to answer a broker that asks; nothing waits for the checker."""
        asked = _End(
            address,
            EndTransactionRequestHeader(
                producer_group=self._group,
                tran_state_table_offset=header.tran_state_table_offset,
                commit_log_offset=header.commit_log_offset,
                from_transaction_check=True,
                msg_id=message.msg_id,
                transaction_id=header.transaction_id or message.msg_id,
                topic=message.topic,
            ),
        )
        key = message.msg_id
        if key in self._asked:
            self._asked[key] = asked  # its checker still runs: the answer goes to the newest question
        elif len(self._asked) < MAX_CHECKS:
            self._asked[key] = asked
            self._session.spawn(self._answer(key, message), f"check-{key}")
        else:
            logger.warning("%d transactions are being looked up: %s is left to be asked again", MAX_CHECKS, key)

    async def _answer(self, key: str, message: StoredMessage) -> None:
        queue = MessageQueue(message.topic, "", message.queue_id)
        topic = self._session.config.unwrap(message.topic)
        received = ReceivedMessage(message, queue, topic=topic)
        try:
            state, error = await _outcome(self._check, received)
        finally:
            asked = self._asked.pop(key)
        header = asked.header
        await self._end(_End(asked.address, _with_state(header, state)), None if error is None else repr(error))
        transaction_id = header.transaction_id or key
        self._on_end(
            Ended(
                asked.address, topic, key, transaction_id, state, is_checked=True, tag=received.tag, keys=received.keys
            )
        )

    def _first_end(self, result: SendResult, state: TransactionState) -> _End:
        place = decode_offset_msg_id(result.offset_msg_id)
        address = self._session.routes.master_address(result.queue.broker_name)
        if place is not None and address is None:
            address = f"{place.host}:{place.port}"
        header = EndTransactionRequestHeader(
            producer_group=self._group,
            tran_state_table_offset=result.queue_offset,
            commit_log_offset=0 if place is None else place.commit_log_offset,
            msg_id=result.msg_id,
            transaction_id=result.transaction_id or result.msg_id,
            topic=self._session.config.wrap(result.queue.topic),
        )
        return _End(address or "", _with_state(header, state))

    async def _end(self, end: _End, remark: str | None) -> None:
        """Tell the broker, once. If that fails the broker asks."""
        try:
            await self._session.requests.end_transaction(end.address, end.header, remark)
        except RocketMQError as error:
            logger.warning("cannot tell %s how transaction %s ended: %s", end.address, end.header.msg_id, error)


def _with_state(header: EndTransactionRequestHeader, state: TransactionState) -> EndTransactionRequestHeader:
    return EndTransactionRequestHeader(
        topic=header.topic,
        producer_group=header.producer_group,
        tran_state_table_offset=header.tran_state_table_offset,
        commit_log_offset=header.commit_log_offset,
        commit_or_rollback=state.value,
        from_transaction_check=header.from_transaction_check,
        msg_id=header.msg_id,
        transaction_id=header.transaction_id,
    )


def _guarded(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Give the call of a user's function for a thread, in which an exit ends nothing but the call."""
    context = contextvars.copy_context()

    def local_transaction() -> Any:
        try:
            return context.run(function, *arguments)
        except (SystemExit, KeyboardInterrupt) as error:
            raise RuntimeError(f"the local transaction raised {error!r}") from error

    return local_transaction


async def _outcome(function: Callable[..., Any], *arguments: Any) -> tuple[TransactionState, Exception | None]:
    """Call a user's function, plain or async: the plain one outside the loop, which it may block."""
    try:
        if inspect.iscoroutinefunction(function):
            state = await function(*arguments)
        else:
            state = await in_daemon_thread(_guarded(function, *arguments))
            if inspect.isawaitable(state):
                state = await state
    except Exception as error:
        logger.exception("the local transaction raised: its state is unknown")
        return TransactionState.UNKNOWN, error
    if isinstance(state, TransactionState):
        return state, None
    if state is not None:
        logger.warning("the local transaction gave %r, which is no TransactionState: its state is unknown", state)
    return TransactionState.UNKNOWN, None
