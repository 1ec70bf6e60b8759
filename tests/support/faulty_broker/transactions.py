"""Half messages.

Owns: which are open, their ends (37) and checks (39).
Must not know: how messages arrive.
"""

from collections.abc import Callable

from tests.support.faulty_broker.journal import Reply
from tests.support.faulty_broker.line import Line, Under
from tests.support.faulty_broker.records import COMMITTED, TRANSACTION_BITS, Record
from tests.support.faulty_broker.rules import RefusedError, Release
from tests.support.faulty_broker.sending import Sends
from tests.support.faulty_broker.store import HALF, MemoryStore

COMMIT = 8
ROLLBACK = 12


class Transactions:
    """Half messages by the sender's id; the newest copy of each is the one that is checked."""

    def __init__(self, store: MemoryStore, release: Release, sends: Sends) -> None:
        self._store = store
        self._release = release
        self._sends = sends
        self.open: dict[str, Record] = {}
        self.on_half: Callable[[str], None] = lambda _: None
        """Told of each new half message."""
        self.ended: list[tuple[str, int]] = []
        """(id, 8 or 12) for each end that was obeyed, in order."""

    def half(self, draft: Record) -> Record:
        """Park a half message."""
        own = {"__transactionId__": draft.unique_key} if self._release.is_5 else {}
        parked = draft.with_properties(REAL_TOPIC=draft.topic, REAL_QID=str(draft.queue_id), **own)
        parked = parked.changed(topic=HALF, queue_id=0, sys_flag=draft.sys_flag & ~TRANSACTION_BITS)
        stored = self._sends.keep(parked)
        self.open[stored.unique_key] = stored
        self.on_half(stored.unique_key)
        return stored

    def end(self, under: Under) -> Reply | None:
        """37: commit, roll back, or (0) nothing, which is not even answered."""
        ext = under.arrival.ext
        decision, offset = int(ext["commitOrRollback"]), int(ext["commitLogOffset"])
        if decision == 0:
            return None
        if decision not in (COMMIT, ROLLBACK):
            raise RefusedError(1, f"RemotingCommandException: commitOrRollback field wrong, {decision}")
        found = self._store.at(offset)
        if found is None or found.topic != HALF:
            raise RefusedError(1, "Find prepared transaction message failed")
        named = found.named
        if named.get("PGROUP") != ext.get("producerGroup"):
            raise RefusedError(1, "The producer group wrong")
        if found.queue_offset != int(ext["tranStateTableOffset"]):
            raise RefusedError(1, "The transaction state table offset wrong")
        self.open.pop(found.unique_key, None)
        self.ended.append((found.unique_key, decision))
        if decision == ROLLBACK:
            return Reply(0, "not set any response code")
        real = found.changed(
            topic=named["REAL_TOPIC"],
            queue_id=int(named["REAL_QID"]),
            sys_flag=found.sys_flag | COMMITTED,
            prepared_offset=found.offset,
        )
        self._sends.keep(real.with_properties(REAL_TOPIC=None, REAL_QID=None) if self._release.is_5 else real)
        return Reply(0)

    def check(self, unique_key: str, line: Line, group: str | None = None) -> Record:
        """Send CHECK_TRANSACTION_STATE for an open half message, as a new copy of it; `group` is shown instead of its own."""
        half = self.open[unique_key]
        times = int(half.named.get("TRANSACTION_CHECK_TIMES", "0")) + 1
        copy = self._sends.keep(half.with_properties(TRANSACTION_CHECK_TIMES=str(times), WAIT="false"))
        self.open[unique_key] = copy
        named = copy.named
        shown = copy.changed(topic=named["REAL_TOPIC"], queue_id=int(named["REAL_QID"]), store_ms=half.store_ms)
        fields = {
            "tranStateTableOffset": str(copy.queue_offset),
            "commitLogOffset": str(copy.offset),
            "msgId": unique_key,
            "transactionId": unique_key,
            "offsetMsgId": copy.msg_id,
        }
        own = {"topic": HALF} if self._release.is_5 else {}
        if group is not None:
            shown = shown.with_properties(PGROUP=group)
        line.send(39, fields | own, shown.encode())
        return copy
