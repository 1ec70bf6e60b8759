"""The commands of mqadmin, of all releases up to 5.5.0, that are not here yet.

Owns: their names, and what to use instead.
Must not know: the commands that are here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Family(NamedTuple):
    """Commands that need the same part of a cluster. `instead` is what comes nearest here."""

    needs: str
    instead: tuple[str, ...]
    names: tuple[str, ...]


_FAMILIES: Final = (
    Family(
        "it changes topics on brokers",
        ("topicRoute", "topicList", "deleteTopic (the NameServer's part)"),
        (
            "updateTopic", "updateTopicList", "updateTopicPerm", "updateStaticTopic", "remappingStaticTopic",
            "cleanUnusedTopic", "setConsumeMode",
        ),
    ),
    Family(
        "it asks brokers about their topics",
        ("topicRoute -l", "topicClusterList", "topicList -c"),
        ("topicStatus", "statsAll", "queryCq", "getParentTopicInfo", "getLiteTopicInfo", "triggerLiteDispatch"),
    ),
    Family(
        "it asks or changes brokers",
        ("clusterList", "clusterList -m", "wipeWritePerm", "addWritePerm"),
        (
            "brokerStatus", "brokerConsumeStats", "updateBrokerConfig", "getBrokerConfig", "cleanExpiredCQ",
            "deleteExpiredCommitLog", "resetMasterFlushOffset", "sendMsgStatus", "haStatus", "getBrokerEpoch",
            "getColdDataFlowCtrInfo", "updateColdDataFlowCtrGroupConfig", "removeColdDataFlowCtrGroupConfig",
            "setCommitLogReadAheadMode", "switchTimerEngine", "getBrokerLiteInfo", "addBroker", "removeBroker",
            "clusterRT", "startMonitoring", "checkRocksdbCqWriteProgress", "rocksDBConfigToJson",
        ),
    ),
    Family(
        "it asks or changes consumer groups on brokers",
        ("topicList -c (consumer groups by topic)", "allocateMQ"),
        (
            "updateSubGroup", "updateSubGroupList", "deleteSubGroup", "getConsumerConfig", "consumerProgress",
            "consumerStatus", "consumerConnection", "cloneGroupOffset", "resetOffsetByTime", "skipAccumulatedMessage",
            "getLiteClientInfo", "getLiteGroupInfo",
        ),
    ),
    Family(
        "it asks brokers about producers",
        ("clusterList", "topicRoute"),
        ("producer", "producerConnection"),
    ),
    Family(
        "it sends or reads messages",
        ("topicRoute", "allocateMQ"),
        (
            "sendMessage", "consumeMessage", "checkMsgSendRT", "queryMsgById", "queryMsgByKey", "queryMsgByUniqueKey",
            "queryMsgByOffset", "queryMsgTraceById", "printMsg", "printMsgByQueue", "DecodeMessageId",
        ),
    ),
    Family(
        "it exports what brokers hold, or reads a broker's files",
        ("topicList -o json", "clusterList -o json", "getNamesrvConfig -o json"),
        (
            "exportMetadata", "exportConfigs", "exportMetrics", "exportMetadataInRocksDB", "exportPopRecord",
            "dumpCompactionLog",
        ),
    ),
    Family(
        "it talks to controllers",
        ("clusterList", "topicRoute -l"),
        (
            "getSyncStateSet", "getControllerMetaData", "getControllerConfig", "updateControllerConfig", "electMaster",
            "cleanBrokerMetadata",
        ),
    ),
    Family(
        "it changes users and access rules on brokers",
        (),
        (
            "createUser", "updateUser", "deleteUser", "getUser", "listUser", "copyUser", "createAcl", "updateAcl",
            "deleteAcl", "getAcl", "listAcl", "copyAcl", "clusterAclConfigVersion", "updateAclConfig", "getAclConfig",
            "deleteAclConfig", "updateGlobalWhiteAddr",
        ),
    ),
)  # fmt: skip

NOT_YET: Final[Mapping[str, tuple[str, Family]]] = {
    name.lower(): (name, family) for family in _FAMILIES for name in family.names
}
"""Name in lower case → name as mqadmin spells it, and its family."""
