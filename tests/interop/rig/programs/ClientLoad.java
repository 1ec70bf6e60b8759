import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * A load of the Java client, for comparison with others: "produce NAMESRV TOPIC WARM COUNT IN_FLIGHT BYTES" keeps so many
 * sends in flight, "consume NAMESRV TOPIC GROUP WARM COUNT" takes stored messages. It prints FIRST with the first message
 * that was acknowledged or received, and at the end RESULT with seconds, CPU seconds of the process, median and 99th
 * percentile of a send in microseconds, and how many sends failed, of the COUNT messages that follow the first
 * WARM ones. Then it stays until its input ends, so that its memory can be looked at.
 */
public class ClientLoad {
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final AtomicInteger FAILED = new AtomicInteger();
    private static long startedAt;
    private static long cpuAtStart;

    public static void main(String[] words) throws Exception {
        if (words[0].equals("produce")) {
            produce(words[1], words[2], number(words[3]), number(words[4]), number(words[5]), number(words[6]));
        } else {
            consume(words[1], words[2], words[3], number(words[4]), number(words[5]));
        }
        System.in.read();
        System.exit(0);
    }

    private static int number(String word) {
        return Integer.parseInt(word);
    }

    private static void begin() {
        startedAt = System.nanoTime();
        cpuAtStart = SYSTEM.getProcessCpuTime();
    }

    private static void end(long[] latencies) {
        double seconds = (System.nanoTime() - startedAt) / 1e9;
        double cpu = (SYSTEM.getProcessCpuTime() - cpuAtStart) / 1e9;
        Arrays.sort(latencies);
        long median = latencies.length == 0 ? 0 : latencies[latencies.length / 2] / 1000;
        long high = latencies.length == 0 ? 0 : latencies[(int) (latencies.length * 0.99)] / 1000;
        System.out.println("RESULT " + seconds + " " + cpu + " " + median + " " + high + " " + FAILED);
        System.out.flush();
    }

    private static void produce(String nameServers, String topic, int warm, int count, int inFlight, int bytes)
        throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("load");
        producer.setNamesrvAddr(nameServers);
        producer.setSendMsgTimeout(10000);
        producer.start();
        byte[] body = new byte[bytes];
        Arrays.fill(body, (byte) 'x');
        producer.send(new Message(topic, "TagA", body));
        System.out.println("FIRST");
        System.out.flush();
        send(producer, topic, body, new long[warm], inFlight);
        long[] latencies = new long[count];
        begin();
        send(producer, topic, body, latencies, inFlight);
        end(latencies);
    }

    private static void send(DefaultMQProducer producer, String topic, byte[] body, long[] latencies, int inFlight)
        throws Exception {
        Semaphore room = new Semaphore(inFlight);
        for (int number = 0; number < latencies.length; number++) {
            room.acquire();
            int at = number;
            long sentAt = System.nanoTime();
            producer.send(new Message(topic, "TagA", body), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    latencies[at] = System.nanoTime() - sentAt;
                    room.release();
                }

                @Override
                public void onException(Throwable error) {
                    FAILED.incrementAndGet();
                    room.release();
                }
            });
        }
        room.acquire(inFlight);
    }

    private static void consume(String nameServers, String topic, String group, int warm, int count) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServers);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        AtomicInteger seen = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                int number = seen.incrementAndGet();
                if (number == 1) {
                    System.out.println("FIRST");
                    System.out.flush();
                }
                if (number == warm) {
                    begin();
                } else if (number == warm + count) {
                    end(new long[0]);
                    done.countDown();
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        done.await();
    }
}
