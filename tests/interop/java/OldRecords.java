import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What a client from 0.10.1 on reads of what it wrote, by offset and by time.
 * Arguments: bootstrap.servers, prefix of the topics, codecs (comma-separated), seconds that a call may take.
 */
public class OldRecords {
    static final long FIRST_MS = 1500000000000L;
    static final int RECORDS = 4;

    public static void main(String[] arguments) throws Exception {
        long seconds = Long.parseLong(arguments[3]);
        TopicPartition timed = new TopicPartition(arguments[1] + "plain", 1);
        TopicPartition appended = new TopicPartition(arguments[1] + "appended", 0);
        int sent = 0;
        for (String codec : arguments[2].split(",")) {
            Map<String, Object> configs = new HashMap<>();
            configs.put("bootstrap.servers", arguments[0]);
            configs.put("compression.type", codec);
            configs.put("linger.ms", "5");
            configs.put("retries", "0");
            configs.put("max.block.ms", String.valueOf(seconds * 1000));
            try (KafkaProducer<byte[], byte[]> producer =
                     new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer())) {
                for (int i = 0; i < RECORDS; i++) {
                    producer.send(record(timed, codec, sent + i)).get(seconds, TimeUnit.SECONDS);
                    producer.send(record(appended, codec, sent + i)).get(seconds, TimeUnit.SECONDS);
                }
                sent += RECORDS;
            } catch (Exception error) {
                Outcomes.failed("send " + codec, error);
            }
        }
        int total = sent;
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("group.id", "unused");
        configs.put("enable.auto.commit", "false");
        configs.put("auto.offset.reset", "none");
        configs.put("fetch.max.wait.ms", "50");
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(Collections.singleton(timed));
            Outcomes.say("begin", () -> new TreeMap<>(byPartition(consumer.beginningOffsets(Arrays.asList(timed, appended)))));
            Outcomes.say("end", () -> new TreeMap<>(byPartition(consumer.endOffsets(Arrays.asList(timed, appended)))));
            for (long time : new long[] {FIRST_MS - 5, FIRST_MS, FIRST_MS + 2500, FIRST_MS + 1000 * total}) {
                Outcomes.say("offset at " + (time - FIRST_MS), () -> atTime(consumer, timed, time));
            }
            consumer.seekToEnd(Collections.singleton(timed));
            Outcomes.say("end by seek", () -> consumer.position(timed));
            consumer.seekToBeginning(Collections.singleton(timed));
            Outcomes.say("begin by seek", () -> consumer.position(timed));
            for (TopicPartition each : Arrays.asList(timed, appended)) {
                Outcomes.say("read " + (each == timed ? "timed" : "appended"), () -> read(consumer, each, 0, total, seconds));
            }
            Outcomes.say("read from 2", () -> read(consumer, timed, 2, total - 2, seconds).size());
            Outcomes.say("read out of range", () -> {
                try { // where nothing could be written, fetches come to nothing either
                    return read(consumer, timed, 1000, Math.min(total, 1), seconds);
                } catch (RuntimeException error) {
                    return error.getClass().getSimpleName(); // the message names who leads, and where
                }
            });
        }
    }

    static ProducerRecord<byte[], byte[]> record(TopicPartition partition, String codec, int number) {
        return new ProducerRecord<>(partition.topic(), partition.partition(), FIRST_MS + 1000L * number,
            codec.getBytes(StandardCharsets.UTF_8), ("value " + number).getBytes(StandardCharsets.UTF_8));
    }

    static Map<String, Long> byPartition(Map<TopicPartition, Long> offsets) {
        Map<String, Long> found = new HashMap<>();
        offsets.forEach((partition, offset) -> found.put(partition.toString(), offset));
        return found;
    }

    static String atTime(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long time) {
        OffsetAndTimestamp found = consumer.offsetsForTimes(Collections.singletonMap(partition, time)).get(partition);
        return found == null ? "none" : found.offset() + "@" + (found.timestamp() - FIRST_MS);
    }

    static List<String> read(
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long from, int count, long seconds) {
        consumer.assign(Collections.singleton(partition));
        consumer.seek(partition, from);
        List<String> found = new ArrayList<>();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (found.size() < count && System.nanoTime() < deadline) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(200)) {
                long time = record.timestamp() - FIRST_MS;
                String when = record.timestampType() + (record.timestampType().id == 1 && time > 1e9 ? "" : "@" + time);
                String key = new String(record.key(), StandardCharsets.UTF_8);
                found.add(record.offset() + " " + key + " " + new String(record.value(), StandardCharsets.UTF_8) + " " + when);
            }
        }
        return found;
    }
}
