"""Commands that have brokers clean up: cleanExpiredCQ, deleteExpiredCommitLog, cleanUnusedTopic.

Owns: their texts.
Must not know: how brokers are found and asked (brokers.py).
"""

from cosmodrome.admin.brokers import Brokers, conclude_brokers
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.protocol.codes import BrokerRequestCode


async def clean_expired_cq(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None
) -> int:
    """Have consume queues cleaned of entries whose messages are gone. Raises as Brokers.chosen."""
    return await _clean(
        Brokers(servers, output), output, (broker_addr, cluster), BrokerRequestCode.CLEAN_EXPIRED_CONSUMEQUEUE
    )


async def delete_expired_commit_log(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None
) -> int:
    """Have files of the commit log deleted whose time is over. Raises as Brokers.chosen."""
    return await _clean(
        Brokers(servers, output), output, (broker_addr, cluster), BrokerRequestCode.DELETE_EXPIRED_COMMITLOG
    )


async def clean_unused_topic(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None
) -> int:
    """Have queues deleted whose topics are gone. Raises as Brokers.chosen."""
    return await _clean(Brokers(servers, output), output, (broker_addr, cluster), BrokerRequestCode.CLEAN_UNUSED_TOPIC)


async def _clean(
    brokers: Brokers, output: Output, where: tuple[str | None, str | None], code: BrokerRequestCode
) -> int:
    """Have one broker clean up, or all of a cluster, slaves included, or all of all clusters."""
    places = await brokers.chosen(*where, with_slaves=True)
    outcomes = await brokers.each_asked(places, code)
    for place, outcome in zip(places, outcomes, strict=True):
        output.row(outcome.row(broker_name=place.name or None))
    exit_code = conclude_brokers(output, outcomes)
    output.confirm("false" if exit_code else "success")
    output.end("brokers")
    return exit_code
