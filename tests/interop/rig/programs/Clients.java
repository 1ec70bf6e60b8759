import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * The quickstart producer and push consumer, one tab-separated command per line, in one JVM:
 * "send NAMESRV TOPIC COUNT", "receive NAMESRV TOPIC GROUP COUNT SECONDS", and "online NAMESRV TOPIC GROUP",
 * which leaves a producer and a consumer running.
 */
public class Clients {
    public static void main(String[] arguments) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("@@READY");
        int number = 0;
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            number++;
            try {
                run(line.split("\t", -1));
            } catch (Throwable error) {
                error.printStackTrace();
            }
            System.err.flush();
            System.out.println("@@DONE " + number);
            System.out.flush();
        }
    }

    private static void run(String[] words) throws Exception {
        switch (words[0]) {
            case "send":
                send(words[1], words[2], Integer.parseInt(words[3]));
                break;
            case "receive":
                receive(words[1], words[2], words[3], Integer.parseInt(words[4]), Long.parseLong(words[5]));
                break;
            case "online":
                stayOnline(words[1], words[2], words[3]);
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void send(String nameServer, String topic, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("rig-producer-" + topic);
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(10000);
        producer.start();
        try {
            int sent = 0;
            for (int i = 0; i < count; i++) {
                Message message = new Message(topic, "TagA", "K" + i, ("m" + i).getBytes());
                if (producer.send(message).getSendStatus() == SendStatus.SEND_OK) {
                    sent++;
                }
            }
            System.out.println("SENT " + sent + "/" + count);
        } finally {
            producer.shutdown();
        }
    }

    private static void receive(String nameServer, String topic, String group, int count, long seconds)
            throws Exception {
        Set<String> bodies = ConcurrentHashMap.newKeySet();
        CountDownLatch left = new CountDownLatch(count);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (var message : messages) {
                if (bodies.add(new String(message.getBody()))) {
                    left.countDown();
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        try {
            left.await(seconds, TimeUnit.SECONDS);
            System.out.println("RECEIVED " + bodies.size() + "/" + count);
        } finally {
            consumer.shutdown();
        }
    }

    /** One instance name, so that both share a connection, and the consumer's first heartbeat tells of both. */
    private static void stayOnline(String nameServer, String topic, String group) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName(group + "-client");
        producer.setSendMsgTimeout(10000);
        producer.start();
        producer.send(new Message(topic, "TagA", "K0", "online".getBytes()));
        CountDownLatch received = new CountDownLatch(1);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(group + "-client");
        consumer.setPersistConsumerOffsetInterval(500);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            received.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        System.out.println(received.await(60, TimeUnit.SECONDS) ? "ONLINE" : "NOTHING RECEIVED");
    }
}
