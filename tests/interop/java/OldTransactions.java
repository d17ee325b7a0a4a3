import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Transactions of a Java client of any age, from 0.11 to 4.3: committed and aborted ones over all partitions, offsets of a
 * group in them, a producer that is fenced, and one whose transaction times out.
 * Arguments: bootstrap.servers, topic, number of partitions, group.
 * Prints "NAME: OUTCOME" for what may fail, and a line "ISOLATION VALUE" for every record that a consumer has read.
 */
public class OldTransactions {
    static final int RECORDS = 30;
    static final long SECONDS_MAX = 60;
    static final String LAST = "last";

    static String[] arguments;

    static int partitions;

    public static void main(String[] given) throws Exception {
        arguments = given;
        partitions = Integer.parseInt(given[2]);
        try (KafkaProducer<byte[], byte[]> producer = producer("writer", 60000)) {
            for (String name : new String[] {"committed", "aborted", "committed again", "aborted again"}) {
                producer.beginTransaction();
                send(producer, name);
                long offset = name.endsWith("again") ? 20 : 10;
                sendOffset(producer, name.startsWith("aborted") ? offset + 1 : offset);
                if (name.startsWith("aborted")) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
            producer.beginTransaction();
            send(producer, "fenced");
            try (KafkaProducer<byte[], byte[]> successor = producer("writer", 60000)) {
                Outcomes.say("zombie", () -> {
                    producer.commitTransaction();
                    return "committed";
                });
                successor.beginTransaction();
                send(successor, "successor");
                successor.commitTransaction();
            }
        }
        try (KafkaProducer<byte[], byte[]> slow = producer("slow", 200)) {
            slow.beginTransaction();
            send(slow, "timed out");
            awaitAbort();
            Outcomes.say("timed out", () -> {
                slow.commitTransaction();
                return "committed";
            });
        }
        try (KafkaProducer<byte[], byte[]> producer = producer("last", 60000)) {
            producer.beginTransaction();
            for (int partition = 0; partition < partitions; partition++) {
                producer.send(new ProducerRecord<>(arguments[1], partition, null, bytes(LAST)));
            }
            producer.commitTransaction();
        }
        for (String isolation : new String[] {"read_committed", "read_uncommitted"}) {
            read(isolation);
        }
        try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_committed")) {
            System.out.println("offset: " + committed(consumer));
        }
    }

    static KafkaProducer<byte[], byte[]> producer(String id, int timeoutMs) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("transactional.id", id);
        configs.put("transaction.timeout.ms", timeoutMs);
        configs.put("retry.backoff.ms", "20");
        configs.put("linger.ms", "5");
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        return producer;
    }

    static void send(KafkaProducer<byte[], byte[]> producer, String name) throws Exception {
        List<java.util.concurrent.Future<?>> sent = new ArrayList<>();
        for (int i = 0; i < RECORDS; i++) {
            sent.add(producer.send(new ProducerRecord<>(arguments[1], i % partitions, null, bytes(name + " " + i))));
        }
        for (java.util.concurrent.Future<?> each : sent) {
            each.get(SECONDS_MAX, TimeUnit.SECONDS);
        }
    }

    /** 2.5 brought the call with the metadata of the group, and 4.0 has no other. */
    static void sendOffset(KafkaProducer<byte[], byte[]> producer, long offset) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets =
            Collections.singletonMap(new TopicPartition(arguments[1], 0), new OffsetAndMetadata(offset));
        Class<?> type;
        Object group;
        try {
            type = Class.forName("org.apache.kafka.clients.consumer.ConsumerGroupMetadata", true,
                KafkaConsumer.class.getClassLoader());
            group = type.getConstructor(String.class).newInstance(arguments[3]);
        } catch (ClassNotFoundException error) {
            type = String.class;
            group = arguments[3];
        }
        KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, type).invoke(producer, offsets, group);
    }

    /** Until the end for a reader of committed records is that of the log: nothing is open. */
    static void awaitAbort() throws Exception {
        List<TopicPartition> all = all();
        try (KafkaConsumer<byte[], byte[]> committed = consumer("read_committed");
             KafkaConsumer<byte[], byte[]> uncommitted = consumer("read_uncommitted")) {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_MAX);
            while (!committed.endOffsets(all).equals(uncommitted.endOffsets(all))) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("no abort within " + SECONDS_MAX + " s");
                }
                Thread.sleep(20);
            }
        }
    }

    static void read(String isolation) throws Exception {
        int ended = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolation)) {
            consumer.assign(all());
            consumer.seekToBeginning(all());
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_MAX);
            while (ended < partitions) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("no end of the topic within " + SECONDS_MAX + " s");
                }
                for (ConsumerRecord<byte[], byte[]> record : OldGroup.poll(consumer)) {
                    String value = new String(record.value(), StandardCharsets.UTF_8);
                    if (value.equals(LAST)) {
                        ended++;
                    } else {
                        System.out.println(isolation + " " + value);
                    }
                }
            }
        }
    }

    static List<TopicPartition> all() {
        List<TopicPartition> all = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            all.add(new TopicPartition(arguments[1], partition));
        }
        return all;
    }

    /** 2.4 brought the call for several partitions, and 4.0 has no other. */
    @SuppressWarnings("unchecked")
    static long committed(KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        TopicPartition first = all().get(0);
        try {
            Method committed = KafkaConsumer.class.getMethod("committed", java.util.Set.class);
            Object found = committed.invoke(consumer, Collections.singleton(first));
            return ((Map<TopicPartition, OffsetAndMetadata>) found).get(first).offset();
        } catch (NoSuchMethodException error) {
            Method committed = KafkaConsumer.class.getMethod("committed", TopicPartition.class);
            return ((OffsetAndMetadata) committed.invoke(consumer, first)).offset();
        }
    }

    static KafkaConsumer<byte[], byte[]> consumer(String isolation) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("group.id", arguments[3]);
        configs.put("enable.auto.commit", "false");
        configs.put("isolation.level", isolation);
        configs.put("fetch.max.wait.ms", "50");
        return new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
