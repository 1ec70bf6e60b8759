import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/**
 * A producer that sends all the time, one tab-separated command per line: "start NAMESRV TOPIC MILLIS LIMIT" sends a
 * message every so often and at most so many; a second one starts a new producer, and the former ends once the new one
 * has sent. "topic TOPIC" goes on with another topic, "count" tells how many were sent and how many failed. A failed send
 * is not tried again.
 */
public class Sender {
    private static final AtomicInteger SENT = new AtomicInteger();
    private static final AtomicInteger FAILED = new AtomicInteger();
    private static volatile String topic;
    private static volatile DefaultMQProducer current;

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
            case "start":
                topic = words[2];
                start(words[1], Long.parseLong(words[3]), Integer.parseInt(words[4]));
                break;
            case "topic":
                topic = words[1];
                break;
            case "count":
                System.out.println("SENT " + SENT + " FAILED " + FAILED + " TOPIC " + topic);
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void start(String nameServers, long millis, int limit) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("rig-sender");
        producer.setNamesrvAddr(nameServers);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setSendMsgTimeout(10000);
        producer.setPollNameServerInterval(1000);
        producer.start();
        Thread thread = new Thread(() -> sendAll(producer, millis, limit));
        thread.setDaemon(true);
        thread.start();
    }

    private static void sendAll(DefaultMQProducer producer, long millis, int limit) {
        for (int i = 0; i < limit && (i == 0 || current == producer); i++) {
            try {
                SendStatus status = producer.send(new Message(topic, ("m" + i).getBytes())).getSendStatus();
                (status == SendStatus.SEND_OK ? SENT : FAILED).incrementAndGet();
                if (i == 0) {
                    current = producer;
                }
                Thread.sleep(millis);
            } catch (InterruptedException error) {
                return;
            } catch (Exception error) {
                FAILED.incrementAndGet();
                error.printStackTrace();
            }
        }
        producer.shutdown();
    }
}
