"""The mqadmin commands that talk to the NameServer, in the order in which they are run.

Owns: each command line, by the name of its test; what it must print to have worked; which lines of its
output can be compared. Later commands see what earlier ones have made.
Must not know: which servers run it (test_mqadmin.py).

Not here: `startMonitoring`, which never ends and prints nothing; `addBroker` and the controller commands,
which need programs that the rig does not start.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.interop.mqadmin_outputs import (
    columns,
    names_only,
    progress_of_topics,
    settings,
    settings_of_4x,
    unordered,
    unordered_without_figures,
    whole,
)
from tests.interop.rig.brokers import CLUSTER
from tests.interop.rig.jars import V4_9, V5_5

BROKER: Final = "broker-admin"
ONLINE_GROUP: Final = "rig-online"
"""Of a producer and a consumer of the topic `Held` that stay online while the commands run."""
HELD_TOPIC: Final = "Held"
BOTH: Final = frozenset({V5_5, V4_9})
ONLY_5: Final = frozenset({V5_5})
ONLY_4: Final = frozenset({V4_9})


@dataclass(frozen=True, slots=True)
class Command:
    """One run of mqadmin."""

    name: str
    line: str
    """As typed, without `-n`; `{address}` is the broker's, `{folder}` the one of fill_folder."""
    says: str = ""
    """A part of its output that shows it did what it is for, or failed as expected."""
    view: Callable[[str], object] = whole
    """What of its output must be equal, see mqadmin_outputs.py."""
    releases: frozenset[str] = BOTH

    def words(self, places: Mapping[str, str]) -> Sequence[str]:
        """Return the words of the line with its places filled in."""
        return [word.format_map(places) for word in self.line.split(" ")]

    def expectation(self, places: Mapping[str, str]) -> str:
        """Return what the output must hold, its places filled in."""
        return re.sub(r"\{(address|cluster|folder)\}", lambda place: places[place[1]], self.says)


_CLUSTERS: Final = (
    Command("cluster-list", "clusterList", "broker-admin", columns(5)),
    Command("cluster-list-more", "clusterList -m", "broker-admin", columns(2)),
)

_TOPICS: Final = (
    Command(
        "update-topic-b", "updateTopic -b {address} -t Direct -r 4 -w 4 -p 6", "create topic to {address} success."
    ),
    Command("update-topic-c", "updateTopic -c {cluster} -t Clustered -r 4 -w 4", "create topic to {address} success."),
    Command("update-topic-held", "updateTopic -c {cluster} -t Held -r 1 -w 1", "create topic to {address} success."),
    Command("update-topic-unit", "updateTopic -c {cluster} -t Unit -r 1 -w 1 -u true -s true", "success."),
    Command(
        "update-topic-c-ordered",
        "updateTopic -c {cluster} -t Ordered -r 4 -w 4 -o true",
        "set cluster orderConf. isOrder=true, orderConf=[broker-admin:4]",
    ),
    Command(
        "update-topic-b-ordered",
        "updateTopic -b {address} -t Ordered -r 4 -w 4 -o true",
        "set broker orderConf. isOrder=true, orderConf=[broker-admin:4]",
    ),
    Command("update-topic-list-b", "updateTopicList -b {address} -f {folder}/topics.json", "success", releases=ONLY_5),
    Command("update-topic-list-c", "updateTopicList -c {cluster} -f {folder}/topics.json", "success", releases=ONLY_5),
    Command("topic-route-from-list", "topicRoute -t Listed2", '"readQueueNums":3', releases=ONLY_5),
    Command("topic-route", "topicRoute -t Direct", '"readQueueNums":4'),
    Command("topic-route-table", "topicRoute -t Direct -l", "{address}"),
    Command("topic-route-unit", "topicRoute -t Unit", '"topicSysFlag":3'),
    Command("topic-route-unknown", "topicRoute -t NoSuchTopic", "CODE: 17"),
    Command("topic-list", "topicList", "Direct", unordered),
    Command("topic-list-by-cluster", "topicList -c", "{cluster}", unordered),
    Command("topic-cluster-list", "topicClusterList -t Direct", "{cluster}"),
    Command("update-topic-perm-b", "updateTopicPerm -b {address} -t Direct -p 4", "from 6 to 4 in {address} success."),
    Command("topic-route-perm-b", "topicRoute -t Direct", '"perm":4'),
    Command("update-topic-perm-c", "updateTopicPerm -c {cluster} -t Direct -p 2", "from 4 to 2 in {address} success."),
    Command("topic-route-perm-c", "topicRoute -t Direct", '"perm":2'),
)

