import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.types.Password;

/**
 * What ProducerConfig and KafkaProducer make of settings. The first answer is the table of keys; then a line a question:
 * settings `name=T:text`, parted by the character 31, T being the type of the value (s i l h d b: as in Java's names, n null,
 * L a list of texts parted by the character 30). An answer is JSON: `values` of the configuration and `effective` ones of the
 * producer's parts, or the `error` with the `stage` that raised it.
 */
public class ProducerConfigs {
    private static final long CLOSE_MS_MAX = 200;
    private static final int CLOSING_MAX = 50;
    private static final Deque<Thread> CLOSING = new ArrayDeque<>();

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        out.println(table());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(settings(line)));
        }
        System.exit(0);
    }

    private static String table() {
        List<String> keys = new ArrayList<>();
        for (ConfigDef.ConfigKey key : ProducerConfig.configDef().configKeys().values()) {
            Map<String, Object> told = new TreeMap<>();
            told.put("name", key.name);
            told.put("type", key.type().toString());
            told.put("importance", key.importance.toString());
            told.put("required", !key.hasDefault());
            told.put("default", key.hasDefault() ? key.defaultValue : null);
            told.put("valid", key.validator == null ? null : key.validator.toString());
            keys.add(json(told));
        }
        return "[" + String.join(", ", keys) + "]";
    }

    private static Map<String, Object> settings(String line) {
        Map<String, Object> settings = new HashMap<>();
        for (String part : line.split("\u001f")) {
            if (part.isEmpty()) continue;
            int equals = part.indexOf('=');
            settings.put(part.substring(0, equals), value(part.charAt(equals + 1), part.substring(equals + 3)));
        }
        return settings;
    }

    private static Object value(char type, String text) {
        switch (type) {
            case 's': return text;
            case 'i': return Integer.valueOf(text);
            case 'l': return Long.valueOf(text);
            case 'h': return Short.valueOf(text);
            case 'd': return Double.valueOf(text);
            case 'b': return Boolean.valueOf(text);
            case 'L': return text.isEmpty() ? List.of() : Arrays.asList(text.split("\u001e", -1));
            case 'n': return null;
            default: throw new IllegalArgumentException("no type " + type);
        }
    }

    private static String answer(Map<String, Object> settings) throws Exception {
        Map<String, Object> answer = new TreeMap<>();
        try {
            answer.put("values", new TreeMap<String, Object>(new ProducerConfig(settings).values()));
        } catch (RuntimeException error) {
            return failed(answer, "config", error);
        }
        try {
            KafkaProducer<Object, Object> producer = new KafkaProducer<>(settings);
            Object accumulator = field(producer, "accumulator");
            Map<String, Object> effective = new TreeMap<>();
            effective.put("batch.size", field(accumulator, "batchSize"));
            effective.put("linger.ms", field(accumulator, "lingerMs"));
            effective.put("delivery.timeout.ms", field(accumulator, "deliveryTimeoutMs"));
            effective.put("buffer.memory", field(field(accumulator, "free"), "totalMemory"));
            effective.put("partitioner.adaptive.partitioning.enable", field(accumulator, "enableAdaptivePartitioning"));
            Object compression = field(accumulator, "compression");
            effective.put("compression.type", compression.getClass().getSimpleName());
            effective.put("compression.level", fieldOrNull(compression, "level"));
            Object sender = field(producer, "sender");
            effective.put("acks", field(sender, "acks"));
            effective.put("retries", field(sender, "retries"));
            effective.put("guarantee.message.order", field(sender, "guaranteeMessageOrder"));
            answer.put("effective", effective);
            close(producer);
        } catch (RuntimeException error) {
            answer.remove("values");
            return failed(answer, "producer", error);
        }
        return json(answer);
    }

    /** Its thread may be in a pause of retry.backoff.ms, which can be years. The next questions do not wait for it. */
    private static void close(KafkaProducer<Object, Object> producer) throws InterruptedException {
        Thread closing = new Thread(() -> producer.close(Duration.ZERO));
        closing.setDaemon(true);
        closing.start();
        CLOSING.add(closing);
        if (CLOSING.size() > CLOSING_MAX) CLOSING.remove().join(CLOSE_MS_MAX);
    }

    private static String failed(Map<String, Object> answer, String stage, Throwable error) {
        Throwable cause = error;
        while (cause.getMessage() != null && cause.getMessage().startsWith("Failed to construct") && cause.getCause() != null) {
            cause = cause.getCause();
        }
        answer.put("stage", stage);
        answer.put("error", cause.getClass().getSimpleName());
        answer.put("message", String.valueOf(cause.getMessage()));
        return json(answer);
    }

    private static Object field(Object owner, String name) throws Exception {
        for (Class<?> type = owner.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(owner);
                }
            }
        }
        throw new NoSuchFieldException(owner.getClass() + " has no " + name);
    }

    private static Object fieldOrNull(Object owner, String name) throws Exception {
        try {
            return field(owner, name);
        } catch (NoSuchFieldException error) {
            return null;
        }
    }

    private static String json(Object value) {
        if (value == null) return "null";
        if (value instanceof Password) return quoted(((Password) value).value());
        if (value instanceof Class) return quoted(((Class<?>) value).getName());
        if (value instanceof Double && !Double.isFinite((Double) value)) return quoted(value.toString());
        if (value instanceof Boolean || value instanceof Number) return value.toString();
        if (value instanceof Map) {
            List<String> parts = new ArrayList<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                parts.add(quoted(entry.getKey().toString()) + ": " + json(entry.getValue()));
            }
            return "{" + String.join(", ", parts) + "}";
        }
        if (value instanceof List) {
            List<String> parts = new ArrayList<>();
            for (Object each : (List<?>) value) parts.add(json(each));
            return "[" + String.join(", ", parts) + "]";
        }
        return quoted(value.toString());
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') quoted.append('\\').append(each);
            else if (each < 32 || each > 126) quoted.append(String.format("\\u%04x", (int) each));
            else quoted.append(each);
        }
        return quoted.append('"').toString();
    }
}
