"""Commands about KV config and order configuration.

Owns: their layouts and texts.
Must not know: how a server is asked.
"""

from cosmodrome.admin.name_servers import NameServers, conclude, say_done
from cosmodrome.admin.output import Output
from cosmodrome.client.name_server import ORDER_TOPIC_CONFIG
from cosmodrome.errors import UsageError
from cosmodrome.shown_text import shown


async def update_kv_config(servers: NameServers, output: Output, namespace: str, key: str, value: str) -> int:
    """Store a value on all NameServers."""
    outcomes = await servers.each(lambda server: server.kv_put(namespace, key, value))
    say_done(output, outcomes, "create or update kv config to namespace success.", namespace=namespace, key=key)
    return conclude(output, outcomes)


async def delete_kv_config(servers: NameServers, output: Output, namespace: str, key: str) -> int:
    """Remove a value from all NameServers; none to remove is no error."""
    outcomes = await servers.each(lambda server: server.kv_delete(namespace, key))
    say_done(output, outcomes, "delete kv config from namespace success.", namespace=namespace, key=key)
    return conclude(output, outcomes)


async def get_kv_config(servers: NameServers, output: Output, namespace: str, key: str) -> int:
    """Print a value as it is."""
    value = await servers.first(lambda server: server.kv_get(namespace, key))
    output.text(value)
    output.document({"namespace": namespace, "key": key, "value": value})
    return 0


async def list_kv_config(servers: NameServers, output: Output, namespace: str) -> int:
    """Print all keys and values of a namespace."""
    table = await servers.first(lambda server: server.kv_list(namespace))
    output.text(f"{'#Key':<48}  #Value")
    for key, value in sorted(table.items()):
        output.row({"key": key, "value": value}, f"{shown(key):<48}  {shown(value)}")
    output.end("entries", namespace=namespace)
    return 0


async def update_order_conf(
    servers: NameServers, output: Output, *, topic: str, order_conf: str | None, method: str
) -> int:
    """Store, print or remove the order configuration of a topic, as `method` says: put, get or delete.

    Raises:
        UsageError: There is nothing to be stored.
    """
    if method == "get":
        return await get_order_conf(servers, output, topic)
    if method == "delete":
        return await delete_order_conf(servers, output, topic)
    if not order_conf:
        raise UsageError("please set orderConf with option -v.", remedy="for example: -v 'broker-a:4;broker-b:4'")
    return await put_order_conf(servers, output, topic, order_conf)


async def put_order_conf(servers: NameServers, output: Output, topic: str, order_conf: str) -> int:
    """Store the order configuration of a topic on all NameServers."""
    outcomes = await servers.each(lambda server: server.kv_put(ORDER_TOPIC_CONFIG, topic, order_conf))
    say_done(output, outcomes, f"update orderConf success. topic=[{topic}], orderConf=[{order_conf}]", topic=topic)
    return conclude(output, outcomes)


async def get_order_conf(servers: NameServers, output: Output, topic: str) -> int:
    """Print the order configuration of a topic."""
    order_conf = await servers.first(lambda server: server.kv_get(ORDER_TOPIC_CONFIG, topic))
    output.text(f"get orderConf success. topic=[{topic}], orderConf=[{shown(order_conf)}] ")
    output.document({"topic": topic, "order_conf": order_conf})
    return 0


async def delete_order_conf(servers: NameServers, output: Output, topic: str) -> int:
    """Remove the order configuration of a topic from all NameServers."""
    outcomes = await servers.each(lambda server: server.kv_delete(ORDER_TOPIC_CONFIG, topic))
    say_done(output, outcomes, f"delete orderConf success. topic=[{topic}]", topic=topic)
    return conclude(output, outcomes)
