import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.namesrv.kvconfig.KVConfigManager;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;

/**
 * Reads files as a NameServer does at its start, one tab-separated command per line: "kv FILE RESULT" loads KV entries,
 * "settings FILE RESULT" what -c names. What was read is written to the file RESULT, as JSON.
 */
public class StoredFiles {
    public static void main(String[] arguments) throws Exception {
        NamesrvConfig config = new NamesrvConfig();
        NamesrvController controller = new NamesrvController(config, new NettyServerConfig());
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        System.out.println("@@READY");
        int number = 0;
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            number++;
            String[] words = line.split("\t", -1);
            try {
                Object read = words[0].equals("kv") ? entries(controller, words[1]) : settings(words[1]);
                Files.write(Paths.get(words[2]), RemotingSerializable.encode(read));
            } catch (Throwable error) {
                error.printStackTrace();
            }
            System.err.flush();
            System.out.println("@@DONE " + number);
            System.out.flush();
        }
    }

    private static Object entries(NamesrvController controller, String file) throws Exception {
        controller.getNamesrvConfig().setKvConfigPath(file);
        KVConfigManager manager = new KVConfigManager(controller);
        manager.load();
        Field table = KVConfigManager.class.getDeclaredField("configTable");
        table.setAccessible(true);
        return table.get(manager);
    }

    private static Object settings(String file) throws Exception {
        Properties properties = new Properties();
        try (InputStream input = new BufferedInputStream(new FileInputStream(file))) {
            properties.load(input);
        }
        NamesrvConfig config = new NamesrvConfig();
        MixAll.properties2Object(properties, config);
        TreeMap<Object, Object> read = new TreeMap<>(properties);
        read.put("productEnvName", config.getProductEnvName());
        return read;
    }
}
