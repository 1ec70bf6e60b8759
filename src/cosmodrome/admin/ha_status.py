"""haStatus: how replication stands, on masters and on slaves.

Owns: its layout.
Must not know: how brokers are found and asked (brokers.py).
"""

import asyncio
from typing import Final

from cosmodrome.admin.brokers import Brokers, Place, conclude_brokers
from cosmodrome.admin.moments import local_ms, rfc3339
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, Row
from cosmodrome.admin.settings_text import java, rounded
from cosmodrome.protocol.bodies.broker_stats import HaClientRuntimeInfo, HaRuntimeInfo
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.shown_text import shown


async def ha_status(
    servers: NameServers, output: Output, *, broker_addr: str | None, cluster: str | None, interval_s: float | None
) -> int:
    """Print the state of one broker or of all masters of a cluster: once, or until the process is interrupted.

    Raises:
        MissingError: There is no such cluster.
    """
    brokers = Brokers(servers, output)

    async def read(place: Place) -> HaRuntimeInfo:
        return await brokers.read(place.address, BrokerRequestCode.GET_BROKER_HA_STATUS, None, HaRuntimeInfo)

    while True:
        places = await brokers.chosen(broker_addr, cluster)
        outcomes = await brokers.each(places, read)
        for place, outcome in zip(places, outcomes, strict=True):
            info = outcome.value
            facts = {} if info is None else _facts(info)
            output.row(outcome.row(broker_name=place.name or None, **facts))
            if info is not None:
                output.text(*(_master_lines(place.address, info) if info.master else _slave_lines(info)))
        output.end("brokers")
        code = conclude_brokers(output, outcomes, is_change=False)
        if interval_s is None:
            return code
        output.flush()
        await asyncio.sleep(interval_s)


_SLAVE_HEAD: Final = (
    f"{'#SlaveAddr':<32}  {'#SlaveAckOffset':<16} {'#Diff':>16} {'#TransferSpeed(KB/s)':>16} {'#Status':>16} "
    f"{'#TransferFromWhere':>16}"
)


def _master_lines(address: str, info: HaRuntimeInfo) -> list[str]:
    return [
        "",
        f"#MasterAddr\t{address}",
        f"#MasterCommitLogMaxOffset\t{info.master_commit_log_max_offset}",
        f"#SlaveNum\t{len(info.ha_connection_info)}",
        f"#InSyncSlaveNum\t{info.in_sync_slave_nums}",
        _SLAVE_HEAD,
        *(
            f"{shown(java(each.addr)):<32}  {each.slave_ack_offset:<16} {each.diff:>16} "
            f"{rounded(each.transferred_byte_in_second / 1024, 2):>16} {'OK' if each.in_sync else 'Fall Behind':>16} "
            f"{each.transfer_from_where:>16}"
            for each in info.ha_connection_info
        ),
    ]


def _slave_lines(info: HaRuntimeInfo) -> list[str]:
    client = info.ha_client_runtime_info or HaClientRuntimeInfo()
    return [
        "",
        f"#MasterAddr\t{shown(java(client.master_addr))}",
        f"#CommitLogMaxOffset\t{client.max_offset}",
        f"#TransferSpeed(KB/s)\t{rounded(client.transferred_byte_in_second / 1024, 2)}",
        f"#LastReadTime\t{local_ms(client.last_read_timestamp)}",
        f"#LastWriteTime\t{local_ms(client.last_write_timestamp)}",
        f"#MasterFlushOffset\t{client.master_flush_offset}",
    ]


def _facts(info: HaRuntimeInfo) -> Row:
    if info.master:
        slaves = [
            {
                "address": each.addr,
                "ack_offset": each.slave_ack_offset,
                "diff": each.diff,
                "bytes_per_second": each.transferred_byte_in_second,
                "is_in_sync": each.in_sync,
                "transfer_from": each.transfer_from_where,
            }
            for each in info.ha_connection_info
        ]
        return {
            "is_master": True,
            "commit_log_max_offset": info.master_commit_log_max_offset,
            "in_sync_slaves": info.in_sync_slave_nums,
            "slaves": slaves,
        }
    client = info.ha_client_runtime_info or HaClientRuntimeInfo()
    return {
        "is_master": False,
        "master_address": client.master_addr,
        "commit_log_max_offset": client.max_offset,
        "bytes_per_second": client.transferred_byte_in_second,
        "last_read_time": rfc3339(client.last_read_timestamp),
        "last_write_time": rfc3339(client.last_write_timestamp),
        "master_flush_offset": client.master_flush_offset,
    }