_KV: Final = (
    Command("order-conf-put", "updateOrderConf -m put -t Conf -v broker-admin:4", "update orderConf success."),
    Command("order-conf-get", "updateOrderConf -m get -t Conf", "orderConf=[broker-admin:4]"),
    Command("order-conf-delete", "updateOrderConf -m delete -t Conf", "delete orderConf success."),
    Command("order-conf-get-unknown", "updateOrderConf -m get -t Conf", "CODE: 22"),
    Command("kv-put", "updateKvConfig -s RIG_NS -k key1 -v value1", "create or update kv config to namespace success."),
    Command("kv-delete", "deleteKvConfig -s RIG_NS -k key1", "delete kv config from namespace success."),
    Command("kv-delete-unknown", "deleteKvConfig -s RIG_NS -k key1", "delete kv config from namespace success."),
)

_CONFIG: Final = (
    Command("namesrv-config", "getNamesrvConfig", "listenPort", settings, ONLY_5),
    Command("namesrv-config", "getNamesrvConfig", "listenPort", settings_of_4x, ONLY_4),
    Command("namesrv-config-update", "updateNamesrvConfig -k orderMessageEnable -v true", "config success"),
    Command("namesrv-config-after-update", "getNamesrvConfig", "orderMessageEnable", settings, ONLY_5),
    Command("namesrv-config-after-update", "getNamesrvConfig", "orderMessageEnable", settings_of_4x, ONLY_4),
    Command("topic-route-ordered", "topicRoute -t Ordered", '"orderTopicConf":"broker-admin:4"'),
    Command("namesrv-config-reset", "updateNamesrvConfig -k orderMessageEnable -v false", "config success"),
    Command("topic-route-unordered", "topicRoute -t Ordered", "queueDatas"),
    Command("namesrv-config-unknown-key", "updateNamesrvConfig -k noSuchKey -v 1", "config success"),
    Command("namesrv-config-black-list", "updateNamesrvConfig -k kvConfigPath -v x", "CODE: 16"),
)

_PERMISSIONS: Final = (
    Command("wipe-write-perm", "wipeWritePerm -b broker-admin", "OK, "),
    Command("topic-route-wiped", "topicRoute -t Clustered", '"perm":4'),
    Command("add-write-perm", "addWritePerm -b broker-admin", "OK, "),
    Command("topic-route-writable", "topicRoute -t Clustered", '"perm":6'),
    Command("topic-route-perm-forced", "topicRoute -t Direct", '"perm":6'),
    Command("wipe-write-perm-unknown", "wipeWritePerm -b broker-none", "OK, 0"),
    Command("add-write-perm-unknown", "addWritePerm -b broker-none", "OK, 0"),
)

