"""The keys that Apache's brokers read from broker.conf.

Owns: their names and types, release by release (4.9.7, 5.1.4, 5.5.0): what BrokerConfig, MessageStoreConfig,
    NettyServerConfig, NettyClientConfig and, from 5.2 on, AuthConfig have setters for.
Must not know: what a broker of ours does with them (cosmodrome.broker.config).
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

V4_9: Final = "4.9.7"
V5_1: Final = "5.1.4"
V5_5: Final = "5.5.0"


class JavaType(enum.Enum):
    """How Java reads a value."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    TEXT = "string"


@dataclass(frozen=True, slots=True)
class JavaKey:
    """One key: how its value is read, and which of the three releases know it."""

    type: JavaType
    releases: tuple[str, ...]


_NAMES: Final[Mapping[tuple[tuple[str, ...], JavaType], str]] = {
    ((V4_9,), JavaType.BOOLEAN): """
        commercialEnable
    """,
    ((V4_9,), JavaType.INT): """
        commercialBigCount commercialTimerCount commercialTransCount filterServerNums haSlaveFallbehindMax
        maxDelayTime
    """,
    ((V4_9, V5_1, V5_5), JavaType.BOOLEAN): """
        aclEnable autoCreateSubscriptionGroup autoCreateTopicEnable autoDeleteUnusedStats
        brokerFastFailureEnable brokerTopicEnable checkCRCOnRecover cleanFileForciblyEnable
        clientCloseSocketIfTimeout clientPooledByteBufAllocatorEnable clusterTopicEnable compressedRegister
        debugLockEnable disableConsumeIfConsumerReadSlowly diskFallRecorded duplicationEnable enableBatchPush
        enableCalcFilterBitMap enableConsumeQueueExt enableDLegerCommitLog enableDetailStat enableLmq
        enableMultiDispatch enablePropertyFilter enableScheduleAsyncDeliver enableScheduleMessageStats
        fastFailIfNoBufferInStorePool fetchNamesrvAddrByAddressServer filterSupportRetry flushCommitLogTimed
        forceRegister highSpeedMode isolateLogEnable longPollingEnable messageIndexEnable messageIndexSafe
        notifyConsumerIdsChangedEnable offsetCheckInSlave rejectTransactionMessage
        serverPooledByteBufAllocatorEnable slaveReadEnable storeReplyMessageEnable traceOn traceTopicEnable
        transferMsgByHeap transientStorePoolEnable useEpollNativeSelector useReentrantLockWhenPutMessage useTLS
        warmMapedFileEnable
    """,
    ((V4_9, V5_1, V5_5), JavaType.INT): """
        accessMessageInMemoryMaxRatio adminBrokerThreadPoolNums bitMapLengthConsumeQueueExt brokerPermission
        cleanResourceInterval clientAsyncSemaphoreValue clientCallbackExecutorThreads
        clientChannelMaxIdleTimeSeconds clientManageThreadPoolNums clientManagerThreadPoolQueueCapacity
        clientOnewaySemaphoreValue clientSocketRcvBufSize clientSocketSndBufSize clientWorkerThreads
        commercialBaseCount commitCommitLogLeastPages commitCommitLogThoroughInterval commitIntervalCommitLog
        connectTimeoutMillis consumerManageThreadPoolNums consumerManagerThreadPoolQueueCapacity
        defaultQueryMaxNum defaultTopicQueueNums deleteCommitLogFilesInterval deleteConsumeQueueFilesInterval
        destroyMapedFileIntervalForcibly diskMaxUsedSpaceRatio endTransactionPoolQueueCapacity
        endTransactionThreadPoolNums expectConsumerNumUseFilter fileReservedTime flushCommitLogLeastPages
        flushCommitLogThoroughInterval flushConsumeQueueLeastPages flushConsumeQueueThoroughInterval
        flushConsumerOffsetHistoryInterval flushConsumerOffsetInterval flushIntervalCommitLog
        flushIntervalConsumeQueue flushLeastPagesWhenWarmMapedFile haHousekeepingInterval haListenPort
        haSendHeartbeatInterval haTransferBatchSize heartbeatThreadPoolNums heartbeatThreadPoolQueueCapacity
        listenPort mappedFileSizeCommitLog mappedFileSizeConsumeQueue mappedFileSizeConsumeQueueExt
        maxErrorRateOfBloomFilter maxHashSlotNum maxIndexNum maxLmqConsumeQueueNum maxMessageSize
        maxMsgsNumBatch maxTransferBytesOnMessageInDisk maxTransferBytesOnMessageInMemory
        maxTransferCountOnMessageInDisk maxTransferCountOnMessageInMemory processReplyMessageThreadPoolNums
        pullMessageThreadPoolNums pullThreadPoolQueueCapacity putMessageFutureThreadPoolNums
        putMsgIndexHightWater putThreadPoolQueueCapacity queryMessageThreadPoolNums queryThreadPoolQueueCapacity
        redeleteHangedFileInterval registerBrokerTimeoutMills registerNameServerPeriod
        replyThreadPoolQueueCapacity scheduleAsyncDeliverMaxPendingLimit
        scheduleAsyncDeliverMaxResendNum2Blocked sendMessageThreadPoolNums sendThreadPoolQueueCapacity
        serverAsyncSemaphoreValue serverCallbackExecutorThreads serverChannelMaxIdleTimeSeconds
        serverOnewaySemaphoreValue serverSelectorThreads serverSocketBacklog serverSocketRcvBufSize
        serverSocketSndBufSize serverWorkerThreads slaveTimeout syncFlushTimeout transactionCheckMax
        transientStorePoolSize writeBufferHighWaterMark writeBufferLowWaterMark
    """,
    ((V4_9, V5_1, V5_5), JavaType.LONG): """
        brokerId channelNotActiveInterval consumerFallbehindThreshold filterDataCleanTimeSpan
        flushDelayOffsetInterval osPageCacheBusyTimeOutMills shortPollingTimeMills
        startAcceptSendRequestTimeStamp transactionCheckInterval transactionTimeOut
        waitTimeMillsInHeartbeatQueue waitTimeMillsInPullQueue waitTimeMillsInSendQueue
        waitTimeMillsInTransactionQueue
    """,
    ((V4_9, V5_1, V5_5), JavaType.TEXT): """
        brokerClusterName brokerIP1 brokerIP2 brokerName brokerRole dLegerGroup dLegerPeers dLegerSelfId
        deleteWhen flushDiskType haMasterAddress messageDelayLevel messageStorePlugIn msgTraceTopicName
        namesrvAddr preferredLeaderId readOnlyCommitLogStorePaths regionId rocketmqHome storePathCommitLog
        storePathDLedgerCommitLog storePathRootDir
    """,
    ((V5_1,), JavaType.LONG): """
        memTableFlushInterval
    """,
    ((V5_1, V5_5), JavaType.BOOLEAN): """
        accountStatsEnable accountStatsPrintZeroValues allAckInSyncStateSet asyncLearner asyncSendEnable
        autoMessageVersionOnTopicLen coldCtrStrategyEnable coldDataFlowControlEnable coldDataScanEnable
        compatibleWithOldNameSrv dataReadAheadEnable disableCallbackExecutor disableNettyWorkerGroup
        dispatchFromSenderThread enableAsyncReput enableAutoInSyncReplicas enableBroadcastOffsetStore
        enableBuildConsumeQueueConcurrently enableCleanExpiredOffset enableCompaction enableControllerMode
        enableMixedMessageType enableNetWorkFlowControl enableNotifyAfterPopOrderLockRelease enablePopBatchAck
        enablePopBufferMerge enablePopLog enableRemoteEscape enableRocksDBLog enableSingleTopicRegister
        enableSkipLongAwaitingAck enableSlaveActingMaster enableSplitRegistration estimateAccumulation
        fetchControllerAddrByDnsLookup fetchNameSrvAddrByDnsLookup haFlowControlEnable inBrokerContainer
        initPopOffsetByCheckMsgInMem litePullMessageEnable lockInStrictMode mappedFileSwapEnable metricsInDelta
        popResponseReturnActualRetryTopic realTimeNotifyConsumerChange realTimePersistRocksDBConfig
        recheckReputOffsetFromCq recoverConcurrently rejectPullConsumerEnable searchBcqByCacheEnable
        serverLoadBalancerEnable skipPreOnline syncFromLastFile syncMasterFlushOffsetWhenStartup
        timerEnableCheckMetrics timerInterceptDelayLevel timerStopEnqueue timerWheelEnable usePIDColdCtrStrategy
        useServerSideResetOffset useStaticSubscription validateSystemTopicWhenUpdateTopic
        wakeCommitWhenPutMessage wakeFlushWhenPutMessage
    """,
    ((V5_1, V5_5), JavaType.DOUBLE): """
        logicalDiskSpaceCleanForciblyThreshold
    """,
    ((V5_1, V5_5), JavaType.INT): """
        accessMessageInMemoryHotRatio ackMessageThreadPoolNums ackThreadPoolQueueCapacity
        adminBrokerThreadPoolQueueCapacity batchDispatchRequestThreadPoolNums brokerElectionPriority
        brokerHeartbeatInterval cleanOfflineBrokerInterval commercialSizePerMsg commitLogSwapMapReserveFileNum
        compactionCqMappedFileSize compactionMappedFileSize compactionScheduleInternal compactionThreadNum
        correctLogicMinOffsetForceInterval correctLogicMinOffsetSleepInterval defaultPopShareQueueNum
        deleteFileBatchMax disappearTimeAfterStart diskSpaceCleanForciblyRatio diskSpaceWarningLevelRatio
        dispatchCqCacheNum dispatchCqThreads haMaxGapNotInSync inSyncReplicas litePullMessageThreadPoolNums
        litePullThreadPoolQueueCapacity loadBalanceProcessorThreadPoolNums loadBalanceThreadPoolQueueCapacity
        logicQueueSwapMapReserveFileNum mappedFileSizeTimerLog mapperFileSizeBatchConsumeQueue
        maxAsyncPutMessageRequests maxBatchDeleteFilesNum maxConsumeQueueScan maxOffsetMapSize
        maxRecoveryCommitlogFiles maxTopicLength metricsOtelCardinalityLimit metricsPromExporterPort
        minInSyncReplicas popCkMaxBufferSize popCkOffsetMaxQueueSize popCkStayBufferTime popCkStayBufferTimeOut
        popPollingMapSize popPollingSize pullBatchMaxMessageCount putMessageTimeout recoverThreadPoolNums
        replicasPerDiskPartition reviveQueueNum sampleCountThreshold sampleSteps sendHeartbeatTimeoutMillis
        splitRegistrationSize syncBrokerMemberGroupPeriod timerColdDataCheckIntervalMs timerCongestNumEachSlot
        timerFlushIntervalMs timerGetMessageThreadNum timerMaxDelaySec timerMetricSmallThreshold
        timerPrecisionMs timerProgressLogIntervalMs timerPutMessageThreadNum timerRollWindowSlot
        topicQueueLockNum totalReplicas transactionOpBatchInterval transactionOpMsgMaxSize
        travelCqFileNumWhenGetMessage
    """,
    ((V5_1, V5_5), JavaType.LONG): """
        broadcastOffsetExpireMaxSecond broadcastOffsetExpireSecond brokerNotActiveTimeoutMillis
        cgColdReadThreshold channelExpiredTimeout checkSyncStateSetPeriod cleanSwapedMapInterval
        commitLogForceSwapMapInterval commitLogSwapMapInterval consumerOffsetUpdateVersionStep
        controllerHeartBeatTimeoutMills delayOffsetUpdateVersionStep fetchNamesrvAddrInterval forwardTimeout
        globalColdReadThreshold haMaxTimeSlaveNotCatchup loadBalancePollNameServerInterval
        logicQueueForceSwapMapInterval logicQueueSwapMapInterval maxChecksumRange maxHaTransferByteInSecond
        maxPopPollingSize maxSlaveResendLength metricGrpcExporterIntervalInMills
        metricGrpcExporterTimeOutInMills metricLoggingExporterIntervalInMills reviveAckWaitMs reviveInterval
        reviveMaxSlow reviveScanTime subscriptionExpiredTimeout syncBrokerMetadataPeriod
        syncControllerMetadataPeriod waitTimeMillsInAckQueue waitTimeMillsInLitePullQueue
    """,
    ((V5_1, V5_5), JavaType.TEXT): """
        bindAddress brokerConfigPath controllerAddr defaultMessageRequestMode metricsExporterType
        metricsGrpcExporterHeader metricsGrpcExporterTarget metricsLabel metricsPromExporterHost
        socksProxyConfig storePathBrokerIdentity storePathEpochFile storeType
    """,
    ((V5_5,), JavaType.BOOLEAN): """
        allowRecallWhenBrokerNotWriteable appendAckAsync appendCkAsync appendTopicForTimerDeleteKey
        authenticationEnabled authorizationEnabled checkCommitLogOffsetOnRecover clearRetryTopicWhenDeleteTopic
        combineCQEnableCheckSelf combineCQUseRocksdbForLmq enableAcceleratedRecovery enableConnectionMetrics
        enableCreateSysGroup enableFastChannelEventProcess enableLagAndDlqMetrics enableLiteEventMode
        enableLitePopLog enableLmqQuota enableLmqStats enableLogConsumeQueueRepeatedlyBuildWhenRecover
        enableMessageStoreMetrics enableNotifyBeforePopCalculateLag enablePopMessageThreshold enablePopMetrics
        enableReconnectForGoAway enableRegisterProducer enableRemotingMetrics enableRequestMetrics
        enableRetryTopicV2 enableRunningFlagsInFlush enableShutdownGracefully enableSplitMetadata
        enableStatsMetrics enableTransactionMetrics enabledAppendPropCRC forceVerifyPropCRC indexFileReadEnable
        indexFileWriteEnable indexRocksDBEnable iteratorWhenUseRocksdbConsumeQueue liteLagCountMetricsEnable
        liteLagLatencyCollectEnable liteLagLatencyMetricsEnable migrateAuthFromV1Enabled
        persistConsumerOffsetIncrementally popConsumerFSServiceInit popConsumerKVServiceEnable
        popConsumerKVServiceInit popConsumerKVServiceLog popReviveSkipIfGroupAbsent printChannelGroups
        priorityOrderAsc putConsumeQueueDataByFileChannel readUnCommitted recallMessageEnable
        retrieveMessageFromPopRetryTopicV1 rocksdbCQDoubleWriteEnable scanAvailableNameSrv
        serverNettyWorkerGroupEnable skipWhenCKRePutReachMaxTimes timerEnableRetryUntilSuccess
        timerRecallToTimeWheelEnable timerRecallToTimelineEnable timerRocksDBEnable timerRocksDBStopScan
        timerSkipUnknownError timerWheelSnapshotFlush transRocksDBEnable transWriteOriginTransHalfEnable
        useABSLock useMessageFilterForNotification useSeparateRetryQueue useSeparateStorePathForRocksdbCQ
        useSingleRocksDBForAllConfigs writeWithoutMmap
    """,
    ((V5_5,), JavaType.DOUBLE): """
        timerRocksDBRollMaxTps timerRocksDBTimeExpiredMaxTps
    """,
    ((V5_5,), JavaType.INT): """
        aclCacheExpiredSecond aclCacheMaxNum aclCacheRefreshSecond combineCQMaxExtraSearchCommitLogFiles
        commitLogRecoverMaxNum liteLagLatencyTopK maxClientEventCount maxFilterMessageSize
        maxMessageFilterNumForNotification maxRocksDBIndexQueryDays maxStatsIdleTimeInMinutes
        metricsExportBatchMaxDataPoints popFromRetryProbability popFromRetryProbabilityForPriority
        popPollingMapExpireTimeSeconds popReviveConcurrency popReviveMaxAttemptTimes
        popReviveMaxReturnSizePerRead printChannelGroupsMinNum rocksdbFlushWalFrequency sharedByteBufferNum
        shutdownWaitTimeSeconds spinLockCollisionRetreatOptimalDegree splitMetadataSize
        statefulAuthenticationCacheExpiredSecond statefulAuthenticationCacheMaxNum
        statefulAuthorizationCacheExpiredSecond statefulAuthorizationCacheMaxNum timerReputServiceCorePoolSize
        timerReputServiceMaxPoolSize timerReputServiceQueueCapacity timerRocksDBRollIntervalHours
        timerRocksDBRollRangeHours timerWheelSnapshotIntervalMs transactionCheckRocksdbCoreThreads
        transactionCheckRocksdbMaxThreads transactionCheckRocksdbQueueCapacity updateNameServerAddrPeriod
        userCacheExpiredSecond userCacheMaxNum userCacheRefreshSecond
    """,
    ((V5_5,), JavaType.LONG): """
        cleanRocksDBDirtyCQIntervalMin liteEventCheckInterval liteEventFullDispatchDelayTime
        liteEventFullDispatchDelayTimeForWildcardGroup liteSubscriptionCheckInterval
        liteSubscriptionCheckTimeoutMills liteTtlCheckInterval maxLiteSubscriptionCount
        maxReconnectIntervalTimeSeconds memTableFlushIntervalMs minLiteTTl popInflightMessageThreshold
        popLongPollingForceNotifyInterval rocksdbWalFileRollingThreshold statRocksDBCQIntervalSec
        timerRocksDBPrecisionMs transactionMetricFlushInterval waitTimeMillsInAdminBrokerQueue
    """,
    ((V5_5,), JavaType.TEXT): """
        authConfigPath authenticationMetadataProvider authenticationProvider authenticationStrategy
        authenticationWhitelist authorizationMetadataProvider authorizationProvider authorizationStrategy
        authorizationWhitelist bottomMostCompressionTypeForConsumeQueueStore clusterName
        combineAssignOffsetCQType combineCQLoadingCQTypes combineCQPreferCQType configBlackList
        configManagerVersion configName initAuthenticationUser innerClientAuthenticationCredentials
        rocksdbCompressionType
    """,
}


def _table() -> dict[str, JavaKey]:
    return {
        name: JavaKey(java_type, releases) for (releases, java_type), names in _NAMES.items() for name in names.split()
    }


JAVA_BROKER_KEYS: Final[Mapping[str, JavaKey]] = _table()
"""Every key by its name."""

ENVIRONMENT_KEYS: Final = frozenset({"rmqAddressServerDomain", "rmqAddressServerSubGroup"})
"""Keys of broker.conf that Apache's brokers make system properties of."""

SYSTEM_PREFIXES: Final = ("tls.", "rocketmq.", "com.rocketmq.")
"""Beginnings of Java system properties: Apache's brokers take them from the command line (-D), not from broker.conf."""
