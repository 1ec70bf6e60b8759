"""Which answers are worth another try, elsewhere.

Owns: the list.
Must not know: how often, or where.
"""

from typing import Final

from cosmodrome.client.credentials import is_about_credentials
from cosmodrome.protocol.codes import ResponseCode

ACCEPTED: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
"""The message is stored."""

PASSING: Final = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.GO_AWAY,
    }
)
"""Another broker, or the same a moment later, may accept the message. All others are final."""


def is_passing(code: int, remark: str | None) -> bool:
    """Tell whether a refused message should be tried again. Credentials do not get better by trying."""
    return code in PASSING and not is_about_credentials(code, remark)
