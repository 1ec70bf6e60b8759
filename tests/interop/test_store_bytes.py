"""The same messages to Apache's broker and to ours: what is on disk then is compared byte by byte.

Both stores are made from nothing, with files so small that several of each kind are filled, and closed. Of a record only
what must differ is blanked: when it was stored, the ports of both hosts, and what a broker makes up (ids, times). The order
of a property text is that of a Java hash map at Apache's (`broker-properties-in-order` in docs/compatibility.md), so
its entries are put in order before they are compared. Units of queues are compared as they are, entries of indexes without their times.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import CLUSTER, BrokerSettings
from tests.interop.rig.jars import V5_5
from tests.interop.rig.our_broker import OurBroker
from tests.interop.rig.stage import Stage
from tests.interop.store_bytes.masks import masked_index, masked_log, masked_units, records
from tests.interop.store_bytes.messages import SIZES, play
from tests.support.store_folders import StoreFolder

NAME: Final = "broker-bytes"
JAVA_ONLY: Final = {"messageDelayLevel": "1s 1s 1s", "transactionCheckInterval": "600000"}
"""What both are told, beside the sizes."""
IPV4: Final = {"java.net.preferIPv4Stack": "true"}
"""Ids that a broker makes are longer where the machine has an IPv6 address, and so would be the records."""


@pytest.fixture(scope="module")
def stores(new_stage: StageMaker, tmp_path_factory: pytest.TempPathFactory) -> tuple[StoreFolder, StoreFolder]:
    """The store of Apache's broker and ours, both closed."""
    theirs, ours = tmp_path_factory.mktemp("apache"), tmp_path_factory.mktemp("ours")
    with new_stage("store-bytes") as stage, ThreadPoolExecutor(1) as beside:
        playing = beside.submit(play_to_ours, ours)
        play_to_apache(stage, theirs)
        playing.result()
    return StoreFolder(theirs, V5_5, SIZES, ()), StoreFolder(ours, V5_5, SIZES, ())


def play_to_apache(stage: Stage, store: Path) -> None:
    paths = {"storePathRootDir": str(store), "storePathCommitLog": str(store / "commitlog")}
    config = {key: str(size) for key, size in SIZES.items()} | JAVA_ONLY | paths
    servers = [stage.name_server().address]
    apache = stage.broker(BrokerSettings(release=V5_5, name=NAME, name_servers=servers, config=config, properties=IPV4))
    apache.start()
    play(apache.address)
    apache.kill()  # what is in its maps is in its files


def play_to_ours(store: Path) -> None:
    settings: dict[str, Any] = {snake(key): value for key, value in (SIZES | JAVA_ONLY).items()}
    settings["transaction_check_interval"] = int(settings["transaction_check_interval"])
    with OurBroker(NAME, "", store=store, broker_cluster_name=CLUSTER, **settings) as broker:
        play(broker.address)


def snake(key: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in key)


def test_every_record_is_the_same_bytes(stores: tuple[StoreFolder, StoreFolder]) -> None:
    """In the same place of the log, and the fillers at the ends of its files too."""
    theirs, ours = map(masked_log, stores)
    for their_record, our_record, their_bytes, our_bytes in zip(*map(records, stores), theirs, ours, strict=False):
        assert our_bytes == their_bytes, f"{our_record}\n{their_record}"
    assert len(ours) == len(theirs) > 100
    assert len(stores[0].used("commitlog")) > 2


def test_every_unit_of_the_queues_is_the_same(stores: tuple[StoreFolder, StoreFolder]) -> None:
    theirs, ours = map(masked_units, stores)
    assert ours == theirs
    assert any(len(units) > 2 * SIZES["mappedFileSizeConsumeQueue"] // 20 for units in theirs.values())
    assert sorted(stores[1].used("consumequeue")) == sorted(stores[0].used("consumequeue"))


def test_every_entry_of_the_indexes_is_the_same(stores: tuple[StoreFolder, StoreFolder]) -> None:
    """Headers, slots, hashes, places and chains."""
    theirs, ours = map(masked_index, stores)
    assert ours == theirs
    assert len(theirs) > 3
