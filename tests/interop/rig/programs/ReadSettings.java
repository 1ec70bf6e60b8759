import java.io.FileInputStream;
import java.io.InputStream;
import java.util.Properties;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/** Reads a properties file into the settings of a NameServer and of a broker, and writes what they are then. */
public class ReadSettings {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (InputStream file = new FileInputStream(arguments[0])) {
            properties.load(file);
        }
        print("namesrv", properties, new NamesrvConfig(), new NettyServerConfig());
        print("broker", properties, new BrokerConfig(), new NettyServerConfig(), new NettyClientConfig(),
            new MessageStoreConfig());
        System.out.println("@@END");
    }

    private static void print(String program, Properties properties, Object... settings) {
        for (Object each : settings) {
            MixAll.properties2Object(properties, each);
            Properties read = MixAll.object2Properties(each);
            for (String key : read.stringPropertyNames()) {
                System.out.println(program + "\t" + key + "\t" + read.getProperty(key));
            }
            for (java.lang.reflect.Method method : each.getClass().getMethods()) {
                String name = method.getName();
                if (name.startsWith("set") && method.getParameterCount() == 1) {
                    System.out.println(program + "-key\t" + name.substring(3, 4).toLowerCase() + name.substring(4)
                        + "\t" + method.getParameterTypes()[0].getSimpleName());
                }
            }
        }
    }
}
