"""Every error that this package raises on purpose.

    RocketMQError
    ├── ProtocolError              the peer's fault; its connection is closed, nothing is answered
    │   ├── MalformedFrameError    the position in the stream is lost, or a length contradicts another
    │   │   ├── FrameTooLargeError
    │   │   └── HeaderTooLargeError
    │   ├── MalformedHeaderError   the frame is whole, its header cannot be read
    │   ├── GreetingRefusedError   the first bytes are of another protocol, or of one that is off
    │   └── PeerLimitError         the peer costs more, or is slower, than the configured limits allow
    ├── MalformedBodyError         the peer's fault; answered with a code, the connection lives
    │   ├── BodyLimitError         the body asks for more than the limits allow
    │   └── IrregularTableError    the body must be read in another way
    ├── FilterError                a filter's text is no expression, or its values cannot be compared
    ├── MissingLibraryError        a library that is not part of the base install is needed
    ├── RequestRefusedError        a processor's decision, with the code and remark to answer
    ├── RemotingError              a request of ours got no answer
    │   ├── ConnectError
    │   │   └── AddressServerError an HTTP address server named no NameServers
    │   └── RequestTimeoutError
    ├── AnswerError                a request of ours got an answer that is of no use; names the address
    │   ├── RefusedError           another code than SUCCESS
    │   │   ├── NotFoundError      no such topic, key or namespace
    │   │   ├── NotPermittedError  policy forbids it
    │   │   │   └── AuthenticationError  the credentials are wrong or missing; trying again does not help
    │   │   ├── NotReadyError      starting, draining or busy; worth retrying
    │   │   └── NotSupportedError  unknown there, or switched off
    │   └── UnreadableAnswerError
    ├── StoreUnavailableError      the message store accepts nothing at the moment
    ├── ClientError                a producer or consumer cannot do what it was asked
    │   ├── MessageError           refused before anything was sent
    │   ├── NoRouteError           no NameServer knows a queue for the topic
    │   ├── SendError              no try brought an answer that the message is stored
    │   │   └── SendTimeoutError
    │   ├── ReplyTimeoutError      the request was sent, and no reply came in time
    │   ├── TransactionError       the half message is not stored as it must be; nothing was executed
    │   ├── PendingLimitError      too much waits for answers already
    │   ├── BrokersFailedError     some of several servers did not do what all were asked
    │   └── ClientClosedError
    └── OperatorError              something a person must put right; has an id, a reason, an advice, an exit code
        ├── ConfigError            NS-CONFIG
        │   └── PropertiesError    a properties text that cannot be read at all
        ├── BindError              NS-BIND
        ├── TlsError               NS-TLS
        │   └── TlsKeyError        NS-TLS-KEY
        └── StorageError           NS-STORAGE
            ├── StorageDoubtError  written, and not known to be safe
            ├── StoreFormatError   files of the message store are not what the settings say
            └── StoreInUseError    another process has the message store

Our own misuse raises ValueError, TypeError or AssertionError.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar


class RocketMQError(Exception):
    """Root of all errors of this package."""


class ProtocolError(RocketMQError):
    """The peer sent bytes that are not the remoting protocol. Close its connection.

    `cause` is one word that never changes, for logs and counters.
    """

    cause: str = "bad_protocol"


class MalformedFrameError(ProtocolError):
    """A frame's lengths or type byte are impossible. Never feed this stream's decoder again."""

    cause = "malformed_frame"


class FrameTooLargeError(MalformedFrameError):
    """A frame declares more bytes than the limit; it was refused before its data was read."""

    cause = "frame_too_large"

    def __init__(self, declared_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"frame of {declared_bytes} bytes is over the limit of {limit_bytes} bytes")
        self.declared_bytes = declared_bytes
        self.limit_bytes = limit_bytes


class HeaderTooLargeError(MalformedFrameError):
    """A frame declares more header bytes than the limit; it was refused before its header was read."""

    cause = "header_too_large"

    def __init__(self, declared_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"header of {declared_bytes} bytes is over the limit of {limit_bytes} bytes")
        self.declared_bytes = declared_bytes
        self.limit_bytes = limit_bytes


class MalformedHeaderError(ProtocolError):
    """A frame's header is not one of the two header codecs."""

    cause = "malformed_header"


class GreetingRefusedError(ProtocolError):
    """The peer speaks something else, or something that is switched off. `reply` is to be sent before closing."""

    cause = "greeting_refused"

    def __init__(self, reason: str, reply: bytes = b"") -> None:
        super().__init__(reason)
        self.reply = reply