_MESSAGES: Final = (
    Command("send-to-queue", "sendMessage -t Clustered -p hello -k K1 -c TagA -b broker-admin -i 0", "SEND_OK"),
    Command("consume", "consumeMessage -t Clustered -b broker-admin -i 0 -o 0 -c 1", "hello"),
    Command("print-msg", "printMsg -t Clustered -d true", "hello"),
    Command("print-msg-by-queue", "printMsgByQueue -t Clustered -a broker-admin -i 0 -p true -d true", "hello"),
    Command("query-msg-by-key", "queryMsgByKey -t Clustered -k K1", "#Message ID"),
    Command("query-msg-by-offset", "queryMsgByOffset -t Clustered -b broker-admin -i 0 -o 0", "K1"),
    Command(
        "query-msg-by-unique-key",
        "queryMsgByUniqueKey -t Clustered -i 7F0000010000000000000000000000AA",
        "command failed",
    ),
    Command("query-msg-trace", "queryMsgTraceById -i 7F0000010000000000000000000000AA", "command failed"),
    Command("query-cq", "queryCq -t Clustered -q 0 -i 0", "max: 1, min: 0"),
    Command("allocate-mq", "allocateMQ -t Clustered -i 10.0.0.1,10.0.0.2", "10.0.0.2"),
    Command("topic-status", "topicStatus -t Clustered", "broker-admin"),
    Command("topic-status-unknown", "topicStatus -t NoSuchTopic", "CODE: 17"),
    Command("check-msg-send-rt", "checkMsgSendRT -t Clustered -a 3 -s 16", "Avg RT", columns(3)),
    Command("send-msg-status", "sendMsgStatus -b broker-admin -c 3", "SEND_OK"),
)

_GROUPS: Final = (
    Command("update-sub-group", "updateSubGroup -c {cluster} -g GroupA", "success."),
    Command(
        "update-sub-group-list", "updateSubGroupList -c {cluster} -f {folder}/groups.json", "success", releases=ONLY_5
    ),
    Command("consumer-config", "getConsumerConfig -g GroupA", "GroupA"),
    Command("set-consume-mode", "setConsumeMode -c {cluster} -t Held -g GroupA -m POP", "success", releases=ONLY_5),
    Command("producer-connection", "producerConnection -g rig-online -t Held", "rig-online-client"),
    Command("consumer-connection", "consumerConnection -g rig-online", "rig-online-client"),
    Command("consumer-status", "consumerStatus -g rig-online", "rig-online-client", names_only),
    Command("consumer-progress", "consumerProgress", "rig-online", unordered),
    Command("consumer-progress-group", "consumerProgress -g rig-online", "Held", progress_of_topics),
    Command("reset-offset", "resetOffsetByTime -g rig-online -t Held -s now -f true", "Held"),
    Command("skip-accumulated", "skipAccumulatedMessage -g rig-online -t Held -f true", "#brokerName"),
    Command("clone-offset", "cloneGroupOffset -s rig-online -d GroupA -t Held", "clone group offset success"),
    Command("stats-all", "statsAll", "Held", unordered_without_figures),
    Command("stats-all-topic", "statsAll -t Held", "rig-online", unordered_without_figures),
    Command("delete-sub-group", "deleteSubGroup -c {cluster} -g GroupA", "delete subscription group [GroupA]"),
)

