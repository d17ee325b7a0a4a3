import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A consumer of any age, from 0.9 to 2.8: assigned partitions, from offset 0 on, until so many records have come.
 * Arguments: bootstrap.servers, topic, number of partitions, number of records. Prints "read VALUE" for each.
 */
public class OldConsumer {
    static final long SECONDS_MAX = 60;

    @SuppressWarnings("deprecation")
    public static void main(String[] arguments) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("group.id", "unused");
        configs.put("enable.auto.commit", "false");
        List<TopicPartition> partitions = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments[2]); i++) {
            partitions.add(new TopicPartition(arguments[1], i));
        }
        int missing = Integer.parseInt(arguments[3]);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_MAX);
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(partitions);
            for (TopicPartition partition : partitions) {
                consumer.seek(partition, 0);
            }
            while (missing > 0 && System.nanoTime() < deadline) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(200)) {
                    System.out.println("read " + new String(record.value(), StandardCharsets.UTF_8));
                    missing--;
                }
            }
        }
    }
}
