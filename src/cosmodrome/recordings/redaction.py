"""Recordings that may be shown to others.

Owns: which bodies and header fields are kept; what stands in the place of the rest.
Must not know: who asked for it.

Kept is what a NameServer is about: names, addresses, routes, versions. What messages, values of configurations and
credentials say is overwritten; how long it was stays.
"""

from collections.abc import Mapping
from typing import Final

from cosmodrome.errors import ProtocolError
from cosmodrome.protocol.codes import BrokerRequestCode, RequestCode
from cosmodrome.protocol.command import encode_command
from cosmodrome.recordings.questions import SENDS, Questions, command_of
from cosmodrome.recordings.recorded import Recorded

_KEPT_BODIES: Final = frozenset(
    {
        RequestCode.REGISTER_BROKER, RequestCode.UNREGISTER_BROKER, RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.REGISTER_TOPIC_IN_NAMESRV, RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        RequestCode.QUERY_DATA_VERSION, RequestCode.GET_BROKER_MEMBER_GROUP, RequestCode.BROKER_HEARTBEAT,
        RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, BrokerRequestCode.HEART_BEAT,
        BrokerRequestCode.GET_CONSUMER_LIST_BY_GROUP, BrokerRequestCode.LOCK_BATCH_MQ,
        BrokerRequestCode.UNLOCK_BATCH_MQ,
    }
)  # fmt: skip
_VALUES: Final = frozenset({"value", "properties", "secretKey", "password", "Signature", "SecurityToken"})
_PROPERTIES_OF_SENDS: Final = "i"
_INSTEAD: Final = "(redacted)"


class Redactor:
    """Takes out what is not kept, frame by frame in their order."""

    def __init__(self) -> None:
        self._questions = Questions()

    def redacted(self, recorded: Recorded) -> Recorded:
        """Give what may be shown of it. Bytes that are no frame are left out whole but for how many there were."""
        if not recorded.is_frame:
            return _emptied(recorded)
        try:
            command = command_of(recorded.data)
        except ProtocolError:
            return _emptied(recorded)
        code = self._questions.code_of(recorded, command)
        body = command.body if code in _KEPT_BODIES else bytes(len(command.body))
        fields = _fields(command.ext_fields, is_send=code in SENDS and not command.is_response)
        if body == command.body and fields == command.ext_fields:
            return recorded
        data = encode_command(command.replaced(body=body, ext_fields=fields))
        return recorded._replace(data=data, is_redacted=True)


def is_taken_out(body: bytes) -> bool:
    """Whether a body of a redacted frame was overwritten."""
    return not any(body)


def _emptied(recorded: Recorded) -> Recorded:
    return recorded._replace(data=bytes(len(recorded.data)), is_redacted=True)


def _fields(fields: Mapping[str, str | None] | None, *, is_send: bool) -> Mapping[str, str | None] | None:
    if fields is None:
        return None
    taken = _VALUES | ({_PROPERTIES_OF_SENDS} if is_send else frozenset())
    return {name: _INSTEAD if name in taken and value else value for name, value in fields.items()}
