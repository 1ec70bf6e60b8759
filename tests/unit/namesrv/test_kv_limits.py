"""The KV config does not grow beyond its ceilings, and says so."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosmodrome.errors import RequestRefusedError, StorageError
from cosmodrome.namesrv.kv_config import KVConfigStore, load_kv_config
from cosmodrome.namesrv.kv_limits import KVLimits, KVSize

LIMITS = KVLimits(value_bytes=10, entries=5, total_bytes=60)


@pytest.fixture
def store(tmp_path: Path) -> KVConfigStore:
    store = KVConfigStore(tmp_path / "kv.json")
    store.limits = LIMITS
    return store


async def refused(store: KVConfigStore, namespace: str, key: str, value: str) -> str:
    before = store.get(namespace, key)
    with pytest.raises(RequestRefusedError) as caught:
        await store.put(namespace, key, value)
    assert store.get(namespace, key) == before
    assert (caught.value.code, caught.value.cause) == (1, "over_limit")
    return caught.value.remark


async def test_a_value(store: KVConfigStore) -> None:
    await store.put("N", "K", "é" * 5)

    assert await refused(store, "N", "K", "é" * 5 + "x") == "a KV value of more than 10 bytes"


async def test_entries(store: KVConfigStore) -> None:
    """A namespace counts as one: it stays when it is emptied."""
    for key in "abcd":
        await store.put("N", key, "v")

    assert await refused(store, "N", "e", "v") == "the KV config holds 5 entries already"
    assert await refused(store, "M", "a", "v") == "the KV config holds 5 entries already"
    await store.put("N", "a", "other")
    await store.delete("N", "b")
    await store.put("N", "e", "v")


async def test_namespaces_without_end(store: KVConfigStore) -> None:
    for name in "abcd":
        await store.put(name, "k", "v")
        await store.delete(name, "k")

    assert await refused(store, "e", "k", "v") == "the KV config holds 5 entries already"


async def test_all_together(store: KVConfigStore) -> None:
    await store.put("N" * 20, "K" * 20, "v" * 10)

    assert await refused(store, "N" * 20, "L", "v" * 10) == "the KV config would hold more than 60 bytes"
    await store.put("N" * 20, "L", "v" * 9)
    assert await refused(store, "N" * 20, "L", "v" * 10) == "the KV config would hold more than 60 bytes"
    await store.put("N" * 20, "K" * 20, "")
    await store.put("N" * 20, "L", "v" * 10)


async def test_a_larger_file_is_read_and_may_shrink(tmp_path: Path) -> None:
    """Of an earlier run with other limits, or of a Java server: nothing of it is lost."""
    path = tmp_path / "kv.json"
    before = KVConfigStore(path)
    for number in range(20):
        await before.put("N", f"key-{number}", "a value that is too long")

    store = load_kv_config(path, 0)
    store.limits = LIMITS

    assert await refused(store, "N", "new", "v")
    await store.delete("N", "key-0")
    await store.put("N", "key-1", "short")
    assert store.get("N", "key-1") == "short"
    assert store.get("N", "key-19") == "a value that is too long"


async def test_a_write_that_fails_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    store = KVConfigStore(path)
    store.limits = KVLimits(entries=2)
    path.mkdir()
    for _ in range(5):
        with pytest.raises(StorageError):
            await store.put("N", "K", "V")
    path.rmdir()

    await store.put("N", "K", "V")


names = st.sampled_from(["a", "é", "火", "long name"])
changes = st.lists(st.tuples(st.booleans(), names, names, st.text(max_size=5)), max_size=20)


@given(changes)
async def test_the_running_count_is_the_count(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[bool, str, str, str]]
) -> None:
    store = KVConfigStore(tmp_path_factory.mktemp("kv") / "kv.json")
    for is_put, namespace, key, value in history:
        await (store.put(namespace, key, value) if is_put else store.delete(namespace, key))

    tables = {
        name: dict(store.table(name) or {})
        for name in {name for _, name, _, _ in history}
        if store.table(name) is not None
    }
    assert store.size == KVSize.of(tables)
