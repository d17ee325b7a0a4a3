import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A producer of any age, from 0.8.2 on: records in each codec, then records while a leader changes: some before, some at
 * once when it prints "ready" (whereupon the leader is killed), and some after a line came in that says that it is dead.
 * Arguments: bootstrap.servers, topic, number of partitions, codecs (comma-separated), configurations (k=v, ...).
 * Prints a line "sent VALUE" for every record that was acknowledged.
 */
public class OldProducer {
    static final int RECORDS = 60;
    static final long SECONDS_MAX = 60;

    public static void main(String[] arguments) throws Exception {
        int partitions = Integer.parseInt(arguments[2]);
        String[] codecs = arguments[3].split(",");
        for (String codec : codecs) {
            try (KafkaProducer<byte[], byte[]> producer = producer(arguments, codec)) {
                List<Future<RecordMetadata>> told = new ArrayList<>();
                for (int i = 0; i < RECORDS; i++) {
                    told.add(producer.send(record(arguments[1], i % partitions, value(codec, i))));
                }
                for (int i = 0; i < RECORDS; i++) {
                    told.get(i).get(SECONDS_MAX, TimeUnit.SECONDS);
                    System.out.println("sent " + value(codec, i));
                }
            }
        }
        int third = RECORDS / 3;
        try (KafkaProducer<byte[], byte[]> producer = producer(arguments, codecs[codecs.length - 1])) {
            for (int i = 0; i < third; i++) {
                acknowledged(producer.send(record(arguments[1], i % partitions, value("moved", i))), i);
            }
            System.out.println("ready");
            System.out.flush();
            List<Future<RecordMetadata>> told = new ArrayList<>();
            for (int i = third; i < 2 * third; i++) {
                told.add(producer.send(record(arguments[1], i % partitions, value("moved", i))));
            }
            for (int i = third; i < 2 * third; i++) {
                acknowledged(told.get(i - third), i);
            }
            for (int next = System.in.read(); next != '\n'; next = System.in.read()) {
                if (next < 0) {
                    throw new IllegalStateException("nobody said that the leader is dead");
                }
            }
            for (int i = 2 * third; i < RECORDS; i++) {
                acknowledged(producer.send(record(arguments[1], i % partitions, value("moved", i))), i);
            }
        }
    }

    static void acknowledged(Future<RecordMetadata> told, int number) throws Exception {
        told.get(SECONDS_MAX, TimeUnit.SECONDS);
        System.out.println("sent " + value("moved", number));
    }

    static String value(String codec, int number) {
        return codec + "-" + number + "-" + new String(new char[100]).replace("\0", "x");
    }

    static ProducerRecord<byte[], byte[]> record(String topic, int partition, String value) {
        byte[] key = value.substring(0, 5).getBytes(StandardCharsets.UTF_8);
        return new ProducerRecord<>(topic, partition, key, value.getBytes(StandardCharsets.UTF_8));
    }

    static KafkaProducer<byte[], byte[]> producer(String[] arguments, String codec) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("compression.type", codec);
        configs.put("acks", "all");
        configs.put("retries", "1000");
        configs.put("retry.backoff.ms", "50");
        configs.put("linger.ms", "5");
        for (int i = 4; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            configs.put(pair[0], pair[1]);
        }
        return new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
    }
}