class PeerLimitError(ProtocolError):
    """The peer, or all peers together, exceed a limit on connections, time or unsent bytes. Reset the connection."""

    def __init__(self, cause: str, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause


class MalformedBodyError(RocketMQError):
    """A body is not what its request code says. The text names what was wrong with it, in words of ours.

    `cause` is one word that never changes, for logs and counters.
    """

    cause: str = "malformed_body"


class BodyLimitError(MalformedBodyError):
    """A body holds more than the limits allow. Nothing beyond the limit was kept."""

    cause = "over_limit"


class IrregularTableError(MalformedBodyError):
    """A table of topics cannot be read by stretches, or not with what is known of it. Read whole it may be good."""


class FilterError(RocketMQError, ValueError):
    """The text of a filter is no expression, or two values cannot be compared."""


class MissingLibraryError(RocketMQError):
    """Something needs a library that is not installed; the text says how to get it.

    Attributes:
        library: The name under which it is imported.
        extra: The extra of this package that brings it.
    """

    def __init__(self, what: str, library: str, extra: str) -> None:
        super().__init__(f"{what} needs the library {library}: pip install 'cosmodrome[{extra}]'")
        self.library = library
        self.extra = extra


class RequestRefusedError(RocketMQError):
    """A request that is answered with another code than SUCCESS.

    `remark` goes to the peer. `ext_fields` is what the answer's header carries: None for no header at all,
    an empty mapping where the reference answers `{}`. `is_fault` tells whether the request itself was wrong, which
    operators want to know; a question that has no answer is none. `cause` is one word that never changes, for logs
    and counters.
    """

    def __init__(
        self,
        code: int,
        remark: str,
        ext_fields: dict[str, str] | None = None,
        *,
        is_fault: bool = True,
        cause: str = "refused",
    ) -> None:
        super().__init__(code, remark)
        self.code = code
        self.remark = remark
        self.ext_fields = ext_fields
        self.is_fault = is_fault
        self.cause = cause


class RemotingError(RocketMQError):
    """A request that we sent brought no answer. The text names the peer."""


class ConnectError(RemotingError):
    """No connection to the peer could be made."""


class AddressServerError(ConnectError):
    """An HTTP address server did not say where the NameServers are. `url` is the one that was asked."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"address server {url}: {reason}")
        self.url = url


class RequestTimeoutError(RemotingError):
    """The peer did not answer, or did not take our bytes, in time."""


class AnswerError(RocketMQError):
    """The answer to a request of ours is of no use. `address` is who gave it."""

    def __init__(self, address: str, text: str) -> None:
        super().__init__(f"{address}: {text}")
        self.address = address


class RefusedError(AnswerError):
    """The answer has another code than SUCCESS. `remark` is the peer's text, empty when it gave none."""

    def __init__(self, address: str, code: int, remark: str) -> None:
        super().__init__(address, f"code {code}: {remark}" if remark else f"code {code}")
        self.code = code
        self.remark = remark


class NotFoundError(RefusedError):
    """There is no such topic, key or namespace."""


class NotPermittedError(RefusedError):
    """The peer's policy forbids it."""


class AuthenticationError(NotPermittedError):
    """The peer does not accept the credentials, or wants some. The same request is refused again."""


class NotReadyError(RefusedError):
    """The peer is starting, draining or busy. The same request may succeed later, or elsewhere."""


class NotSupportedError(RefusedError):
    """The peer does not know this request, or has switched it off."""


class UnreadableAnswerError(AnswerError):
    """The body of a successful answer is not what the request asks for."""


class StoreUnavailableError(RocketMQError):
    """The message store accepts nothing: writing or syncing has failed, or it is closed. `reason` is one line.

    Nothing of what was to be stored may be acknowledged; what of it is on disk is not known.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the message store is not available: {reason}")
        self.reason = reason


class ClientError(RocketMQError):
    """A producer or consumer of ours cannot do what it was asked."""


class MessageError(ClientError, ValueError):
    """A message that is refused before anything is sent, or the name of a topic or a group.

    `index` is its place in a batch, or None. `code` and `text` are what a broker answers.
    """

    def __init__(self, text: str, index: int | None = None, *, code: int = 13) -> None:
        super().__init__(text if index is None else f"message {index}: {text}")
        self.index = index
        self.code = code
        self.text = text


class NoRouteError(ClientError):
    """No NameServer knows a queue for the topic."""

    def __init__(self, topic: str, text: str) -> None:
        super().__init__(f"No route info of this topic: {topic}: {text}")
        self.topic = topic


class SendError(ClientError):
    """No try to send a message brought the answer that it is stored. `__cause__` is what the last one met.

    Attributes:
        msg_id: What the message carries as UNIQ_KEY in every try, so that a consumer can tell copies.
        brokers: The broker names that were tried, in order.
        is_outcome_unknown: Whether a try was written and not answered: the message may be stored.
    """

    def __init__(self, text: str, msg_id: str, brokers: Sequence[str], *, is_outcome_unknown: bool) -> None:
        super().__init__(text)
        self.msg_id = msg_id
        self.brokers = tuple(brokers)
        self.is_outcome_unknown = is_outcome_unknown

    @property
    def attempts(self) -> int:
        """How often it was tried."""
        return len(self.brokers)


class SendTimeoutError(SendError):
    """The time for all tries is over."""


class ReplyTimeoutError(ClientError):
    """A request message was stored, and no reply came in time. `correlation_id` is what a late one would carry."""

    def __init__(self, correlation_id: str, timeout_s: float) -> None:
        super().__init__(f"no reply to request {correlation_id} in {timeout_s:g} s")
        self.correlation_id = correlation_id


class TransactionError(ClientError):
    """The half message is not stored as it must be. The local transaction was not executed."""


class PendingLimitError(ClientError):
    """What waits for answers has reached its limit; nothing was sent."""


class BrokersFailedError(ClientError):
    """Several servers were asked, and some of them, or all, failed. The text names each, with its reason.

    Attributes:
        failures: What went wrong, by the server that was asked.
        done: The servers that did what was asked.
    """

    def __init__(self, what: str, failures: Mapping[str, RocketMQError], done: Sequence[str] = ()) -> None:
        each = "; ".join(f"{name}: {error}" for name, error in failures.items())
        super().__init__(f"{what}: {each}" + (f" (done at {', '.join(done)})" if done else ""))
        self.failures = dict(failures)
        self.done = tuple(done)


class ClientClosedError(ClientError):
    """The client is closed, or was closed before the answer came. `is_outcome_unknown`: it may have been done."""

    def __init__(self, text: str, *, is_outcome_unknown: bool = False) -> None:
        super().__init__(text)
        self.is_outcome_unknown = is_outcome_unknown


class OperatorError(RocketMQError):
    """Something that a person must put right.

    Attributes:
        what: What happened, one line.
        why: The reason, or None when it is not known.
        remedy: What to do, or None.
        exit_code: What the process ends with when this ends it.
    """

    ERROR_ID: ClassVar[str] = "NS-ERROR"
    exit_code: int = 70

    def __init__(self, what: str, *, why: str | None = None, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.remedy = remedy

    def render(self) -> str:
        """Give the three-part text that a terminal shows."""
        lines = [f"error[{self.ERROR_ID}]: {self.what}"]
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.remedy:
            lines.append(f"  do:  {self.remedy}")
        return "\n".join(lines)


class ConfigError(OperatorError):
    """A configuration value or file that cannot be used. `keys` are the keys at fault, if known."""

    ERROR_ID = "NS-CONFIG"
    exit_code = 78

    def __init__(
        self, what: str, *, keys: Sequence[str] = (), why: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(what, why=why, remedy=remedy)
        self.keys = tuple(keys)


class PropertiesError(ConfigError):
    """A text is not a Java properties text: `escape` on line `line` is no escape."""

    def __init__(self, line: int, escape: str) -> None:
        super().__init__(
            f"line {line}: bad escape {''.join(char if char.isprintable() else '?' for char in escape)}",
            why="in a properties file \\u begins an escape of four hexadecimal digits.",
            remedy="write a backslash as two backslashes.",
        )
        self.line = line
        self.escape = escape


class BindError(OperatorError):
    """The listening socket could not be opened."""

    ERROR_ID = "NS-BIND"
    exit_code = 71


class TlsError(OperatorError):
    """Certificates or keys that cannot be used."""

    ERROR_ID = "NS-TLS"
    exit_code = 78


class TlsKeyError(TlsError):
    """A private key that cannot be read: a password is missing or wrong, or its encryption is not supported."""

    ERROR_ID = "NS-TLS-KEY"


class StorageError(OperatorError):
    """A file could not be read or written. What was to be stored is not stored. `REMARK` is what a peer is told."""

    ERROR_ID = "NS-STORAGE"
    REMARK: ClassVar[str] = "the change could not be stored and was not made"
    exit_code = 71


class StorageDoubtError(StorageError):
    """A file was written and then the disk failed: a restart may find the old content or the new one."""

    REMARK = "the change could not be stored for certain and was not made; a restart may bring it back"


class StoreFormatError(StorageError):
    """Files of a message store have other sizes than the settings say, or one is missing. Nothing was changed."""


class StoreInUseError(StorageError):
    """Another process has the folder of a message store."""


class AdminError(OperatorError):
    """An administration command that failed."""

    ERROR_ID = "NS-ADMIN"
    exit_code = 1


class UsageError(AdminError):
    """The command line cannot be understood."""

    ERROR_ID = "NS-USAGE"
    exit_code = 2


class MissingError(AdminError):
    """The topic, broker, cluster, key or namespace does not exist."""

    ERROR_ID = "NS-NOT-FOUND"
    exit_code = 66


class UnreachableError(AdminError):
    """No connection to the server, or none that lasts."""

    ERROR_ID = "NS-UNREACHABLE"
    exit_code = 69


class TlsMismatchError(UnreachableError):
    """One side speaks TLS and the other does not, or the certificate is not trusted."""

    ERROR_ID = "NS-TLS-MISMATCH"


class UnavailableError(AdminError):
    """Neither this release nor the server has what was asked for."""

    ERROR_ID = "NS-NOT-AVAILABLE"
    exit_code = 69


class NoAnswerError(AdminError):
    """The server did not answer in time. Worth retrying."""

    ERROR_ID = "NS-TIMEOUT"
    exit_code = 75


class WarmingUpError(AdminError):
    """The server is up and does not serve yet, or not now. Worth retrying."""

    ERROR_ID = "NS-NOT-READY"
    exit_code = 75


class DeniedError(AdminError):
    """The server's policy forbids it."""

    ERROR_ID = "NS-DENIED"
    exit_code = 77
