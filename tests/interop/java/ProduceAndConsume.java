import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Produces and reads back, with assigned partitions, once for every codec and every kind of acknowledgement.
 * Arguments: bootstrap.servers, topic. Prints one line a combination: "codec acks ok" or "codec acks" and what differs.
 */
public class ProduceAndConsume {
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    static final List<String> ACKS = List.of("0", "1", "all", "idempotent");
    static final int RECORDS = 300;
    static final long SECONDS_MAX = 60;

    public static void main(String[] arguments) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("allow.auto.create.topics", false);
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            for (String codec : CODECS) {
                for (String acks : ACKS) {
                    String outcome;
                    try {
                        outcome = combination(arguments[0], arguments[1], codec, acks, consumer);
                    } catch (Exception e) {
                        outcome = String.valueOf(e);
                    }
                    System.out.println(codec + " " + acks + " " + outcome.replace('\n', ' '));
                }
            }
        }
    }

    static String combination(String servers, String topic, String codec, String acks,
                              KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        List<TopicPartition> partitions = new ArrayList<>();
        for (PartitionInfo info : consumer.partitionsFor(topic)) {
            partitions.add(new TopicPartition(topic, info.partition()));
        }
        consumer.assign(partitions);
        Map<TopicPartition, Long> starts = consumer.endOffsets(partitions);
        starts.forEach(consumer::seek);

        Map<Integer, List<ProducerRecord<byte[], byte[]>>> sent = produce(servers, topic, codec, acks, partitions.size());
        Map<Integer, List<ConsumerRecord<byte[], byte[]>>> read = read(consumer);
        for (TopicPartition partition : partitions) {
            String difference = difference(
                sent.getOrDefault(partition.partition(), List.of()), read.getOrDefault(partition.partition(), List.of()),
                starts.get(partition));
            if (difference != null) {
                return partition + ": " + difference;
            }
        }
        return "ok";
    }

    static Map<Integer, List<ProducerRecord<byte[], byte[]>>> produce(
            String servers, String topic, String codec, String acks, int partitions) throws Exception {
        boolean idempotent = acks.equals("idempotent");
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", servers);
        configs.put("acks", idempotent ? "all" : acks);
        configs.put("enable.idempotence", idempotent);
        configs.put("compression.type", codec);
        configs.put("linger.ms", 5);
        configs.put("batch.size", 8192);
        Random random = new Random(7);
        Map<Integer, List<ProducerRecord<byte[], byte[]>>> sent = new HashMap<>();
        List<Future<RecordMetadata>> told = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < RECORDS; i++) {
                byte[] value = new byte[random.nextInt(2000)];
                random.nextBytes(value);
                byte[] key = i % 7 == 0 ? null : ("key-" + i).getBytes(StandardCharsets.UTF_8);
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                    topic, i % partitions, System.currentTimeMillis() + i, key, i % 11 == 0 ? null : value,
                    List.of(new RecordHeader("number", Integer.toString(i).getBytes(StandardCharsets.UTF_8))));
                sent.computeIfAbsent(i % partitions, p -> new ArrayList<>()).add(record);
                told.add(producer.send(record));
            }
            for (Future<RecordMetadata> answer : told) {
                answer.get(SECONDS_MAX, TimeUnit.SECONDS);
            }
        }
        return sent;
    }

    static Map<Integer, List<ConsumerRecord<byte[], byte[]>>> read(KafkaConsumer<byte[], byte[]> consumer) {
        Map<Integer, List<ConsumerRecord<byte[], byte[]>>> read = new HashMap<>();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_MAX);
        int count = 0;
        while (count < RECORDS && System.nanoTime() < deadline) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                read.computeIfAbsent(record.partition(), p -> new ArrayList<>()).add(record);
                count++;
            }
        }
        return read;
    }

    static String difference(List<ProducerRecord<byte[], byte[]>> sent, List<ConsumerRecord<byte[], byte[]>> read,
                             long start) {
        if (sent.size() != read.size()) {
            return "sent " + sent.size() + " records, read " + read.size();
        }
        for (int i = 0; i < sent.size(); i++) {
            ProducerRecord<byte[], byte[]> there = sent.get(i);
            ConsumerRecord<byte[], byte[]> here = read.get(i);
            boolean same = Arrays.equals(there.key(), here.key()) && Arrays.equals(there.value(), here.value())
                && there.headers().equals(here.headers()) && there.timestamp() == here.timestamp()
                && here.offset() == start + i;
            if (!same) {
                return "record " + i + " sent as " + there + ", read as " + here;
            }
        }
        return null;
    }
}
