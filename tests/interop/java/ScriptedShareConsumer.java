import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.errors.RecordDeserializationException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A share consumer that follows a script: configurations as arguments (KEY=VALUE), steps on standard input. After each
 * step it prints "ok", or the class and the message of the exception.
 */
public final class ScriptedShareConsumer {
    private static final Duration SHORT = Duration.ofMillis(100);
    private static final Duration LONG = Duration.ofMillis(3000);
    private static List<ConsumerRecord<Object, Object>> delivered = new ArrayList<>();
    private static RecordDeserializationException failure;

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> config = new HashMap<>();
        for (String argument : arguments) {
            int at = argument.indexOf('=');
            config.put(argument.substring(0, at), argument.substring(at + 1));
        }
        config.putIfAbsent("key.deserializer", ByteArrayDeserializer.class);
        config.putIfAbsent("value.deserializer", ByteArrayDeserializer.class);
        KafkaShareConsumer<Object, Object> consumer = new KafkaShareConsumer<>(config);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            try {
                run(consumer, line.split(" "));
                System.out.println("ok");
            } catch (RuntimeException e) {
                System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }
    }

    private static void run(KafkaShareConsumer<Object, Object> consumer, String[] words) {
        switch (words[0]) {
            case "subscribe":
                consumer.subscribe(Arrays.asList(words[1].split(",")));
                break;
            case "unsubscribe":
                consumer.unsubscribe();
                break;
            case "delivered":
                do {
                    poll(consumer, LONG);
                } while (delivered.size() != Integer.parseInt(words[1]));
                break;
            case "records":
                for (int left = Integer.parseInt(words[1]); left > 0; left -= delivered.size()) {
                    poll(consumer, LONG);
                }
                break;
            case "poll":
                long end = System.currentTimeMillis() + Long.parseLong(words[1]);
                while (System.currentTimeMillis() < end) {
                    poll(consumer, SHORT);
                }
                break;
            case "acknowledge":
                AcknowledgeType type = AcknowledgeType.valueOf(words[1].toUpperCase(Locale.ROOT));
                long first = Long.parseLong(words[2]);
                long last = Long.parseLong(words[3]);
                for (ConsumerRecord<Object, Object> record : delivered) {
                    if (record.offset() >= first && record.offset() <= last) {
                        consumer.acknowledge(record, type);
                    }
                }
                break;
            case "fails":
                failure = null;
                while (failure == null) {
                    try {
                        poll(consumer, LONG);
                    } catch (RecordDeserializationException e) {
                        failure = e;
                    }
                }
                check(failure.offset() == Long.parseLong(words[1]), "failed at offset " + failure.offset());
                break;
            case "acknowledge-failed":
                AcknowledgeType chosen = AcknowledgeType.valueOf(words[1].toUpperCase(Locale.ROOT));
                consumer.acknowledge(
                    failure.topicPartition().topic(), failure.topicPartition().partition(), failure.offset(), chosen);
                break;
            case "commit":
                consumer.commitSync();
                break;
            case "commit-async":
                consumer.commitAsync();
                break;
            case "close":
                consumer.close();
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void check(boolean isTrue, String message) {
        if (!isTrue) {
            throw new IllegalStateException(message);
        }
    }

    private static void poll(KafkaShareConsumer<Object, Object> consumer, Duration timeout) {
        ConsumerRecords<Object, Object> records = consumer.poll(timeout);
        delivered = new ArrayList<>();
        records.forEach(delivered::add);
    }
}
