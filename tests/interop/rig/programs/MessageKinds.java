import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;

/**
 * Producers and consumers of every kind, by name, in one JVM. A command is a line of tab-separated words: its name, the
 * client's name, then "key=value" with the value percent-encoded. What it has to tell is one line of JSON behind "@@JSON ".
 * Names of classes that moved between 4.9 and 5 are looked up when they are needed.
 */
public class MessageKinds {
    private static final Map<String, DefaultMQProducer> PRODUCERS = new ConcurrentHashMap<>();
    private static final Map<String, Reader> READERS = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        out.println("@@READY");
        int number = 0;
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            number++;
            try {
                out.println("@@JSON " + json(run(new Command(line.split("\t", -1)))));
            } catch (Throwable error) {
                error.printStackTrace();
                Map<String, Object> told = new LinkedHashMap<>();
                told.put("error", error.getClass().getSimpleName());
                told.put("message", String.valueOf(error.getMessage()));
                out.println("@@JSON " + json(told));
            }
            System.err.flush();
            out.println("@@DONE " + number);
        }
    }

    private static Object run(Command command) throws Exception {
        switch (command.verb) {
            case "producer":
                return produce(command);
            case "send":
                return send(command);
            case "recall":
                return recall(command);
            case "batch":
                return batch(command);
            case "transact":
                return transact(command);
            case "request":
                return request(command);
            case "consumer":
                return consume(command);
            case "lite":
                return pull(command);
            case "seen":
                return reader(command).seen;
            case "allocation":
                return queues(reader(command).allocation());
            case "stop":
                return stop(command.client);
            default:
                throw new IllegalArgumentException(command.verb);
        }
    }

    /** One line, taken apart. */
    private static final class Command {
        final String verb;
        final String client;
        final Map<String, String> options = new HashMap<>();

        Command(String[] words) {
            verb = words[0];
            client = words[1];
            for (int i = 2; i < words.length; i++) {
                int at = words[i].indexOf('=');
                options.put(words[i].substring(0, at), URLDecoder.decode(words[i].substring(at + 1), StandardCharsets.UTF_8));
            }
        }

        boolean has(String name) {
            return options.containsKey(name);
        }

        String text(String name) {
            String value = options.get(name);
            if (value == null) {
                throw new IllegalArgumentException(verb + " needs " + name);
            }
            return value;
        }

        String text(String name, String otherwise) {
            return options.getOrDefault(name, otherwise);
        }

        int number(String name, int otherwise) {
            return has(name) ? Integer.parseInt(text(name)) : otherwise;
        }
    }

    /** What signs requests; null without credentials. */
    private static RPCHook hook(Command command) {
        if (!command.has("accessKey")) {
            return null;
        }
        return new AclClientRPCHook(new SessionCredentials(command.text("accessKey"), command.text("secretKey")));
    }

    private static Object produce(Command command) throws Exception {
        String group = command.text("group");
        DefaultMQProducer producer;
        if (command.text("kind", "plain").equals("transaction")) {
            TransactionMQProducer transactional = new TransactionMQProducer(group, hook(command));
            transactional.setTransactionListener(new Decisions());
            producer = transactional;
        } else {
            producer = new DefaultMQProducer(group, hook(command));
        }
        producer.setNamesrvAddr(command.text("namesrv"));
        producer.setInstanceName(command.text("instance", command.client));
        producer.setSendMsgTimeout(10000);
        producer.setPollNameServerInterval(1000);
        producer.setHeartbeatBrokerInterval(1000);
        producer.setCompressMsgBodyOverHowmuch(command.number("compressOver", 4096));
        producer.start();
        PRODUCERS.put(command.client, producer);
        return producer.buildMQClientId();
    }

    private static Message message(Command command, String body) {
        Message message = new Message(command.text("topic"), body.getBytes(StandardCharsets.UTF_8));
        if (command.has("bodyBytes")) {
            byte[] filled = new byte[command.number("bodyBytes", 0)];
            java.util.Arrays.fill(filled, (byte) 'x');
            message.setBody(filled);
        }
        if (command.has("tag")) {
            message.setTags(command.text("tag"));
        }
        if (command.has("keys")) {
            message.setKeys(command.text("keys"));
        }
        if (command.has("flag")) {
            message.setFlag(command.number("flag", 0));
        }
        if (command.has("delayLevel")) {
            message.setDelayTimeLevel(command.number("delayLevel", 0));
        }
        if (command.has("timerMs")) {
            MessageAccessor.putProperty(message, "TIMER_DELAY_MS", command.text("timerMs"));
        }
        for (Map.Entry<String, String> option : command.options.entrySet()) {
            if (option.getKey().startsWith("property.")) {
                message.putUserProperty(option.getKey().substring("property.".length()), option.getValue());
            }
        }
        return message;
    }

    /** Sends "count" messages whose bodies are "body" and, if there are several, a number. */
    private static Object send(Command command) throws Exception {
        DefaultMQProducer producer = producer(command);
        int count = command.number("count", 1);
        List<Object> results = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Message message = message(command, command.text("body", "") + (count == 1 ? "" : i));
            if (command.has("oneway")) {
                producer.sendOneway(message);
            } else if (command.has("orderKey")) {
                String key = command.text("orderKey");
                results.add(told(producer.send(message,
                    (queues, one, argument) -> queues.get(Math.floorMod(argument.hashCode(), queues.size())), key)));
            } else if (command.has("queue")) {
                MessageQueue queue = new MessageQueue(message.getTopic(), command.text("broker"), command.number("queue", 0));
                results.add(told(producer.send(message, queue)));
            } else {
                results.add(told(producer.send(message)));
            }
        }
        return results;
    }

    /** Sends a message and takes it back, by methods that releases before 5.3 do not have. */
    private static Object recall(Command command) throws Exception {
        java.lang.reflect.Method method = DefaultMQProducer.class.getMethod("recallMessage", String.class, String.class);
        org.apache.rocketmq.client.producer.SendResult sent = producer(command).send(message(command, command.text("body")));
        Object handle = sent.getClass().getMethod("getRecallHandle").invoke(sent);
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("msgId", sent.getMsgId());
        told.put("recalled", method.invoke(producer(command), command.text("topic"), handle));
        return told;
    }

    private static Object batch(Command command) throws Exception {
        List<Message> messages = new ArrayList<>();
        for (int i = 0; i < command.number("count", 1); i++) {
            messages.add(message(command, command.text("body", "") + i));
        }
        return told(producer(command).send(messages));
    }

    /** "local" and "check" are commit, rollback, unknown or throw; a check may be a list of them, one after the other. */
    private static Object transact(Command command) throws Exception {
        Message message = message(command, command.text("body"));
        message.putUserProperty("decisions", command.text("local") + ";" + command.text("check", "unknown"));
        return told(((TransactionMQProducer) producer(command)).sendMessageInTransaction(message, null));
    }

    private static final class Decisions implements TransactionListener {
        private final Map<String, AtomicInteger> checks = new ConcurrentHashMap<>();

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
            return decided(message.getUserProperty("decisions").split(";")[0]);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            String[] wanted = message.getUserProperty("decisions").split(";")[1].split(",");
            int times = checks.computeIfAbsent(message.getTransactionId(), id -> new AtomicInteger()).getAndIncrement();
            return decided(wanted[Math.min(times, wanted.length - 1)]);
        }

        private static LocalTransactionState decided(String word) {
            switch (word) {
                case "commit":
                    return LocalTransactionState.COMMIT_MESSAGE;
                case "rollback":
                    return LocalTransactionState.ROLLBACK_MESSAGE;
                case "unknown":
                    return LocalTransactionState.UNKNOW;
                default:
                    throw new IllegalStateException(word);
            }
        }
    }

    private static Object request(Command command) throws Exception {
        Message reply = producer(command).request(message(command, command.text("body")), command.number("timeoutMs", 10000));
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("body", base64(reply.getBody()));
        told.put("properties", new TreeMap<>(reply.getProperties()));
        return told;
    }

    private static Map<String, Object> told(SendResult result) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("status", result.getSendStatus().name());
        told.put("msgId", result.getMsgId());
        told.put("offsetMsgId", result.getOffsetMsgId());
        told.put("queue", result.getMessageQueue() == null ? null : queue(result.getMessageQueue()));
        told.put("queueOffset", result.getQueueOffset());
        told.put("transactionId", result.getTransactionId());
        return told;
    }

    /** A consumer and what it has seen. */
    private abstract static class Reader {
        final List<Object> seen = new CopyOnWriteArrayList<>();
        volatile boolean isOver;

        abstract Collection<MessageQueue> allocation() throws Exception;

        abstract void stop();

        void note(MessageExt message) {
            Map<String, Object> told = new LinkedHashMap<>();
            told.put("topic", message.getTopic());
            told.put("body", base64(message.getBody()));
            told.put("msgId", message.getMsgId());
            told.put("tag", message.getTags());
            told.put("keys", message.getKeys());
            told.put("flag", message.getFlag());
            told.put("queue", queue(new MessageQueue(message.getTopic(), message.getBrokerName(), message.getQueueId())));
            told.put("queueOffset", message.getQueueOffset());
            told.put("reconsumeTimes", message.getReconsumeTimes());
            told.put("bornMs", message.getBornTimestamp());
            told.put("storeMs", message.getStoreTimestamp());
            told.put("seenMs", System.currentTimeMillis());
            told.put("thread", Thread.currentThread().getName());
            told.put("properties", new TreeMap<>(message.getProperties()));
            seen.add(told);
        }
    }

    /** "fail" is how many times each message is refused before it is taken; "reply" answers requests. */
    private static final class Push extends Reader {
        final DefaultMQPushConsumer consumer;
        private final Map<String, AtomicInteger> refused = new ConcurrentHashMap<>();
        private final int fail;
        private final boolean isPop;
        private final DefaultMQProducer replier;

        Push(Command command) throws Exception {
            fail = command.number("fail", 0);
            isPop = command.has("pop");
            consumer = new DefaultMQPushConsumer(command.text("group"), hook(command), new AllocateMessageQueueAveragely());
            consumer.setNamesrvAddr(command.text("namesrv"));
            consumer.setInstanceName(command.text("instance", command.client));
            consumer.setPollNameServerInterval(1000);
            consumer.setHeartbeatBrokerInterval(1000);
            consumer.setPersistConsumerOffsetInterval(500);
            consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf("CONSUME_FROM_" + command.text("from", "FIRST_OFFSET")));
            consumer.setMaxReconsumeTimes(command.number("maxReconsumeTimes", -1));
            consumer.setConsumeMessageBatchMaxSize(command.number("batch", 1));
            allocateBy(command.text("strategy", "AVG"));
            setEnum(consumer, "setMessageModel", command.text("model", "CLUSTERING"));
            if (isPop) {
                consumer.getClass().getMethod("setClientRebalance", boolean.class).invoke(consumer, false);
            }
            if (command.has("sql")) {
                consumer.subscribe(command.text("topic"), MessageSelector.bySql(command.text("sql")));
            } else {
                consumer.subscribe(command.text("topic"), command.text("tags", "*"));
            }
            if (command.has("orderly")) {
                consumer.setSuspendCurrentQueueTimeMillis(100);
                consumer.registerMessageListener((MessageListenerOrderly) (messages, context) ->
                    takeAll(messages) ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
            } else {
                consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) ->
                    takeAll(messages) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
            }
            replier = command.has("reply") ? replier(command) : null;
            consumer.start();
        }

        private DefaultMQProducer replier(Command command) throws Exception {
            DefaultMQProducer producer = new DefaultMQProducer(command.text("group") + "-replier", hook(command));
            producer.setNamesrvAddr(command.text("namesrv"));
            producer.setInstanceName(command.client + "-replier");
            producer.start();
            return producer;
        }

        private void allocateBy(String strategy) {
            if (strategy.equals("AVG_BY_CIRCLE")) {
                consumer.setAllocateMessageQueueStrategy(new AllocateMessageQueueAveragelyByCircle());
            } else if (strategy.equals("CONSISTENT_HASH")) {
                consumer.setAllocateMessageQueueStrategy(new AllocateMessageQueueConsistentHash());
            } else {
                consumer.setAllocateMessageQueueStrategy(new AllocateMessageQueueAveragely());
            }
        }

        private boolean takeAll(List<MessageExt> messages) {
            boolean isTaken = true;
            for (MessageExt message : messages) {
                note(message);
                int times = refused.computeIfAbsent(message.getMsgId(), id -> new AtomicInteger()).get();
                if (times < fail) {
                    refused.get(message.getMsgId()).incrementAndGet();
                    isTaken = false;
                } else if (replier != null) {
                    reply(message);
                }
            }
            return isTaken;
        }

        private void reply(MessageExt message) {
            try {
                byte[] body = ("re:" + new String(message.getBody(), StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8);
                replier.send(MessageUtil.createReplyMessage(message, body), 5000);
            } catch (Exception error) {
                error.printStackTrace();
            }
        }

        @Override
        Collection<MessageQueue> allocation() throws Exception {
            Object rebalance = consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl();
            String table = isPop ? "getPopProcessQueueTable" : "getProcessQueueTable";
            Map<?, ?> owned = (Map<?, ?>) rebalance.getClass().getMethod(table).invoke(rebalance);
            List<MessageQueue> queues = new ArrayList<>();
            for (Object queue : owned.keySet()) {
                queues.add((MessageQueue) queue);
            }
            return queues;
        }

        @Override
        void stop() {
            consumer.shutdown();
            if (replier != null) {
                replier.shutdown();
            }
        }
    }

    /** With "assign" it takes all queues itself and reads them from the first message. */
    private static final class Lite extends Reader {
        final DefaultLitePullConsumer consumer;
        private final Thread polling;
        private final Collection<MessageQueue> assigned;

        Lite(Command command) throws Exception {
            consumer = new DefaultLitePullConsumer(command.text("group"), hook(command));
            consumer.setNamesrvAddr(command.text("namesrv"));
            consumer.setInstanceName(command.text("instance", command.client));
            consumer.setPollNameServerInterval(1000);
            consumer.setHeartbeatBrokerInterval(1000);
            consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf("CONSUME_FROM_" + command.text("from", "FIRST_OFFSET")));
            if (command.has("assign")) {
                consumer.start();
                assigned = consumer.fetchMessageQueues(command.text("topic"));
                consumer.assign(assigned);
                for (MessageQueue queue : assigned) {
                    consumer.seekToBegin(queue);
                }
            } else {
                assigned = null;
                consumer.subscribe(command.text("topic"), command.text("tags", "*"));
                consumer.start();
            }
            polling = new Thread(this::poll, "poll-" + command.client);
            polling.setDaemon(true);
            polling.start();
        }

        private void poll() {
            while (!isOver) {
                for (MessageExt message : consumer.poll(100)) {
                    note(message);
                }
            }
        }

        @Override
        Collection<MessageQueue> allocation() throws Exception {
            return assigned != null ? assigned : consumer.assignment();
        }

        @Override
        void stop() {
            isOver = true;
            try {
                polling.join(5000);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
            consumer.shutdown();
        }
    }

    private static Object consume(Command command) throws Exception {
        Push push = new Push(command);
        READERS.put(command.client, push);
        return push.consumer.buildMQClientId();
    }

    private static Object pull(Command command) throws Exception {
        Lite lite = new Lite(command);
        READERS.put(command.client, lite);
        return lite.consumer.buildMQClientId();
    }

    private static Object stop(String client) {
        DefaultMQProducer producer = PRODUCERS.remove(client);
        if (producer != null) {
            producer.shutdown();
        }
        Reader reader = READERS.remove(client);
        if (reader != null) {
            reader.stop();
        }
        return producer != null || reader != null;
    }

    private static DefaultMQProducer producer(Command command) {
        return PRODUCERS.get(command.client);
    }

    private static Reader reader(Command command) {
        return READERS.get(command.client);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void setEnum(Object target, String setter, String value) throws Exception {
        for (Method method : target.getClass().getMethods()) {
            if (method.getName().equals(setter)) {
                method.invoke(target, Enum.valueOf((Class) method.getParameterTypes()[0], value));
                return;
            }
        }
        throw new NoSuchMethodException(setter);
    }

    private static Map<String, Object> queue(MessageQueue queue) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("topic", queue.getTopic());
        told.put("brokerName", queue.getBrokerName());
        told.put("queueId", queue.getQueueId());
        return told;
    }

    private static List<Object> queues(Collection<MessageQueue> queues) {
        List<Object> told = new ArrayList<>();
        for (MessageQueue queue : new java.util.TreeSet<>(queues)) {
            told.add(queue(queue));
        }
        return told;
    }

    private static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes == null ? new byte[0] : bytes);
    }

    private static String json(Object value) {
        StringBuilder text = new StringBuilder();
        write(text, value);
        return text.toString();
    }

    private static void write(StringBuilder text, Object value) {
        if (value instanceof Map) {
            String separator = "{";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                text.append(separator);
                write(text, String.valueOf(entry.getKey()));
                text.append(':');
                write(text, entry.getValue());
                separator = ",";
            }
            text.append(separator.equals("{") ? "{}" : "}");
        } else if (value instanceof Collection) {
            String separator = "[";
            for (Object each : (Collection<?>) value) {
                text.append(separator);
                write(text, each);
                separator = ",";
            }
            text.append(separator.equals("[") ? "[]" : "]");
        } else if (value instanceof String) {
            text.append('"');
            for (char c : ((String) value).toCharArray()) {
                if (c < 0x20 || c == '"' || c == '\\' || c > 0x7e) {
                    text.append(String.format("\\u%04x", (int) c));
                } else {
                    text.append(c);
                }
            }
            text.append('"');
        } else {
            text.append(value);
        }
    }
}
