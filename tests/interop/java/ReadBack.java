import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads whole topics with the Java consumer. Each line of stdin is one reading, split by tabs: its name, topics split by
 * commas, configurations as KEY=VALUE. For each record it prints "NAME TOPIC PARTITION OFFSET TIMESTAMP KEY VALUE HEADERS", with
 * bytes in base 64 after a "=", "-" for null, and headers as NAME:BYTES split by commas.
 */
public class ReadBack {
    static final long SECONDS_MAX = 60;

    public static void main(String[] arguments) throws IOException {
        BufferedReader readings = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = readings.readLine(); line != null; line = readings.readLine()) {
            String[] words = line.split("\t");
            Map<String, Object> configs = new HashMap<>();
            for (String word : Arrays.asList(words).subList(2, words.length)) {
                int equals = word.indexOf('=');
                configs.put(word.substring(0, equals), word.substring(equals + 1));
            }
            try (KafkaConsumer<byte[], byte[]> consumer =
                     new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                read(words[0], List.of(words[1].split(",")), consumer, out);
            }
        }
        out.flush();
    }

    /** Up to the ends that are told at the beginning: with read_committed those are the last stable offsets. */
    static void read(String name, List<String> topics, KafkaConsumer<byte[], byte[]> consumer, PrintStream out) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (String topic : topics) {
            consumer.partitionsFor(topic).forEach(each -> partitions.add(new TopicPartition(topic, each.partition())));
        }
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
        long deadline = System.nanoTime() + SECONDS_MAX * 1_000_000_000L;
        while (partitions.stream().anyMatch(each -> consumer.position(each) < ends.get(each))) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException(name + ": not at the ends " + ends + " after " + SECONDS_MAX + " s");
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                out.println(String.join(" ", name, record.topic(), Integer.toString(record.partition()),
                    Long.toString(record.offset()), Long.toString(record.timestamp()), text(record.key()),
                    text(record.value()), headers(record)));
            }
        }
    }

    static String headers(ConsumerRecord<byte[], byte[]> record) {
        return StreamSupport.stream(record.headers().spliterator(), false)
            .map(header -> header.key() + ":" + text(header.value()))
            .collect(Collectors.joining(","));
    }

    static String text(byte[] bytes) {
        return bytes == null ? "-" : "=" + Base64.getEncoder().encodeToString(bytes);
    }
}
