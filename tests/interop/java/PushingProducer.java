import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.MetricsData;

/**
 * A producer that pushes its metrics, on a lead. Arguments: KEY=VALUE ...; its client instance id is printed once it has
 * one. Commands by line: "send" a record to "orders" and say so when it is there, "close" and say so, or "decode BASE64" an
 * OpenTelemetry MetricsData, which is printed in base 64 as its text.
 */
public class PushingProducer {
    private static final Duration WAIT_MAX = Duration.ofSeconds(60);

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> configs = new HashMap<>();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            configs.put(argument.substring(0, equals), argument.substring(equals + 1));
        }
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
        System.out.println(producer.clientInstanceId(WAIT_MAX));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "send" -> System.out.println(producer.send(new ProducerRecord<>("orders", new byte[10])).get());
                case "decode" -> {
                    MetricsData data = MetricsData.parseFrom(Base64.getDecoder().decode(words[1]));
                    System.out.println(Base64.getEncoder().encodeToString(data.toString().getBytes("UTF-8")));
                }
                case "close" -> {
                    producer.close(WAIT_MAX);
                    System.out.println("closed");
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
        System.exit(0);
    }
}
