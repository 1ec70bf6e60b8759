"""consumerStatus: what the members of a consumer group say about themselves, and whether they agree.

Owns: its layout; the files that it leaves, as mqadmin does.
Must not know: how brokers are found and asked (brokers.py).
"""

import re
import time
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from cosmodrome.admin.brokers import Brokers
from cosmodrome.admin.config_files import write_export
from cosmodrome.admin.connections import online_consumers
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, Row, snake_case
from cosmodrome.admin.running_info_text import running_info_text
from cosmodrome.client.admin.reach import RELAYED_S, read_with
from cosmodrome.errors import AdminError, AnswerError, RemotingError
from cosmodrome.protocol.bodies.consumer_running_info import (
    PROP_CONSUME_ORDERLY,
    PROP_CONSUME_TYPE,
    PROP_CONSUMER_START_TIMESTAMP,
    ConsumerRunningInfo,
)
from cosmodrome.protocol.bodies.consumers import Connection
from cosmodrome.protocol.codes import BrokerRequestCode
from cosmodrome.protocol.headers.relays import GetConsumerRunningInfoRequestHeader
from cosmodrome.protocol.json_structs import decode_body
from cosmodrome.protocol.versions import version_name
from cosmodrome.shown_text import shown

_SETTLED_MS: Final = 120_000
"""Subscriptions of members that began later may differ for a while."""
_STUCK_MS: Final = 60_000
_NOT_IN_NAMES: Final = re.compile(r"[^\w@.#+-]|^\.+")


async def consumer_status(
    servers: NameServers, output: Output, *, group: str, client_id: str | None, **given: str | bool | None
) -> int:
    """Print what one member says, or write it into a file for each member and print a list.

    `given` has broker_addr, and jstack: whether stacks of threads are asked for, too.

    Raises:
        MissingError: No consumer of the group is online.
    """
    brokers = Brokers(servers, output)
    broker_addr = given["broker_addr"]
    address, found = await online_consumers(brokers, group, None if broker_addr is None else str(broker_addr))

    wanted = [each for each in found.connection_set if client_id in (None, each.client_id)]
    header = GetConsumerRunningInfoRequestHeader(consumer_group=group, jstack_enable=bool(given["jstack"]))
    if client_id is not None:
        info = await brokers.one(address, _running_info(brokers, address, header, client_id))
        output.text(running_info_text(info).removesuffix("\n"))
        output.document({"group": group, "client_id": client_id, **_facts(info)})
        return 0
    infos, errors = await _all_infos(brokers, address, header, wanted)
    _print_members(output, wanted, infos)
    for error in errors:
        output.error(error)
    output.end("members", group=group)
    if infos:
        output.text(*_verdict(infos, time.time_ns() // 1_000_000))
    return (1 if infos else errors[0].exit_code) if errors else 0


async def _all_infos(
    brokers: Brokers, address: str, header: GetConsumerRunningInfoRequestHeader, members: Iterable[Connection]
) -> tuple[dict[str, ConsumerRunningInfo], list[AdminError]]:
    infos: dict[str, ConsumerRunningInfo] = {}
    errors = []
    for client in dict.fromkeys(each.client_id for each in members):
        try:
            infos[client] = await _running_info(brokers, address, header, client)
        except (RemotingError, AnswerError) as error:
            errors.append(await brokers.explained(address, error))
    return infos, errors


async def _running_info(
    brokers: Brokers, address: str, header: GetConsumerRunningInfoRequestHeader, client_id: str
) -> ConsumerRunningInfo:
    code = BrokerRequestCode.GET_CONSUMER_RUNNING_INFO
    asked = msgspec.structs.replace(header, client_id=client_id)
    answer = await brokers.ask(address, code, asked, timeout_s=RELAYED_S)
    return read_with(address, lambda body: decode_body(ConsumerRunningInfo, body), answer)


def _print_members(output: Output, members: Iterable[Connection], infos: Mapping[str, ConsumerRunningInfo]) -> None:
    output.text(f"{'#Index':<10} {'#ClientId':<40} {'#Version':<20} #ConsumerRunningInfoFile")
    folder = str(time.time_ns() // 1_000_000)
    told = [each for each in members if each.client_id in infos]
    for number, each in enumerate(told, 1):
        info = infos[each.client_id]
        path = ""
        if output.is_text:
            # The name comes from the wire: it must not lead out of the folder.
            path = write_export(folder, _NOT_IN_NAMES.sub("_", each.client_id) or "_", running_info_text(info))
        output.row(
            {"client_id": each.client_id, "version": version_name(each.version), **_facts(info)},
            f"{number:<10} {shown(each.client_id):<40} {version_name(each.version):<20} {shown(path)}",
        )


def _facts(info: ConsumerRunningInfo) -> Row:
    """Give what a consumer says as JSON, its queues as a list."""
    return {
        "properties": dict(info.properties),
        "subscriptions": snake_case(info.subscription_set),
        "queues": [{**snake_case(queue), **snake_case(each)} for queue, each in info.mq_table.items()],
        "pop_queues": [{**snake_case(queue), **snake_case(each)} for queue, each in (info.mq_pop_table or {}).items()],
        "rates": snake_case(info.status_table),
        "user_info": info.user_consumer_info,
        "jstack": info.jstack,
    }


def _verdict(infos: Mapping[str, ConsumerRunningInfo], now_ms: int) -> list[str]:
    ordered = [infos[client] for client in sorted(infos)]
    if not _have_same_subscriptions(ordered, now_ms):
        return ["", "", "WARN: Different subscription in the same group of consumer!!!"]
    lines = ["", "", "Same subscription in the same group of consumer", "", "Rebalance OK"]
    return lines + [line for client in sorted(infos) for line in _complaints(client, infos[client], now_ms)]


def _have_same_subscriptions(infos: list[ConsumerRunningInfo], now_ms: int) -> bool:
    """Compare what members subscribe to; their versions are times, and always differ."""
    start = infos[0].properties.get(PROP_CONSUMER_START_TIMESTAMP, "")
    has_settled = start.isascii() and start.isdigit() and now_ms - int(start) > _SETTLED_MS
    if not _is_push(infos[0]) or not has_settled:
        return True
    sets = [{(data.topic, data.expression_type, data.sub_string) for data in info.subscription_set} for info in infos]
    return all(each == sets[0] for each in sets)


def _is_push(info: ConsumerRunningInfo) -> bool:
    return info.properties.get(PROP_CONSUME_TYPE) == "CONSUME_PASSIVELY"


def _complaints(client: str, info: ConsumerRunningInfo, now_ms: int) -> Iterable[str]:
    if not _is_push(info):
        return
    is_orderly = info.properties.get(PROP_CONSUME_ORDERLY, "").lower() == "true"
    for queue, each in info.mq_table.items():
        place = shown(
            f"{client} MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"
        )
        idle_ms = now_ms - each.last_consume_timestamp
        if is_orderly and not each.locked:
            yield f"{place} can't lock for a while, {now_ms - each.last_lock_timestamp}ms"
        elif is_orderly and each.droped and each.try_unlock_times > 0:
            yield f"{place} unlock {each.try_unlock_times} times, still failed"
        elif not is_orderly and idle_ms > _STUCK_MS and each.cached_msg_count > 0:
            yield f"{place} can't consume for a while, maybe blocked, {idle_ms}ms"
