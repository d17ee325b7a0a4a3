import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import kafka.server.KafkaConfig;

/**
 * Whether a broker would start with settings: a line a question, `name=text` parted by the character 31, beside those that every
 * broker needs. An answer is the words of the refusal, or an empty line.
 */
public class BrokerConfigs {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(refusal(settings(line)));
        }
        System.exit(0);
    }

    private static Map<String, String> settings(String line) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("process.roles", "broker,controller");
        settings.put("node.id", "1");
        settings.put("controller.quorum.voters", "1@127.0.0.1:9093");
        settings.put("listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093");
        settings.put("controller.listener.names", "CONTROLLER");
        settings.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
        for (String each : line.split("\u001f")) {
            int equals = each.indexOf('=');
            settings.put(each.substring(0, equals), each.substring(equals + 1));
        }
        return settings;
    }

    private static String refusal(Map<String, String> settings) {
        try {
            new KafkaConfig(settings, false);
            return "";
        } catch (RuntimeException error) {
            return String.valueOf(error.getMessage()).replace("\n", " ");
        }
    }
}