_BROKERS: Final = (
    Command("broker-config", "getBrokerConfig -c {cluster}", "brokerName", unordered),
    Command("broker-config-update", "updateBrokerConfig -c {cluster} -k fileReservedTime -v 48", "success"),
    Command("broker-status", "brokerStatus -c {cluster}", "msgPutTotalTodayNow", names_only),
    Command("clean-expired-cq", "cleanExpiredCQ -c {cluster}", "success"),
    Command("delete-expired-commit-log", "deleteExpiredCommitLog -c {cluster}", "success"),
    Command("clean-unused-topic", "cleanUnusedTopic -c {cluster}", "success"),
    Command("ha-status", "haStatus -c {cluster}", "#MasterAddr", names_only, ONLY_5),
    Command("broker-epoch", "getBrokerEpoch -c {cluster}", "command failed", releases=ONLY_5),
    Command("cold-flow-info", "getColdDataFlowCtrInfo -c {cluster}", "runtimeTable", names_only, ONLY_5),
    Command(
        "cold-flow-update", "updateColdDataFlowCtrGroupConfig -c {cluster} -g G -v 100", "success", releases=ONLY_5
    ),
    Command("cold-flow-remove", "removeColdDataFlowCtrGroupConfig -c {cluster} -g G", "success", releases=ONLY_5),
    Command("read-ahead-mode", "setCommitLogReadAheadMode -c {cluster} -m 0", "{address}", releases=ONLY_5),
    Command("export-metadata", "exportMetadata -c {cluster} -f {folder}/export", "export"),
    Command("export-configs", "exportConfigs -c {cluster} -f {folder}/export", "export"),
    Command("export-metrics", "exportMetrics -c {cluster} -f {folder}/export", "export"),
    Command("export-pop-record", "exportPopRecord -c {cluster} -d true", "{address}", releases=ONLY_5),
    Command("rocksdb-config", "rocksDBConfigToJson -c {cluster}", "broker export done", releases=ONLY_5),
    Command(
        "rocksdb-cq-progress", "checkRocksdbCqWriteProgress -c {cluster}", "broker-admin check doing", releases=ONLY_5
    ),
    Command("timer-engine", "switchTimerEngine -c {cluster} -e F", "success", releases=ONLY_5),
    Command("lite-broker", "getBrokerLiteInfo -c {cluster}", view=unordered_without_figures, releases=ONLY_5),
    Command("lite-parent-topic", "getParentTopicInfo -p Held", "[broker-admin]", releases=ONLY_5),
    Command("user-create", "createUser -c {cluster} -u rig -p rig12345", "command failed", releases=ONLY_5),
    Command("user-list", "listUser -c {cluster}", "command failed", releases=ONLY_5),
    Command("acl-list", "listAcl -c {cluster}", "command failed", releases=ONLY_5),
    Command("acl-update", "updateAclConfig -c {cluster} -a rigkey12 -s secret12", "command failed", releases=ONLY_4),
    Command("acl-white-addresses", "updateGlobalWhiteAddr -c {cluster} -g 10.0.0.1", "command failed", releases=ONLY_4),
    Command("acl-delete", "deleteAclConfig -c {cluster} -a rigkey12", "command failed", releases=ONLY_4),
)

_STATIC_TOPICS: Final = (
    Command("static-topic", "updateStaticTopic -c {cluster} -t Static -qn 8", "The new mapping data", releases=ONLY_5),
    Command("static-topic-route", "topicRoute -t Static", "topicQueueMappingByBroker", releases=ONLY_5),
    Command(
        "static-topic-remap", "remappingStaticTopic -c {cluster} -t Static", "The old mapping data", releases=ONLY_5
    ),
)

_ENDINGS: Final = (
    Command(
        "delete-topic", "deleteTopic -c {cluster} -t Direct", "delete topic [Direct] from cluster [{cluster}] success."
    ),
    Command("delete-topic-ordered", "deleteTopic -c {cluster} -t Ordered", "success."),
    Command("topic-route-deleted", "topicRoute -t Direct", "CODE: 17"),
    Command("unknown-cluster", "updateTopic -c NoCluster -t Nowhere", "Make sure the specified clusterName exists"),
    Command("topic-list-at-last", "topicList", "Clustered", unordered),
)

COMMANDS: Final = (
    *_CLUSTERS,
    *_TOPICS,
    *_KV,
    *_CONFIG,
    *_PERMISSIONS,
    *_MESSAGES,
    *_GROUPS,
    *_BROKERS,
    *_STATIC_TOPICS,
    *_ENDINGS,
)

ENDLESS: Final = Command("cluster-rt", "clusterRT -a 4 -s 16 -i 1 -p false -c {cluster}", "broker-admin", columns(3))
"""Prints a table again and again; it is run last and killed after its first row."""


def commands_of(release: str) -> list[Command]:
    """Return the commands that mqadmin of a release has, in order."""
    return [command for command in COMMANDS if release in command.releases]


def places_of(address: str, folder: str) -> dict[str, str]:
    """Return what the places in command lines and expectations stand for."""
    return {"address": address, "cluster": CLUSTER, "folder": folder}
