import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A group of consumers of any age, from 0.9 to 4.3: two members share the partitions, one leaves and the other takes its
 * partitions over, and after the last one has left a third member continues at the committed offsets.
 * Arguments: bootstrap.servers, topic, number of partitions, group, configurations of the members (k=v ...).
 * Prints a line "read VALUE" for every record that a member has read.
 */
public class OldGroup {
    static final int RECORDS = 40;
    /** Longer than the session of a member of 0.9, 30 s: it does not wait until its LeaveGroup request is sent. */
    static final long SECONDS_MAX = 60;
    static final long POLL_MS = 50;

    static final List<String> READ = new CopyOnWriteArrayList<>();

    static String[] arguments;

    static volatile Throwable failure;

    public static void main(String[] given) throws Exception {
        arguments = given;
        READ.clear();
        failure = null;
        int partitions = Integer.parseInt(arguments[2]);
        Member first = new Member("first");
        await("the first member to own every partition", () -> first.owned.size() == partitions);
        Member second = new Member("second");
        await("two members to own one half each", () -> first.owned.size() == partitions / 2
            && second.owned.size() == partitions / 2 && Collections.disjoint(first.owned, second.owned));
        produce("shared");
        await("the records of both members", () -> READ.size() == RECORDS);
        second.leave();
        await("the first member to own every partition again", () -> first.owned.size() == partitions);
        produce("taken over");
        await("the records of one member", () -> READ.size() == 2 * RECORDS);
        first.leave();
        produce("continued");
        Member third = new Member("third");
        await("the records since the last commit", () -> READ.size() >= 3 * RECORDS);
        third.leave();
        READ.forEach(value -> System.out.println("read " + value));
    }

    static void await(String expected, BooleanSupplier done) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_MAX);
        while (!done.getAsBoolean()) {
            if (failure != null) {
                throw new IllegalStateException(failure);
            }
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("after " + SECONDS_MAX + " s still waiting for " + expected + "; read " + READ);
            }
            Thread.sleep(5);
        }
    }

    static void produce(String name) throws Exception {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < RECORDS; i++) {
                byte[] value = (name + " " + i).getBytes(StandardCharsets.UTF_8);
                producer.send(new ProducerRecord<>(arguments[1], i % Integer.parseInt(arguments[2]), value, value));
            }
        }
    }

    static class Member extends Thread {
        volatile Set<TopicPartition> owned = new HashSet<>();
        volatile boolean leaving;

        Member(String name) {
            super(name);
            setContextClassLoader(OldGroup.class.getClassLoader());
            start();
        }

        void leave() throws Exception {
            leaving = true;
            join(TimeUnit.SECONDS.toMillis(SECONDS_MAX));
        }

        @Override
        public void run() {
            Map<String, Object> configs = new HashMap<>();
            configs.put("bootstrap.servers", arguments[0]);
            configs.put("group.id", arguments[3]);
            configs.put("enable.auto.commit", "false");
            configs.put("auto.offset.reset", "earliest");
            configs.put("metadata.max.age.ms", "1000");
            configs.put("retry.backoff.ms", "20");
            for (int i = 4; i < arguments.length; i++) {
                String[] pair = arguments[i].split("=", 2);
                configs.put(pair[0], pair[1]);
            }
            try (KafkaConsumer<byte[], byte[]> consumer =
                     new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                consumer.subscribe(Collections.singletonList(arguments[1]));
                while (!leaving) {
                    ConsumerRecords<byte[], byte[]> records = poll(consumer);
                    Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
                    for (ConsumerRecord<byte[], byte[]> record : records) {
                        next.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    }
                    if (!next.isEmpty()) {
                        // Without offsets, 2.4 leaves out the positions that it is validating at that moment.
                        consumer.commitSync(next);
                    }
                    for (ConsumerRecord<byte[], byte[]> record : records) {
                        READ.add(new String(record.value(), StandardCharsets.UTF_8));
                    }
                    owned = new HashSet<>(consumer.assignment());
                }
            } catch (Throwable error) {
                failure = error;
            }
        }
    }

    /** 2.0 brought poll(Duration), and 4.0 has no other. */
    @SuppressWarnings("unchecked")
    static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        Method poll;
        Object timeout;
        try {
            poll = KafkaConsumer.class.getMethod("poll", Duration.class);
            timeout = Duration.ofMillis(POLL_MS);
        } catch (NoSuchMethodException error) {
            poll = KafkaConsumer.class.getMethod("poll", long.class);
            timeout = POLL_MS;
        }
        return (ConsumerRecords<byte[], byte[]>) poll.invoke(consumer, timeout);
    }
}
