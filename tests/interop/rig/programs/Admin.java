import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Runs mqadmin commands, one tab-separated line each, in one JVM. */
public class Admin {
    private static final int LOOK_EVERY_MILLIS = 20;

    public static void main(String[] arguments) throws Exception {
        hurryShutdowns(Thread.currentThread());
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("@@READY");
        int number = 0;
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            number++;
            try {
                MQAdminStartup.main0(line.split("\t", -1), null);
            } catch (Throwable error) {
                error.printStackTrace();
            }
            System.err.flush();
            System.out.println("@@DONE " + number);
            System.out.flush();
        }
    }

    /**
     * At its end a 5.x command joins its event thread, which looks up from its queue every 3 s only. The
     * command has printed everything by then: wake that thread, and a script of a hundred commands takes
     * half a minute instead of two.
     */
    private static void hurryShutdowns(Thread main) {
        Thread watcher = new Thread(() -> {
            while (true) {
                if (isJoiningServiceThread(main)) {
                    Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().startsWith("NettyEventExecutor"))
                        .forEach(Thread::interrupt);
                }
                try {
                    Thread.sleep(LOOK_EVERY_MILLIS);
                } catch (InterruptedException error) {
                    return;
                }
            }
        });
        watcher.setDaemon(true);
        watcher.start();
    }

    private static boolean isJoiningServiceThread(Thread main) {
        StackTraceElement[] stack = main.getStackTrace();
        return Arrays.stream(stack).anyMatch(frame -> frame.getMethodName().equals("join"))
            && Arrays.stream(stack).anyMatch(frame -> frame.getClassName().endsWith(".ServiceThread"));
    }
}
