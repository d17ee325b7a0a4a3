import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The same records to several topics, each with a compression type and a batch size of its own.
 * Arguments: bootstrap.servers, number of records, then CODEC:BATCH_SIZE:TOPIC for each topic.
 */
public class OldBatches {
    static final long FIRST_TIMESTAMP = 1_600_000_000_000L;

    public static void main(String[] arguments) {
        for (int at = 2; at < arguments.length; at++) {
            String[] words = arguments[at].split(":");
            send(arguments[0], Integer.parseInt(arguments[1]), words[0], words[1], words[2]);
        }
    }

    static void send(String servers, int records, String codec, String batchSize, String topic) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", servers);
        configs.put("enable.idempotence", "false");
        configs.put("linger.ms", "20000");
        configs.put("batch.size", batchSize);
        configs.put("compression.type", codec);
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < records; i++) {
                byte[] key = i % 3 == 0 ? null : new byte[i];
                byte[] value = new byte[10 + 7 * i % 50];
                producer.send(new ProducerRecord<>(topic, 0, FIRST_TIMESTAMP + i, key, value));
            }
            producer.flush();
        }
    }
}
