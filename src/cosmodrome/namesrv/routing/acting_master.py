"""A slave shown as master while its group has none (5.x, `supportActingMaster`).

Owns: which routes are rewritten, and how.
Must not know: when it is switched on.
"""

import msgspec

from cosmodrome.protocol.bodies.route import MASTER_ID, PERM_WRITE, BrokerData, TopicRouteData

SYNC_BROKER_MEMBER_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"
"""Brokers ask for the route of this prefix plus a broker name to learn the true ids of a group."""


def with_acting_masters(topic: str, route: TopicRouteData) -> TopicRouteData:
    """Give the route in which the smallest slave of each masterless acting-master group has id 0.

    Groups whose queues are still writable are left alone, and so are the topics by which brokers ask for ids.
    """
    if topic.startswith(SYNC_BROKER_MEMBER_PREFIX):
        return route
    read_only = {data.broker_name for data in route.queue_datas if not data.perm & PERM_WRITE}
    brokers = tuple(_promoted(data) if data.broker_name in read_only else data for data in route.broker_datas)
    return route if brokers == route.broker_datas else msgspec.structs.replace(route, broker_datas=brokers)


def _promoted(data: BrokerData) -> BrokerData:
    if MASTER_ID in data.broker_addrs or not data.broker_addrs or not data.enable_acting_master:
        return data
    smallest = min(data.broker_addrs)
    addrs = {MASTER_ID: data.broker_addrs[smallest]}
    addrs.update((id_, addr) for id_, addr in data.broker_addrs.items() if id_ != smallest)
    return msgspec.structs.replace(data, broker_addrs=addrs)
