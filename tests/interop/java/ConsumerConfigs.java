import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Whether KafkaConsumer accepts settings: a line per question, settings `name=text` parted by the character 31. The answer
 * is "accepted", or the message of the error's cause.
 */
public class ConsumerConfigs {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> settings = new HashMap<>();
            for (String part : line.split("\u001f")) {
                int equals = part.indexOf('=');
                settings.put(part.substring(0, equals), part.substring(equals + 1));
            }
            out.println(answer(settings));
        }
        System.exit(0);
    }

    private static String answer(Map<String, Object> settings) {
        try {
            new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())
                .close(CloseOptions.timeout(Duration.ZERO));
            return "accepted";
        } catch (RuntimeException error) {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            return String.valueOf(cause.getMessage()).replace('\n', ' ');
        }
    }
}
