import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A producer on a lead: one for each connection to the port that is printed at the start, commands by line.
 * <pre>
 * start KEY=VALUE ...                            make the producer
 * send TOKEN INDEX TOPIC PARTITION TIMESTAMP KEY VALUE "-" for what is not given, key and value in base 64 after a "="
 * flush TOKEN, close TOKEN MS                    MS -1: no time-out
 * init TOKEN, begin TOKEN, commit TOKEN, abort TOKEN
 * offsets TOKEN GROUP GENERATION MEMBER TOPIC-PARTITION@OFFSET ...
 * </pre>
 * It says "ended INDEX ok TOPIC-PARTITION@OFFSET", "ended INDEX failed CLASS MESSAGE", "done TOKEN" when a call returns, and
 * "done TOKEN failed CLASS" when it throws.
 */
public class ScriptedSends {
    public static void main(String[] arguments) throws IOException {
        try (ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            System.out.println(listener.getLocalPort());
            while (true) {
                Socket connection = listener.accept();
                Thread thread = new Thread(() -> serve(connection));
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    static void serve(Socket connection) {
        KafkaProducer<byte[], byte[]> producer = null;
        try (connection) {
            connection.setTcpNoDelay(true);
            BufferedReader in = new BufferedReader(
                new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8));
            PrintWriter out = new PrintWriter(connection.getOutputStream(), true, StandardCharsets.UTF_8);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                switch (words[0]) {
                    case "start" -> producer = start(words);
                    case "send" -> {
                        send(producer, words, out);
                        say(out, "done " + words[1]);
                    }
                    case "flush" -> {
                        producer.flush();
                        say(out, "done " + words[1]);
                    }
                    case "close" -> {
                        long ms = Long.parseLong(words[2]);
                        producer.close(ms < 0 ? Duration.ofMillis(Long.MAX_VALUE) : Duration.ofMillis(ms));
                        say(out, "done " + words[1]);
                    }
                    case "init", "begin", "commit", "abort", "offsets" ->
                        say(out, "done " + words[1] + transact(producer, words));
                    default -> throw new IllegalArgumentException(line);
                }
            }
        } catch (Exception e) {
            e.printStackTrace();
        } finally {
            if (producer != null) {
                producer.close(Duration.ZERO);
            }
        }
    }

    static KafkaProducer<byte[], byte[]> start(String[] words) {
        Map<String, Object> configs = new HashMap<>();
        for (int i = 1; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            configs.put(words[i].substring(0, equals), words[i].substring(equals + 1));
        }
        return new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static void send(KafkaProducer<byte[], byte[]> producer, String[] words, PrintWriter out) {
        String index = words[2];
        Integer partition = words[4].equals("-") ? null : Integer.valueOf(words[4]);
        Long timestamp = words[5].equals("-") ? null : Long.valueOf(words[5]);
        try {
            producer.send(
                new ProducerRecord<>(words[3], partition, timestamp, bytes(words[6]), bytes(words[7])),
                (metadata, error) -> say(out, "ended " + index + " " + outcome(metadata, error)));
        } catch (RuntimeException e) {
            say(out, "ended " + index + " " + outcome(null, e));
        }
    }

    static String transact(KafkaProducer<byte[], byte[]> producer, String[] words) {
        try {
            switch (words[0]) {
                case "init" -> producer.initTransactions();
                case "begin" -> producer.beginTransaction();
                case "commit" -> producer.commitTransaction();
                case "abort" -> producer.abortTransaction();
                default -> sendOffsets(producer, words);
            }
            return "";
        } catch (RuntimeException e) {
            return " failed " + e.getClass().getSimpleName();
        }
    }

    static void sendOffsets(KafkaProducer<byte[], byte[]> producer, String[] words) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (int i = 5; i < words.length; i++) {
            int dash = words[i].lastIndexOf('-');
            int at = words[i].lastIndexOf('@');
            TopicPartition key = new TopicPartition(
                words[i].substring(0, dash), Integer.parseInt(words[i].substring(dash + 1, at)));
            offsets.put(key, new OffsetAndMetadata(Long.parseLong(words[i].substring(at + 1))));
        }
        String member = words[4].equals("-") ? "" : words[4];
        producer.sendOffsetsToTransaction(
            offsets, new ConsumerGroupMetadata(words[2], Integer.parseInt(words[3]), member, Optional.empty()));
    }

    static byte[] bytes(String word) {
        return word.equals("-") ? null : Base64.getDecoder().decode(word.substring(1));
    }

    static String outcome(RecordMetadata metadata, Exception error) {
        if (error != null) {
            return "failed " + error.getClass().getSimpleName() + " " + String.valueOf(error.getMessage()).replace('\n', ' ');
        }
        return "ok " + metadata.topic() + "-" + metadata.partition() + "@" + metadata.offset();
    }

    static void say(PrintWriter out, String line) {
        synchronized (out) {
            out.println(line);
        }
    }
}
