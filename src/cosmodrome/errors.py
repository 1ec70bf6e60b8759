"""Every error that this package raises on purpose.

    RocketMQError
    ├── ProtocolError              the peer's fault; its connection is closed, nothing is answered
    │   ├── MalformedFrameError    the position in the stream is lost, or a length contradicts another
    │   │   ├── FrameTooLargeError
    │   │   └── HeaderTooLargeError
    │   ├── MalformedHeaderError   the frame is whole, its header cannot be read
    │   ├── GreetingRefusedError   the first bytes are of another protocol, or of one that is off
    │   │   └── TlsFailedError     no TLS that both want, or the session broke
    │   └── PeerLimitError         the peer costs more, or is slower, than the configured limits allow
    ├── MalformedBodyError         the peer's fault; answered with a code, the connection lives
    │   ├── BodyLimitError         the body asks for more than the limits allow
    │   └── IrregularTableError    the body must be read in another way
    ├── FilterError                a filter's text is no expression, or its values cannot be compared
    ├── MissingLibraryError        a library that is not part of the base install is needed
    ├── RequestRefusedError        a processor's decision, with the code and remark to answer
    ├── UndoRefusedError           a change of the audit log cannot be undone, or not any more
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
        ├── RecordingError         NS-RECORDING
        ├── TlsError               NS-TLS
        │   └── TlsKeyError        NS-TLS-KEY
        └── StorageError           NS-STORAGE
            ├── StorageDoubtError  written, and not known to be safe
            ├── StoreFormatError   files of the message store are not what the settings say
            └── StoreInUseError    another process has the message store

Our own misuse raises ValueError, TypeError or AssertionError.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple


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


class TlsFailedError(GreetingRefusedError):
    """The peer and this server found no TLS that both want, or the session broke."""

    cause = "tls_failed"


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


class UndoRefusedError(RocketMQError):
    """A change is not undone. `cause` is one word that never changes, `reason` one line for people."""

    def __init__(self, cause: str, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause
        self.reason = reason


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
    """No NameServer knows a queue for the topic. `is_for_writing`: one that messages may be sent to was looked for."""

    def __init__(self, topic: str, text: str, *, is_for_writing: bool = False) -> None:
        super().__init__(f"No route info of this topic: {topic}: {text}")
        self.topic = topic
        self.is_for_writing = is_for_writing


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
    ADVICE: ClassVar[str] = ""
    """What to do in general; `remedy` is what to do this time. Of each ERROR_ID, for the reference."""
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


class ConfigFault(NamedTuple):
    """One setting that cannot be used.

    `place` is `FILE:LINE`, a flag or a variable, empty where none is to blame; `text` completes "PLACE: ..."; `guess` is
    the name that was probably meant.
    """

    place: str
    key: str
    text: str
    guess: str | None = None

    def render(self) -> str:
        """Give it on one line, without the guess."""
        return f"{self.place}: {self.text}" if self.place else self.text


class ConfigError(OperatorError):
    """A configuration value or file that cannot be used.

    `keys` are the keys at fault, if known; `faults` says of each setting what is wrong with it, where that is known.
    """

    ERROR_ID = "NS-CONFIG"
    ADVICE = (
        "Look at the place that the text names. `cosmodrome namesrv --check-config` checks a file without "
        "starting; `--lenient` makes unknown keys a warning."
    )
    exit_code = 78

    def __init__(
        self,
        what: str,
        *,
        keys: Sequence[str] = (),
        why: str | None = None,
        remedy: str | None = None,
        faults: Sequence[ConfigFault] = (),
    ) -> None:
        super().__init__(what, why=why, remedy=remedy)
        self.keys = tuple(keys)
        self.faults = tuple(faults)


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
    ADVICE = (
        "Stop what listens there, or listen elsewhere: `--listenPort`, `--bindAddress`, `--http`. Ports below "
        "1024 need a privilege."
    )
    exit_code = 71


class TlsError(OperatorError):
    """Certificates or keys that cannot be used."""

    ERROR_ID = "NS-TLS"
    ADVICE = (
        "Look at the file that the text names: the certificate, the key that belongs to it, the certificates "
        "that are trusted."
    )
    exit_code = 78


class TlsKeyError(TlsError):
    """A private key that cannot be read: a password is missing or wrong, or its encryption is not supported."""

    ERROR_ID = "NS-TLS-KEY"
    ADVICE = (
        "Give the password (`tls.server.keyPassword`), or encrypt the key in a way that OpenSSL still reads: "
        "`pip install 'cosmodrome[tls]'` reads the old ones."
    )


class StorageError(OperatorError):
    """A file could not be read or written. What was to be stored is not stored. `REMARK` is what a peer is told."""

    ERROR_ID = "NS-STORAGE"
    ADVICE = (
        "Free some space, or make the file or folder readable and writable for the user of the process. What "
        "was refused succeeds then without a restart."
    )
    REMARK: ClassVar[str] = "the change could not be stored and was not made"
    exit_code = 71


class StorageDoubtError(StorageError):
    """A file was written and then the disk failed: a restart may find the old content or the new one."""

    REMARK = "the change could not be stored for certain and was not made; a restart may bring it back"


class StoreFormatError(StorageError):
    """Files of a message store have other sizes than the settings say, or one is missing. Nothing was changed."""


class StoreInUseError(StorageError):
    """Another process has the folder of a message store."""


class RecordingError(OperatorError):
    """What should be frames on file, or as digits, is none."""

    ERROR_ID = "NS-RECORDING"
    ADVICE = "Name another file: this one is damaged, or of another kind."
    exit_code = 65


class AdminError(OperatorError):
    """An administration command that failed."""

    ERROR_ID = "NS-ADMIN"
    ADVICE = "The text says which step failed, and at which server; with several servers, the others may have done it."
    exit_code = 1


class UsageError(AdminError):
    """The command line cannot be understood."""

    ERROR_ID = "NS-USAGE"
    ADVICE = "`-h` behind the command shows its options."
    exit_code = 2


class MissingError(AdminError):
    """The topic, broker, cluster, key or namespace does not exist."""

    ERROR_ID = "NS-NOT-FOUND"
    ADVICE = (
        "Look at how the name is spelled, and whether this is the right server: the listings of `cosmodrome "
        "admin` show what there is."
    )
    exit_code = 66


class UnreachableError(AdminError):
    """No connection to the server, or none that lasts."""

    ERROR_ID = "NS-UNREACHABLE"
    ADVICE = (
        "Look whether the server runs, whether the address is the one at which it listens, and what is "
        "between here and there."
    )
    exit_code = 69


class TlsMismatchError(UnreachableError):
    """One side speaks TLS and the other does not, or the certificate is not trusted."""

    ERROR_ID = "NS-TLS-MISMATCH"
    ADVICE = "Speak TLS with `--tls`, or plainly without it; name the certificates to trust with `--tls-trust`."


class UnavailableError(AdminError):
    """Neither this release nor the server has what was asked for."""

    ERROR_ID = "NS-NOT-AVAILABLE"
    ADVICE = "Use what the text names instead, another server, or a newer release."
    exit_code = 69


class NoAnswerError(AdminError):
    """The server did not answer in time. Worth retrying."""

    ERROR_ID = "NS-TIMEOUT"
    ADVICE = "Try again; wait longer with `--timeout`; look at the load of the server."
    exit_code = 75


class WarmingUpError(AdminError):
    """The server is up and does not serve yet, or not now. Worth retrying."""

    ERROR_ID = "NS-NOT-READY"
    ADVICE = "Try again in a while, or ask another server. `/readyz` of a NameServer says what it waits for."
    exit_code = 75


class DeniedError(AdminError):
    """The server's policy forbids it."""

    ERROR_ID = "NS-DENIED"
    ADVICE = (
        "Ask from an address in `adminAllow`, sign with an account (`--credentials`), or over HTTP send the "
        "token; the refusal names the setting."
    )
    exit_code = 77
