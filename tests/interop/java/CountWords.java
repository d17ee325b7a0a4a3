import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

/**
 * A Kafka Streams application of the streams protocol (KIP-1071): counts the words of a topic, prints each new count, and
 * ends after a number of them. Arguments: bootstrap servers, application id, topic, state directory, number of counts,
 * processing guarantee.
 */
public class CountWords {
    public static void main(String[] arguments) throws Exception {
        CountDownLatch left = new CountDownLatch(Integer.parseInt(arguments[4]));
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("application.id", arguments[1]);
        config.put("state.dir", arguments[3]);
        config.put("group.protocol", "streams");
        config.put("num.stream.threads", "2");
        config.put("processing.guarantee", arguments[5]);
        config.put("statestore.cache.max.bytes", "0");
        config.put("default.key.serde", Serdes.StringSerde.class.getName());
        config.put("default.value.serde", Serdes.StringSerde.class.getName());
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[2])
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word)
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("words"))
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .foreach((word, count) -> {
                System.out.println(word + "=" + count);
                left.countDown();
            });
        try (KafkaStreams application = new KafkaStreams(builder.build(), config)) {
            application.start();
            if (!left.await(40, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the application is " + application.state());
            }
            application.close(Duration.ofSeconds(10));
        }
    }
}
