"""Who is alive until when, and over which connection."""

import pytest
from tests.support.builders import version

from cosmodrome.namesrv.routing.broker_live import BrokerKey, BrokerLive, BrokerLiveInfo
from cosmodrome.namesrv.routing.effects import ConnectionId


def info(addr: str = "x", *, name: str = "a", cluster: str = "C", connection: int = 1, last: int = 0) -> BrokerLiveInfo:
    return BrokerLiveInfo(
        key=BrokerKey(cluster, addr),
        broker_name=name,
        connection=ConnectionId(connection),
        last_update_ms=last,
        heartbeat_timeout_ms=100,
        data_version=version(),
        ha_server_addr="",
    )


@pytest.mark.parametrize(("now_ms", "expired"), [(0, False), (100, False), (101, True)])
def test_silence(now_ms: int, *, expired: bool) -> None:
    """Longer than it said, not just as long."""
    assert info().is_expired(now_ms) is expired


def test_timeouts_of_nothing_or_less_expire_at_once() -> None:
    one = info(last=5)
    one.heartbeat_timeout_ms = -1

    assert one.is_expired(5)


def test_indexes() -> None:
    live = BrokerLive()
    x, y = info("x"), info("y", name="b", connection=2)
    live.put(x)
    live.put(y)

    assert len(live) == 2
    assert list(live) == [x, y]
    assert live.get(x.key) is x
    assert live.get(BrokerKey("D", "x")) is None
    assert live.of_connection(ConnectionId(1)) == [x]
    assert live.of_address("a", "x") == [x]
    assert live.of_address("b", "x") == []
    assert live.has_connection(ConnectionId(2))
    assert not live.has_connection(ConnectionId(3))
    assert live.expired(101) == [x, y]


def test_an_address_that_comes_again_replaces_what_was_known() -> None:
    live = BrokerLive()
    live.put(info())
    again = info(name="b", connection=2)
    live.put(again)

    assert list(live) == [again]
    assert live.of_connection(ConnectionId(1)) == []
    assert live.of_address("a", "x") == []
    assert live.of_address("b", "x") == [again]


def test_removal() -> None:
    live = BrokerLive()
    live.put(info())
    live.put_filter_servers(BrokerKey("C", "x"), ("f",))

    assert live.remove(BrokerKey("C", "x")) is not None
    assert live.remove(BrokerKey("C", "x")) is None
    assert live.filter_servers(BrokerKey("C", "x")) is None
    assert not live.has_connection(ConnectionId(1))


def test_a_heartbeat_from_another_connection() -> None:
    live = BrokerLive()
    one = info()
    live.put(one)

    live.renew(one, ConnectionId(2), 50)
    live.renew(one, ConnectionId(2), 60)

    assert one.last_update_ms == 60
    assert live.of_connection(ConnectionId(1)) == []
    assert live.of_connection(ConnectionId(2)) == [one]


def test_the_same_address_in_two_clusters() -> None:
    live = BrokerLive()
    live.put(info())
    live.put(info(cluster="D"))

    assert [one.key.cluster for one in live.of_address("a", "x")] == ["C", "D"]


def test_filter_servers() -> None:
    """None leaves them, empty removes them."""
    live, key = BrokerLive(), BrokerKey("C", "x")

    assert not live.put_filter_servers(key, None)
    assert not live.put_filter_servers(key, ())
    assert live.put_filter_servers(key, ("f",))
    assert not live.put_filter_servers(key, ("f",))
    assert not live.put_filter_servers(key, None)
    assert live.filter_servers(key) == ("f",)
    assert live.put_filter_servers(key, ())
    assert live.filter_servers(key) is None
