"""Commands that change or read NameServers themselves: KV config, permissions of brokers, settings.

Owns: their declarations.
Must not know: what they ask and print (cosmodrome.admin).
"""

from typing import Final

from cosmodrome.cli.admin.declaration import TOPIC, Declared, option, required

_NAMESPACE: Final = required("-s --namespace", "namespace", "the namespace", "NS")
_KEY: Final = required("-k --key", "key", "the key name", "KEY")
_BROKER: Final = required("-b --brokerName", "broker_name", "broker name", "NAME")

NAME_SERVER_COMMANDS: Final = (
    Declared(
        name="updateKvConfig",
        text="Create or update KV config.",
        runs="kv_config:update_kv_config",
        options=(_NAMESPACE, _KEY, required("-v --value", "value", "the key value, as it is", is_verbatim=True)),
    ),
    Declared(
        name="deleteKvConfig",
        text="Delete KV config.",
        runs="kv_config:delete_kv_config",
        options=(_NAMESPACE, _KEY),
    ),
    Declared(
        name="getKvConfig",
        text="Print one KV config. (Not in mqadmin.)",
        runs="kv_config:get_kv_config",
        options=(_NAMESPACE, _KEY),
    ),
    Declared(
        name="listKvConfig",
        text="Print all KV config of a namespace. (Not in mqadmin.)",
        runs="kv_config:list_kv_config",
        options=(_NAMESPACE,),
    ),
    Declared(
        name="wipeWritePerm",
        text="Wipe write perm of broker in all name server you defined in the -n param.",
        runs="permissions:wipe_write_perm",
        options=(_BROKER,),
    ),
    Declared(
        name="addWritePerm",
        text="Add write perm of broker in all name server you defined in the -n param.",
        runs="permissions:add_write_perm",
        options=(_BROKER,),
    ),
    Declared(
        name="updateOrderConf",
        text="Create or update or delete order conf.",
        runs="kv_config:update_order_conf",
        options=(
            TOPIC,
            option("-v --orderConf", "order_conf", "set order conf, e.g. brokerName1:num;brokerName2:num", "CONF"),
            required("-m --method", "method", "what to do", choices=("put", "get", "delete")),
        ),
    ),
    Declared(
        name="getNamesrvConfig",
        text="Get configs of name server.",
        runs="namesrv_config:get_namesrv_config",
    ),
    Declared(
        name="updateNamesrvConfig",
        text="Update configs of name server.",
        runs="namesrv_config:update_namesrv_config",
        options=(required("-k --key", "key", "config key", "KEY"), required("-v --value", "value", "config value")),
    ),
    Declared(
        name="listTopicsOfCluster",
        text="Print the topics of a cluster. (Not in mqadmin.)",
        runs="name_server_queries:topics_of_cluster",
        options=(required("-c --clusterName", "cluster", "which cluster", "NAME"),),
    ),
    Declared(
        name="listSystemTopics",
        text="Print the topics with names of clusters and brokers. (Not in mqadmin.)",
        runs="name_server_queries:system_topics",
    ),
    Declared(
        name="listUnitTopics",
        text="Print the topics that are units'. (Not in mqadmin.)",
        runs="name_server_queries:unit_topics",
    ),
    Declared(
        name="listUnitSubTopics",
        text="Print the topics that units subscribe to. (Not in mqadmin.)",
        runs="name_server_queries:unit_sub_topics",
    ),
    Declared(
        name="listUnitSubUnunitTopics",
        text="Print the topics that units subscribe to, and that are no units'. (Not in mqadmin.)",
        runs="name_server_queries:unit_sub_ununit_topics",
    ),
    Declared(
        name="getBrokerMembers",
        text="Print ids and addresses of a broker group at every NameServer. (Not in mqadmin.)",
        runs="name_server_queries:broker_members",
        options=(required("-c --clusterName", "cluster", "which cluster", "NAME"), _BROKER),
    ),
    Declared(
        name="getDataVersions",
        text="Print the version of a broker's topics at every NameServer. (Not in mqadmin.)",
        runs="name_server_queries:data_versions",
        options=(_BROKER,),
    ),
)
