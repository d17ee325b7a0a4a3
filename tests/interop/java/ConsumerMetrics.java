import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What a consumer measures. Arguments: RECORDS KEY=VALUE ...; the consumer subscribes to "orders", polls until it has read so
 * many records, commits and unsubscribes. Printed are JSON lists of metrics: as the consumer is made, after the commit, and
 * after the end of its subscription.
 */
public class ConsumerMetrics {
    private static final int WAIT_MS_MAX = 60_000;

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Map<String, Object> configs = new HashMap<>();
        for (int i = 1; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            configs.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        out.println(metrics(consumer));
        consumer.subscribe(List.of("orders"));
        long end = System.currentTimeMillis() + WAIT_MS_MAX;
        for (int left = Integer.parseInt(arguments[0]); left > 0 && System.currentTimeMillis() < end; ) {
            left -= consumer.poll(Duration.ofMillis(100)).count();
        }
        consumer.commitSync();
        out.println(metrics(consumer));
        consumer.unsubscribe();
        out.println(metrics(consumer));
        consumer.close();
        System.exit(0);
    }

    private static String metrics(KafkaConsumer<byte[], byte[]> consumer) {
        List<String> metrics = new ArrayList<>();
        for (Metric metric : consumer.metrics().values()) {
            List<String> tags = new ArrayList<>();
            metric.metricName().tags().forEach((name, value) -> tags.add(text(name) + ": " + text(value)));
            metrics.add(String.format(
                "{\"group\": %s, \"name\": %s, \"tags\": {%s}, \"description\": %s, \"value\": %s}",
                text(metric.metricName().group()), text(metric.metricName().name()), String.join(", ", tags),
                text(metric.metricName().description()), value(metric.metricValue())));
        }
        return "[" + String.join(", ", metrics) + "]";
    }

    private static String value(Object value) {
        boolean isNumber = value instanceof Number && !Double.isNaN(((Number) value).doubleValue());
        return isNumber ? value.toString() : text(value.toString());
    }

    private static String text(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
