"""Headers of the requests about transaction messages: 37, 39, 323."""

from typing import Final

from cosmodrome.protocol.ext_fields import HeaderFields, Int32

TRANSACTION_UNKNOWN: Final = 0
TRANSACTION_COMMIT: Final = 8
TRANSACTION_ROLLBACK: Final = 12


class EndTransactionRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """37. `commit_or_rollback` is one of the TRANSACTION_ numbers; an unknown end has no answer even to a call."""

    topic: str | None = None
    producer_group: str | None = None
    tran_state_table_offset: int | None = None
    commit_log_offset: int | None = None
    commit_or_rollback: Int32 | None = None
    from_transaction_check: bool | None = None
    msg_id: str | None = None
    transaction_id: str | None = None
    bname: str | None = None


class CheckTransactionStateRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """39, oneway; its body is the half message as a store record. `topic` is that of half messages (5.x)."""

    topic: str | None = None
    tran_state_table_offset: int | None = None
    commit_log_offset: int | None = None
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None
    bname: str | None = None


class ResumeCheckHalfMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """323."""

    topic: str | None = None
    msg_id: str | None = None
