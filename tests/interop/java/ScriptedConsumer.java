import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A consumer that follows a script: configurations as arguments (KEY=VALUE), steps on standard input. After each step it
 * prints "ok", or the class of the exception.
 */
public final class ScriptedConsumer {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> config = new HashMap<>();
        for (String argument : arguments) {
            int at = argument.indexOf('=');
            config.put(argument.substring(0, at), argument.substring(at + 1));
        }
        KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            try {
                run(consumer, line.split(" "));
                System.out.println("ok");
            } catch (RuntimeException e) {
                System.out.println(e.getClass().getSimpleName());
            }
        }
    }

    private static void run(KafkaConsumer<byte[], byte[]> consumer, String[] words) {
        switch (words[0]) {
            case "subscribe":
                consumer.subscribe(Arrays.asList(words[1].split(",")));
                break;
            case "pattern":
                consumer.subscribe(Pattern.compile(words[1]));
                break;
            case "assign":
                List<TopicPartition> partitions = new ArrayList<>();
                for (String text : words[1].split(",")) {
                    partitions.add(partition(text));
                }
                consumer.assign(partitions);
                break;
            case "records":
                int left = Integer.parseInt(words[1]);
                while (left > 0) {
                    left -= consumer.poll(Duration.ofMillis(100)).count();
                }
                break;
            case "owned":
                while (consumer.assignment().size() != Integer.parseInt(words[1])) {
                    consumer.poll(Duration.ofMillis(50));
                }
                break;
            case "poll":
                long end = System.currentTimeMillis() + Long.parseLong(words[1]);
                while (System.currentTimeMillis() < end) {
                    consumer.poll(Duration.ofMillis(50));
                }
                break;
            case "commit":
                consumer.commitSync();
                break;
            case "commit-offset":
                consumer.commitSync(Map.of(partition(words[1]), new OffsetAndMetadata(Long.parseLong(words[2]), "m")));
                break;
            case "committed":
                consumer.committed(java.util.Set.of(partition(words[1])));
                break;
            case "position":
                consumer.position(partition(words[1]));
                break;
            case "seek":
                consumer.seek(partition(words[1]), Long.parseLong(words[2]));
                break;
            case "seek-to-end":
                consumer.seekToEnd(List.of(partition(words[1])));
                break;
            case "pause":
                consumer.pause(List.of(partition(words[1])));
                break;
            case "resume":
                consumer.resume(List.of(partition(words[1])));
                break;
            case "unsubscribe":
                consumer.unsubscribe();
                break;
            case "rebalance":
                consumer.enforceRebalance();
                break;
            case "close":
                consumer.close();
                break;
            case "close-leave":
                consumer.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
                break;
            case "close-remain":
                consumer.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.REMAIN_IN_GROUP));
                break;
            case "partitions":
                consumer.partitionsFor(words[1]);
                break;
            case "list":
                consumer.listTopics();
                break;
            case "lag":
                consumer.currentLag(partition(words[1]));
                break;
            case "seek-metadata":
                consumer.seek(partition(words[1]),
                    new OffsetAndMetadata(Long.parseLong(words[2]), java.util.Optional.of(Integer.parseInt(words[3])), "m"));
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static TopicPartition partition(String text) {
        int at = text.lastIndexOf('-');
        return new TopicPartition(text.substring(0, at), Integer.parseInt(text.substring(at + 1)));
    }
}
