import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What a producer of any age, from 0.8.2 on, is told: in every codec, with each acks, and where it is refused.
 * Arguments: bootstrap.servers, prefix of the topics, codecs (comma-separated), seconds that a send may take,
 * configurations (k=v, ...).
 */
public class OldProduce {
    static final int RECORDS = 3;
    static final int SHORT_WAIT_MS = 500;

    public static void main(String[] arguments) throws Exception {
        String prefix = arguments[1];
        for (String codec : arguments[2].split(",")) {
            for (String acks : new String[] {"all", "1"}) {
                try (KafkaProducer<byte[], byte[]> producer = producer(arguments, codec, acks)) {
                    Outcomes.say("send " + codec + " " + acks, () -> batch(arguments, producer, codec + " " + acks));
                }
            }
        }
        try (KafkaProducer<byte[], byte[]> producer = producer(arguments, "none", "0")) {
            Outcomes.say("send none 0", () -> producer.send(record(prefix + "unacknowledged", "k", 10)).get(
                seconds(arguments), TimeUnit.SECONDS).partition());
        }
        try (KafkaProducer<byte[], byte[]> producer = producer(arguments, "none", "all")) {
            Outcomes.say("partitions", () -> partitions(producer, prefix + "plain"));
            refused(arguments, producer, "too large for the topic", record(prefix + "small", "k", 5000));
            refused(arguments, producer, "too large for the producer", record(prefix + "plain", "k", 2000000));
            refused(arguments, producer, "no key in a compacted topic", record(prefix + "compacted", null, 10));
            refused(arguments, producer, "a key in a compacted topic", record(prefix + "compacted", "k", 10));
            refused(arguments, producer, "too few in sync", record(prefix + "in-sync", "k", 10));
        }
        // 0.8 and 0.9 name the longest wait otherwise than later ones.
        String[] impatient = Arrays.copyOf(arguments, arguments.length + 2);
        impatient[arguments.length] = "max.block.ms=" + SHORT_WAIT_MS;
        impatient[arguments.length + 1] = "metadata.fetch.timeout.ms=" + SHORT_WAIT_MS;
        try (KafkaProducer<byte[], byte[]> producer = producer(impatient, "none", "all")) {
            refused(arguments, producer, "no such name", record("no such name!", "k", 10));
        }
    }

    static List<Long> batch(String[] arguments, KafkaProducer<byte[], byte[]> producer, String name) throws Exception {
        List<Future<RecordMetadata>> told = new ArrayList<>();
        for (int i = 0; i < RECORDS; i++) {
            told.add(producer.send(record(arguments[1] + "plain", name + " " + i, 100)));
        }
        List<Long> offsets = new ArrayList<>();
        for (Future<RecordMetadata> each : told) {
            offsets.add(each.get(seconds(arguments), TimeUnit.SECONDS).offset());
        }
        return offsets;
    }

    static void refused(
            String[] arguments, KafkaProducer<byte[], byte[]> producer, String name, ProducerRecord<byte[], byte[]> record) {
        Outcomes.say(name, () -> producer.send(record).get(seconds(arguments), TimeUnit.SECONDS).offset());
    }

    static Map<Integer, String> partitions(KafkaProducer<byte[], byte[]> producer, String topic) {
        Map<Integer, String> found = new TreeMap<>();
        for (PartitionInfo info : producer.partitionsFor(topic)) {
            found.put(info.partition(), info.leader().id() + "/" + info.replicas().length + "/" + info.inSyncReplicas().length);
        }
        return found;
    }

    static long seconds(String[] arguments) {
        return Long.parseLong(arguments[3]);
    }

    static ProducerRecord<byte[], byte[]> record(String topic, String key, int size) {
        byte[] bytes = key == null ? null : key.getBytes(StandardCharsets.UTF_8);
        return new ProducerRecord<>(topic, 0, bytes, new byte[size]);
    }

    static KafkaProducer<byte[], byte[]> producer(String[] arguments, String codec, String acks) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("compression.type", codec);
        configs.put("acks", acks);
        configs.put("retries", "0");
        configs.put("linger.ms", "5");
        for (int i = 4; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            configs.put(pair[0], pair[1]);
        }
        return new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
    }
}
