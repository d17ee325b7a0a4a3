import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What a consumer measures. Arguments: consumer|share RECORDS KEY=VALUE ...; the consumer subscribes to "orders", polls until it
 * has read so many records, commits and unsubscribes. Printed are JSON lists of metrics: as the consumer is made, after the
 * commit, and after the end of its subscription.
 */
public class ConsumerMetrics {
    private static final int WAIT_MS_MAX = 60_000;
    private static final Duration POLL = Duration.ofMillis(100);
    private static final List<String> TOPICS = List.of("orders");

    public static void main(String[] arguments) throws Exception {
        int records = Integer.parseInt(arguments[1]);
        Map<String, Object> configs = new HashMap<>();
        for (int i = 2; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            configs.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        configs.put("key.deserializer", ByteArrayDeserializer.class);
        configs.put("value.deserializer", ByteArrayDeserializer.class);
        if (arguments[0].equals("share")) {
            KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(configs);
            run(
                records, consumer::metrics, () -> consumer.subscribe(TOPICS), () -> consumer.poll(POLL).count(),
                consumer::commitSync, consumer::unsubscribe, consumer::close);
        } else {
            KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(configs);
            run(
                records, consumer::metrics, () -> consumer.subscribe(TOPICS), () -> consumer.poll(POLL).count(),
                consumer::commitSync, consumer::unsubscribe, consumer::close);
        }
        System.exit(0);
    }

    private static void run(
        int records, Supplier<Map<MetricName, ? extends Metric>> metrics, Runnable subscribe, IntSupplier poll,
        Runnable commit, Runnable unsubscribe, Runnable close) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        out.println(json(metrics.get()));
        subscribe.run();
        long end = System.currentTimeMillis() + WAIT_MS_MAX;
        for (int left = records; left > 0 && System.currentTimeMillis() < end; ) {
            left -= poll.getAsInt();
        }
        commit.run();
        out.println(json(metrics.get()));
        unsubscribe.run();
        out.println(json(metrics.get()));
        close.run();
    }

    private static String json(Map<MetricName, ? extends Metric> found) {
        List<String> metrics = new ArrayList<>();
        for (Metric metric : found.values()) {
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
