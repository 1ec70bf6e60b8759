"""Commands that only NameServers are asked for, about clusters, topics and routes.

Owns: their declarations.
Must not know: what they ask and print (cosmodrome.admin).
"""

from typing import Final

from cosmodrome.cli.admin.declaration import INTERVAL, TOPIC, Declared, option, required, switch


def _clients(text: str) -> list[str]:
    clients = list(dict.fromkeys(client.strip() for client in text.split(",") if client.strip()))
    if not clients:
        raise ValueError("there is no consumer in -i, for example: -i 10.0.0.1,10.0.0.2")
    return clients


ROUTE_COMMANDS: Final = (
    Declared(
        name="topicRoute",
        text="Examine topic route info.",
        runs="routes:topic_route",
        options=(TOPIC, switch("-l --list", "as_table", "Use list format to print data")),
    ),
    Declared(
        name="topicClusterList",
        text="Get cluster info for topic.",
        runs="routes:topic_cluster_list",
        options=(TOPIC,),
    ),
    Declared(
        name="clusterList",
        text="List cluster infos.",
        runs="clusters:cluster_list",
        options=(
            switch("-m --moreStats", "is_more", "Print more stats"),
            INTERVAL,
            option("-c --clusterName", "cluster", "which cluster", "NAME"),
        ),
    ),
    Declared(
        name="topicList",
        text="Fetch all topic list from name server.",
        runs="topics:listed",
        options=(
            switch("-c --clusterModel", "by_cluster", "With clusters and consumer groups (asks brokers, too)"),
            switch("--user", "user", "Topics of users"),
            switch("--system", "system", "Topics of the system, clusters and brokers"),
            switch("--retry", "retry", "Retry topics (%RETRY%)"),
            switch("--dlq", "dlq", "Dead-letter topics (%DLQ%)"),
        ),
    ),
    Declared(
        name="allocateMQ",
        text="Allocate MQ.",
        runs="routes:allocate_mq",
        options=(
            TOPIC,
            required("-i --ipList", "clients", "consumers, separated by commas", "IPS", convert=_clients),
        ),
    ),
)
