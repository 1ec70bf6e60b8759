import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Asks what rocketmq-exporter and rocketmq-dashboard ask, through the admin client that both use, and prints what
 * they would show: a line for each fact, its name and its value.
 */
public class MonitoringTools {
    public static void main(String[] arguments) throws Exception {
        String cluster = arguments[1], topic = arguments[2], group = arguments[3];
        DefaultMQAdminExt admin = new DefaultMQAdminExt(10_000L);
        admin.setInstanceName("monitoring-tools");
        admin.setNamesrvAddr(arguments[0]);
        admin.start();
        try {
            exporter(admin, cluster, topic, group);
            dashboard(admin, cluster);
        } catch (Throwable error) {
            error.printStackTrace();
        }
        System.out.println("@@END");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void exporter(DefaultMQAdminExt admin, String cluster, String topic, String group)
        throws Exception {
        var topics = new TreeSet<>(admin.fetchAllTopicList().getTopicList());
        fact("topic is listed", topics.contains(topic));
        long stored = 0;
        for (var offsets : admin.examineTopicStats(topic).getOffsetTable().values()) {
            stored += offsets.getMaxOffset() - offsets.getMinOffset();
        }
        fact("messages of the topic", stored);
        fact("groups of the topic", new TreeSet<>(admin.queryTopicConsumeByWho(topic).getGroupList()));
        fact("behind", admin.examineConsumeStats(group, topic).computeTotalDiff());
        fact("connections of the group", admin.examineConsumerConnectionInfo(group).getConnectionSet().size());
        for (var broker : admin.examineTopicRouteInfo(topic).getBrokerDatas()) {
            String address = broker.selectBrokerAddr();
            fact("put at " + broker.getBrokerName(),
                admin.viewBrokerStatsData(address, "TOPIC_PUT_NUMS", topic).getStatsDay().getSum());
            fact("got at " + broker.getBrokerName(),
                admin.viewBrokerStatsData(address, "GROUP_GET_NUMS", topic + "@" + group).getStatsDay().getSum());
        }
        var info = admin.examineBrokerClusterInfo();
        for (var broker : info.getBrokerAddrTable().values()) {
            String address = broker.getBrokerAddrs().get(0L);
            fact("cluster put", admin.viewBrokerStatsData(address, "BROKER_PUT_NUMS", cluster).getStatsDay().getSum());
            var runtime = admin.fetchBrokerRuntimeStats(address).getTable();
            fact("put today", runtime.get("msgPutTotalTodayNow"));
            fact("numbers of put TPS", runtime.get("putTps").split(" ").length);
        }
    }

    private static void dashboard(DefaultMQAdminExt admin, String cluster) throws Exception {
        var info = admin.examineBrokerClusterInfo();
        fact("clusters", new TreeMap<>(info.getClusterAddrTable()));
        Set<String> masters = new TreeSet<>();
        for (var broker : info.getBrokerAddrTable().values()) {
            masters.add(broker.getBrokerAddrs().get(0L));
        }
        fact("masters", masters);
        fact("topics of the cluster", admin.fetchTopicsByCLuster(cluster).getTopicList().isEmpty() ? "none" : "some");
        for (String master : masters) {
            fact("name in the configuration", admin.getBrokerConfig(master).getProperty("brokerName"));
            fact("groups at " + master,
                admin.getAllSubscriptionGroup(master, 10_000L).getSubscriptionGroupTable().size() > 0);
            admin.createAndUpdateTopicConfig(master, new TopicConfig("made-by-a-page", 3, 3, 6));
        }
        fact("queues of the made topic", writeQueuesOf(admin, "made-by-a-page"));
        admin.deleteTopicInBroker(masters, "made-by-a-page");
        deleteAtNameServers(admin, cluster, "made-by-a-page");
        fact("made topic is listed", admin.fetchAllTopicList().getTopicList().contains("made-by-a-page"));
    }

    /** A broker may tell its NameServers of a new topic after it has answered. */
    private static int writeQueuesOf(DefaultMQAdminExt admin, String topic) throws Exception {
        for (int tries = 100; ; tries--) {
            try {
                return admin.examineTopicRouteInfo(topic).getQueueDatas().get(0).getWriteQueueNums();
            } catch (Exception error) {
                if (tries == 0) {
                    throw error;
                }
                Thread.sleep(100);
            }
        }
    }

    /** 4.9 wants to know the cluster, too, and after the topic; later releases have a way without it. */
    private static void deleteAtNameServers(DefaultMQAdminExt admin, String cluster, String topic) throws Exception {
        Set<String> servers = new TreeSet<>(admin.getNameServerAddressList());
        try {
            DefaultMQAdminExt.class.getMethod("deleteTopicInNameServer", Set.class, String.class)
                .invoke(admin, servers, topic);
        } catch (NoSuchMethodException error) {
            DefaultMQAdminExt.class.getMethod("deleteTopicInNameServer", Set.class, String.class, String.class)
                .invoke(admin, servers, topic, cluster);
        }
    }

    private static void fact(String name, Object value) {
        System.out.println("@@FACT\t" + name + "\t" + value);
    }
}
