import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What a producer measures. Arguments: SIZES KEY=VALUE ...; SIZES are those of the values to send to "orders", by commas, a
 * slash before those that follow a flush, as in "10,100/5". Printed are two JSON lists of metrics: as the producer is made,
 * and after all was sent.
 */
public class ProducerMetrics {
    private static final int WAIT_MS_MAX = 60_000;
    private static final int ANSWERED_FIRST = 2;

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Map<String, Object> configs = new HashMap<>();
        for (int i = 1; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            configs.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
        out.println(metrics(producer));
        // Versions and metadata are asked for in any case: what comes after them is the same in every run.
        for (int i = 0; i < WAIT_MS_MAX && responses(producer) < ANSWERED_FIRST; i++) {
            Thread.sleep(1);
        }
        for (String flushed : arguments[0].split("/")) {
            for (String size : flushed.split(",")) {
                producer.send(new ProducerRecord<>("orders", 0, 1234L, null, new byte[Integer.parseInt(size)]));
            }
            producer.flush();
        }
        out.println(metrics(producer));
        producer.close(Duration.ofSeconds(20));
        System.exit(0);
    }

    private static double responses(KafkaProducer<byte[], byte[]> producer) {
        return producer.metrics().values().stream()
            .filter(metric -> metric.metricName().name().equals("response-total"))
            .filter(metric -> metric.metricName().group().equals("producer-metrics"))
            .mapToDouble(metric -> (double) metric.metricValue()).sum();
    }

    private static String metrics(KafkaProducer<byte[], byte[]> producer) {
        List<String> metrics = new ArrayList<>();
        for (Metric metric : producer.metrics().values()) {
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
