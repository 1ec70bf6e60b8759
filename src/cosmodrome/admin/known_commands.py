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
        "it needs static topics, which have a map of queues beside their route",
        ("topicRoute", "updateTopic"),
        ("updateStaticTopic", "remappingStaticTopic"),
    ),
    Family(
        "it asks brokers about lite topics",
        ("topicRoute -l", "topicStatus"),
        (
            "getParentTopicInfo", "getLiteTopicInfo", "triggerLiteDispatch", "getBrokerLiteInfo", "getLiteClientInfo",
            "getLiteGroupInfo",
        ),
    ),
    Family(
        "it asks or changes a part of brokers that this tool does not know",
        ("brokerStatus", "getBrokerConfig", "updateBrokerConfig", "clusterList -m"),
        (
            "resetMasterFlushOffset", "getBrokerEpoch", "getColdDataFlowCtrInfo", "updateColdDataFlowCtrGroupConfig",
            "removeColdDataFlowCtrGroupConfig", "setCommitLogReadAheadMode", "switchTimerEngine", "addBroker",
            "removeBroker", "checkRocksdbCqWriteProgress", "rocksDBConfigToJson",
        ),
    ),
    Family(
        "it watches how far groups are, and writes to a log file only",
        ("consumerProgress", "consumerConnection"),
        ("startMonitoring",),
    ),
    Family(
        "it reads a broker's own files, or ends POP",
        ("exportMetadata", "exportConfigs", "exportMetrics"),
        ("exportMetadataInRocksDB", "exportPopRecord", "dumpCompactionLog"),
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
