import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * Loads for a broker, one tab-separated command per line, in one JVM whose code stays warm:
 * "open NAMESRV" starts the producer; "produce TOPIC COUNT IN_FLIGHT BYTES" keeps so many sends in flight, one at a time by
 * the call that waits; "ready NAMESRV TOPIC GROUP QUEUES" starts a push consumer that has its queues and is suspended;
 * "consume COUNT" lets it go on, until it has so many. The last two print RESULT with seconds, median and 99th percentile of
 * a send in microseconds, and how many sends were not answered SEND_OK.
 */
public class BrokerLoad {
    private static DefaultMQProducer producer;
    private static DefaultMQPushConsumer consumer;
    private static final AtomicInteger SEEN = new AtomicInteger();
    private static final AtomicLong FIRST_AT = new AtomicLong();
    private static volatile int wanted;
    private static volatile CountDownLatch done;

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
            case "open":
                producer = new DefaultMQProducer("load");
                producer.setNamesrvAddr(words[1]);
                producer.setSendMsgTimeout(10000);
                producer.start();
                break;
            case "produce":
                produce(words[1], number(words[2]), number(words[3]), number(words[4]));
                break;
            case "ready":
                makeReady(words[1], words[2], words[3], number(words[4]));
                break;
            case "consume":
                consume(number(words[1]));
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static int number(String word) {
        return Integer.parseInt(word);
    }

    private static void tell(double seconds, long[] latencies, int failed) {
        Arrays.sort(latencies);
        long median = latencies.length == 0 ? 0 : latencies[latencies.length / 2] / 1000;
        long high = latencies.length == 0 ? 0 : latencies[(int) (latencies.length * 0.99)] / 1000;
        System.out.println("RESULT " + seconds + " " + median + " " + high + " " + failed);
    }

    private static void produce(String topic, int count, int inFlight, int bytes) throws Exception {
        byte[] body = new byte[bytes];
        Arrays.fill(body, (byte) 'x');
        long[] latencies = new long[count];
        AtomicInteger failed = new AtomicInteger();
        long begunAt = System.nanoTime();
        if (inFlight == 1) {
            sendOneByOne(topic, body, latencies, failed);
        } else {
            send(topic, body, latencies, failed, inFlight);
        }
        tell((System.nanoTime() - begunAt) / 1e9, latencies, failed.get());
    }

    private static void sendOneByOne(String topic, byte[] body, long[] latencies, AtomicInteger failed) {
        for (int number = 0; number < latencies.length; number++) {
            long sentAt = System.nanoTime();
            try {
                SendResult result = producer.send(new Message(topic, "TagA", body));
                if (result.getSendStatus() != SendStatus.SEND_OK) {
                    failed.incrementAndGet();
                }
            } catch (Exception error) {
                failed.incrementAndGet();
            }
            latencies[number] = System.nanoTime() - sentAt;
        }
    }

    private static void send(String topic, byte[] body, long[] latencies, AtomicInteger failed, int inFlight)
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
                    if (result.getSendStatus() != SendStatus.SEND_OK) {
                        failed.incrementAndGet();
                    }
                    room.release();
                }

                @Override
                public void onException(Throwable error) {
                    failed.incrementAndGet();
                    room.release();
                }
            });
        }
        room.acquire(inFlight);
    }

    private static void makeReady(String nameServers, String topic, String group, int queues) throws Exception {
        SEEN.set(0);
        FIRST_AT.set(0);
        wanted = Integer.MAX_VALUE;
        done = new CountDownLatch(1);
        consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServers);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            FIRST_AT.compareAndSet(0, System.nanoTime());
            if (SEEN.addAndGet(messages.size()) >= wanted) {
                done.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        // One that is suspended from the start gets no queues; what is pulled by now are a few batches.
        while (consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().size() < queues) {
            Thread.sleep(1);
        }
        consumer.suspend();
    }

    private static void consume(int count) throws Exception {
        FIRST_AT.set(0);
        wanted = count;
        consumer.resume();
        done.await();
        tell((System.nanoTime() - FIRST_AT.get()) / 1e9, new long[0], 0);
        consumer.shutdown();
    }
}
