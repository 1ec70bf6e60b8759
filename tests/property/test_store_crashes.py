"""Whatever ends a store, the next start finds a prefix of what was written, with all that was acknowledged in it."""

import contextlib
import errno
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.simulated_disk import KilledError, SimulatedDisk

from cosmodrome.errors import StorageError, StoreUnavailableError
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.protocol.messages.record import decode_record
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.message_store import MessageStore
from cosmodrome.store.reading import ReadLimits, ReadStatus
from cosmodrome.store.settings import StoreSettings

ROOT = Path("/store")
HOST = encode_host("10.0.0.1", 10911)
SETTINGS = StoreSettings(
    root=ROOT, store_host=HOST, segment_bytes=4096, queue_file_bytes=200, index_slots=7, index_entries=30
)
ALL = ReadLimits(messages=1 << 30, size_bytes=1 << 40, units=1 << 20)
NOW_MS = 1_700_000_000_000
EVER = 1 << 62

Sent = tuple[str, int, bytes]


@dataclass
class Life:
    """What one process has done to a store, and what it has promised."""

    sent: list[Sent] = field(default_factory=list)
    """In the order of the log."""
    gathered: list[Sent] = field(default_factory=list)
    promised: int = 0
    """So many of them were synced."""


ACTIONS = st.lists(
    st.one_of(
        st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 1), st.integers(0, 900)), min_size=1, max_size=6),
        st.sampled_from(["sync", "checkpoint", "restart"]),
    ),
    max_size=25,
)


def live(disk: SimulatedDisk, actions: list[object], life: Life) -> None:
    """Do everything, as far as the process lives."""
    store = MessageStore.open(SETTINGS, disk)
    for at, action in enumerate(actions):
        if action == "restart":
            store.close()
            life.promised = len(life.sent)
            store = MessageStore.open(SETTINGS, disk)
        else:
            act(store, action, at, life)
    store.close()
    life.promised = len(life.sent)


def live_with_faults(disk: SimulatedDisk, actions: list[object], life: Life) -> None:
    """Do everything on a disk of which single calls fail, as a broker does: what has failed is tried again."""
    store = opened_at_last(disk)
    for at, action in enumerate(actions):
        if action == "restart":
            with contextlib.suppress(StorageError):
                store.close()
            store = opened_at_last(disk)
            life.promised = len(life.sent)
            continue
        try:
            act(store, action, at, life)
        except StoreUnavailableError:
            while store.failure is not None:
                with contextlib.suppress(StorageError):
                    store.resume()
            life.gathered.clear()
            life.promised = len(life.sent)


def opened_at_last(disk: SimulatedDisk) -> MessageStore:
    while True:
        with contextlib.suppress(StorageError):
            return MessageStore.open(SETTINGS, disk)


def act(store: MessageStore, action: object, at: int, life: Life) -> None:
    """Sync, take a checkpoint, or store the messages of one turn."""
    if action == "sync":
        store.sync()
        life.promised = len(life.sent)
    elif action == "checkpoint":
        store.checkpoint()
        life.promised = len(life.sent)
    else:
        assert isinstance(action, list)
        for topic, queue_id, size in action:
            body = f"{len(life.sent) + len(life.gathered)}.".encode().ljust(size, b"x")
            keys = f"KEYS\x01k{len(life.gathered)}\x02TAGS\x01t\x02".encode()
            store.add(NewMessage(topic, queue_id, body, keys, NOW_MS, HOST), NOW_MS + at)
            life.gathered.append((topic, queue_id, body))
        store.write()
        life.sent += life.gathered
        life.gathered.clear()


def content(store: MessageStore) -> dict[tuple[str, int], list[bytes]]:
    """Read everything through the queues, which have no gap."""
    found = {}
    for topic, ids in store.reader.queues().items():
        for queue_id in ids:
            bodies: list[bytes] = []
            while len(bodies) < store.reader.max_offset(topic, queue_id):
                result = store.reader.read((topic, queue_id), len(bodies), ALL)
                assert result.status is ReadStatus.FOUND
                for view in result.records:
                    record = decode_record(view)[0]
                    assert (record.topic, record.queue_id, record.queue_offset) == (topic, queue_id, len(bodies))
                    assert record.is_intact
                    bodies.append(record.body)
            if bodies:
                found[topic, queue_id] = bodies
    return found


def in_queues(sent: list[Sent]) -> dict[tuple[str, int], list[bytes]]:
    found: dict[tuple[str, int], list[bytes]] = {}
    for topic, queue_id, body in sent:
        found.setdefault((topic, queue_id), []).append(body)
    return found


def assert_prefix(store: MessageStore, life: Life) -> int:
    """Fail unless the store holds the first so many messages and no other, and no promise is broken; say how many."""
    found = content(store)
    count = sum(map(len, found.values()))
    assert count >= life.promised
    assert found == in_queues([*life.sent, *life.gathered][:count])
    assert not store.report.damaged
    assert not store.report.misnumbered
    return count


