import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Reads lines "class-name version hex json" (split by tabs) from stdin and answers each with a line of three parts: the hex
 * that Kafka's own message class writes after it has read the bytes; the JSON value that its converter makes of them; the
 * hex that it writes after it has read the JSON. In place of the first: "no version" when it has none, "refused: why" when
 * it does not read them, "read, but not written: why". Without JSON in the line, or without a converter, the last two are
 * empty.
 */
public final class ReadMessages {
    private static final List<String> PACKAGES = List.of(
        "org.apache.kafka.common.message",
        "org.apache.kafka.common.metadata",
        "org.apache.kafka.coordinator.group.generated",
        "org.apache.kafka.coordinator.share.generated",
        "org.apache.kafka.coordinator.transaction.generated",
        "org.apache.kafka.raft.generated",
        "org.apache.kafka.server.log.remote.metadata.storage.generated",
        "kafka.internals.generated");
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Optional<Class<?>>> CLASSES = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", -1);
            short version = Short.parseShort(parts[1]);
            Optional<Class<?>> type = CLASSES.computeIfAbsent(parts[0], ReadMessages::find);
            if (type.isEmpty() || !has(newMessage(type.get()), version)) {
                answers.println("no version\t\t");
                continue;
            }
            answers.println(answer(newMessage(type.get()), version, HexFormat.of().parseHex(parts[2]), parts[3]));
        }
        answers.flush();
    }

    /** Requests, responses and headers have "Data" after their name, the other schemas do not. */
    private static Optional<Class<?>> find(String name) {
        for (String suffix : List.of("Data", "")) {
            for (String folder : PACKAGES) {
                Optional<Class<?>> found = classOf(folder + "." + name + suffix);
                if (found.isPresent()) {
                    return found;
                }
            }
        }
        return Optional.empty();
    }

    private static Optional<Class<?>> classOf(String name) {
        try {
            return Optional.of(Class.forName(name));
        } catch (ClassNotFoundException absent) {
            return Optional.empty();
        }
    }

    private static Message newMessage(Class<?> type) throws ReflectiveOperationException {
        return (Message) type.getConstructor().newInstance();
    }

    private static boolean has(Message message, short version) {
        return version >= message.lowestSupportedVersion() && version <= message.highestSupportedVersion();
    }

    private static String answer(Message message, short version, byte[] bytes, String json) throws Exception {
        try {
            message.read(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
        } catch (RuntimeException refusal) {
            return "refused: " + shown(refusal) + "\t\t";
        }
        String written;
        try {
            written = written(message, version);
        } catch (RuntimeException refusal) {
            written = "read, but not written: " + shown(refusal);
        }
        Optional<Class<?>> converter = classOf(message.getClass().getName() + "JsonConverter");
        if (json.isEmpty() || converter.isEmpty()) {
            return written + "\t\t";
        }
        return written + "\t" + toJson(converter.get(), message, version) + "\t" + fromJson(converter.get(), version, json);
    }

    private static String written(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return HexFormat.of().formatHex(buffer.array());
    }

    private static String toJson(Class<?> converter, Message message, short version) throws Exception {
        Method write = converter.getMethod("write", message.getClass(), short.class);
        return JSON.writeValueAsString(write.invoke(null, message, version));
    }

    private static String fromJson(Class<?> converter, short version, String json) throws Exception {
        Method read = converter.getMethod("read", JsonNode.class, short.class);
        try {
            return written((Message) read.invoke(null, JSON.readTree(json), version), version);
        } catch (InvocationTargetException refusal) {
            return "refused: " + shown(refusal.getCause());
        }
    }

    private static String shown(Throwable refusal) {
        return refusal.toString().replaceAll("\\s+", " ");
    }
}
