"""Routes of one zone only, for clients that ask for it (5.x).

Owns: which brokers, queues and filter servers remain.
Must not know: how a client asks.
"""

import msgspec

from cosmodrome.protocol.bodies.route import MASTER_ID, BrokerData, TopicRouteData


def in_zone(route: TopicRouteData, zone_name: str) -> TopicRouteData:
    """Give the route without the brokers of other zones; names are compared without regard to case.

    A group without a master stays whatever its zone, so that its messages can still be read.
    """
    wanted = zone_name.lower()
    kept: list[BrokerData] = []
    dropped: list[BrokerData] = []
    for data in route.broker_datas:
        is_near = MASTER_ID not in data.broker_addrs or (data.zone_name or "").lower() == wanted
        (kept if is_near else dropped).append(data)
    if not dropped:
        return route
    names = {data.broker_name for data in dropped}
    addrs = {addr for data in dropped for addr in data.broker_addrs.values()}
    return msgspec.structs.replace(
        route,
        broker_datas=tuple(kept),
        queue_datas=tuple(data for data in route.queue_datas if data.broker_name not in names),
        filter_server_table={addr: servers for addr, servers in route.filter_server_table.items() if addr not in addrs},
    )