def assert_keys(store: MessageStore) -> None:
    """Fail unless every message is found by its key."""
    for (topic, queue_id), bodies in content(store).items():
        for offset in range(len(bodies)):
            unit = store.reader.unit(topic, queue_id, offset)
            assert unit is not None
            view = store.reader.record_at(unit.log_offset)
            assert view is not None
            record = decode_record(view)[0]
            found = store.reader.find(topic, record.properties["KEYS"], 10_000, 0, EVER)
            assert view in found


def goes_on(disk: SimulatedDisk, life: Life) -> None:
    """Fail unless a start finds a prefix, new messages go behind it, and a clean stop keeps them."""
    with MessageStore.open(SETTINGS, disk) as store:
        count = assert_prefix(store, life)
        assert_keys(store)
        kept = [*life.sent, *life.gathered][:count]
        for number in range(5):
            store.add(NewMessage("A", 0, b"new %d" % number, b"KEYS\x01n\x02", NOW_MS, HOST), NOW_MS)
            kept.append(("A", 0, b"new %d" % number))
            store.write()
        assert content(store) == in_queues(kept)
    with MessageStore.open(SETTINGS, disk) as store:
        assert store.report.is_clean
        assert store.report.records == 0, "a clean stop leaves nothing to read"
        assert content(store) == in_queues(kept)
        assert_keys(store)


@given(ACTIONS, st.integers(0, 400), st.integers(0, 8), st.randoms(use_true_random=False))
def test_b001_a_power_cut_leaves_a_prefix_with_all_that_was_acknowledged(
    actions: list[object], last_call: int, part: int, random: Random
) -> None:
    disk, life = SimulatedDisk(), Life()
    disk.last_call, disk.part_in_8 = last_call, part
    with contextlib.suppress(KilledError):
        live(disk, actions, life)

    goes_on(disk.after_power_cut(random.randrange), life)


@given(ACTIONS, st.integers(0, 400), st.integers(0, 8))
def test_b001_a_killed_process_loses_nothing_that_was_written(actions: list[object], last_call: int, part: int) -> None:
    disk, life = SimulatedDisk(), Life()
    disk.last_call, disk.part_in_8 = last_call, part
    with contextlib.suppress(KilledError):
        live(disk, actions, life)
    life.promised = len(life.sent)

    goes_on(disk.after_kill(), life)


@given(ACTIONS, st.integers(0, 200), st.integers(0, 200), st.randoms(use_true_random=False))
def test_a_power_cut_during_recovery_changes_nothing(
    actions: list[object], last_call: int, second_call: int, random: Random
) -> None:
    disk, life = SimulatedDisk(), Life()
    disk.last_call = last_call
    with contextlib.suppress(KilledError):
        live(disk, actions, life)
    disk = disk.after_power_cut(random.randrange)
    disk.last_call = second_call
    try:
        with MessageStore.open(SETTINGS, disk) as store:
            life.promised = max(life.promised, assert_prefix(store, life))
    except KilledError:
        pass

    goes_on(disk.after_power_cut(random.randrange), life)


@given(ACTIONS, st.sets(st.integers(0, 200), max_size=40), st.integers(0, 300), st.randoms(use_true_random=False))
def test_b009_a_disk_that_fails_now_and_then_loses_nothing_that_was_acknowledged(
    actions: list[object], failing: set[int], last_call: int, random: Random
) -> None:
    """With a power cut in the end."""
    disk, life = SimulatedDisk(), Life()
    disk.fails = lambda _, __: errno.EIO if disk.calls in failing else None
    disk.last_call, disk.part_in_8 = last_call, random.randrange(9)
    with contextlib.suppress(KilledError):
        live_with_faults(disk, actions, life)

    goes_on(disk.after_power_cut(random.randrange), life)


TURNS: list[object] = [
    [("A", 0, 5), ("B", 1, 700)], [("A", 0, 900)], "sync", [("A", 0, 30), ("A", 1, 30), ("B", 0, 800)],
    [("B", 1, 10), ("B", 1, 500), ("A", 0, 10)], "checkpoint", [("A", 0, 600), ("A", 0, 600), ("A", 0, 600)],
    [("A", 0, 5)] * 6, "sync", [("A", 1, 700)] * 5, "restart", [("A", 0, 300)] * 6, [("B", 0, 40)] * 6,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_disk_failing", [False, True])
def test_b001_the_power_may_go_at_every_call(seed: int, *, is_disk_failing: bool) -> None:
    """One life, cut off at each call in turn; every failing disk fails elsewhere."""
    last_call = 0
    while True:
        random = Random(1000 * last_call + seed)
        disk, life = SimulatedDisk(), Life()
        failing = {random.randrange(200) for _ in range(6)} if is_disk_failing else set[int]()
        disk.fails = lambda _, __, disk=disk, failing=failing: errno.EIO if disk.calls in failing else None  # type: ignore[misc]
        disk.last_call, disk.part_in_8 = last_call, random.randrange(9)
        try:
            live_with_faults(disk, TURNS, life)
        except KilledError:
            goes_on(disk.after_power_cut(random.randrange), life)
            last_call += 1
        else:
            break
    assert last_call > 100
