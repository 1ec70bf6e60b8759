import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Runs mqadmin commands, one tab-separated line each, in one JVM. */
public class Admin {
    public static void main(String[] arguments) throws Exception {
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
}
