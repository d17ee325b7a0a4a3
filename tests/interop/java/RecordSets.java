import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.xerial.snappy.SnappyError;

/**
 * Reads lines from stdin and answers each with a line. "build magic codec timestamp-type base-offset log-append-time
 * producer-id producer-epoch base-sequence transactional leader-epoch delete-horizon record ..." answers the hex of what
 * Kafka's builder writes; "read hex" answers what its reader finds: batches, each with its records. A record is
 * offset:timestamp:key:value:name=value;name=value in hex, "-" is null. "refused: why" where Kafka throws.
 */
public final class RecordSets {
    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        PrintStream answers = new PrintStream(System.out, false);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            String answer;
            try {
                answer = words[0].equals("build") ? build(words) : read(HexFormat.of().parseHex(words[1]));
            } catch (Exception | SnappyError | OutOfMemoryError refusal) {
                Throwable cause = refusal instanceof ReflectiveOperationException ? refusal.getCause() : refusal;
                answer = "refused: " + cause;
            }
            answers.println(answer.replace('\n', ' '));
        }
        answers.flush();
    }

    private static String build(String[] words) throws Exception {
        Constructor<?> constructor = null;
        for (Constructor<?> candidate : MemoryRecordsBuilder.class.getConstructors()) {
            if (candidate.getParameterCount() == 14) {
                constructor = candidate;
            }
        }
        MemoryRecordsBuilder builder = (MemoryRecordsBuilder) constructor.newInstance(
            new ByteBufferOutputStream(1024), Byte.parseByte(words[1]),
            compression(constructor.getParameterTypes()[2], words[2]), TimestampType.forName(words[3]),
            Long.parseLong(words[4]), Long.parseLong(words[5]), Long.parseLong(words[6]), Short.parseShort(words[7]),
            Integer.parseInt(words[8]), Boolean.parseBoolean(words[9]), false, Integer.parseInt(words[10]),
            Integer.MAX_VALUE, Long.parseLong(words[11]));
        for (int index = 12; index < words.length; index++) {
            String[] parts = words[index].split(":", -1);
            builder.appendWithOffset(Long.parseLong(parts[0]), Long.parseLong(parts[1]), bytes(parts[2]),
                bytes(parts[3]), headers(parts[4]));
        }
        return hex(builder.build().buffer());
    }

    private static Object compression(Class<?> type, String name) throws Exception {
        if (type == CompressionType.class) {
            return CompressionType.forName(name);
        }
        Object builder = type.getMethod("of", String.class).invoke(null, name);
        Class<?> builderType = Class.forName("org.apache.kafka.common.compress.Compression$Builder");
        return builderType.getMethod("build").invoke(builder);
    }

    private static Header[] headers(String text) {
        List<Header> found = new ArrayList<>();
        for (String part : text.isEmpty() ? new String[0] : text.split(";")) {
            String[] nameAndValue = part.split("=", -1);
            String name = new String(bytes(nameAndValue[0]), StandardCharsets.UTF_8);
            found.add(new RecordHeader(name, bytes(nameAndValue[1])));
        }
        return found.toArray(new Header[0]);
    }

    private static String read(byte[] set) {
        StringBuilder answer = new StringBuilder();
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(set)).batches()) {
            batch.ensureValid();
            StringBuilder records = new StringBuilder();
            for (Record record : batch) {
                record.ensureValid();
                records.append(' ').append(record.offset()).append(':').append(record.timestamp());
                records.append(':').append(hex(record.key())).append(':').append(hex(record.value())).append(':');
                String separator = "";
                for (Header header : record.headers()) {
                    byte[] name = header.key().getBytes(StandardCharsets.UTF_8);
                    byte[] value = header.value();
                    records.append(separator).append(HexFormat.of().formatHex(name)).append('=');
                    records.append(value == null ? "-" : HexFormat.of().formatHex(value));
                    separator = ";";
                }
            }
            answer.append(answer.length() == 0 ? "" : "|").append(String.join(" ", List.of(
                "" + batch.magic(), batch.compressionType().name, batch.timestampType().name, "" + batch.baseOffset(),
                "" + batch.lastOffset(), "" + batch.maxTimestamp(), "" + batch.sizeInBytes(), "" + batch.producerId(),
                "" + batch.producerEpoch(), "" + batch.baseSequence(), "" + batch.lastSequence(),
                "" + batch.partitionLeaderEpoch(), "" + batch.isTransactional(), "" + batch.isControlBatch(),
                "" + batch.countOrNull(),
                batch.deleteHorizonMs().isPresent() ? "" + batch.deleteHorizonMs().getAsLong() : "-")));
            answer.append(records);
        }
        return answer.toString();
    }

    private static byte[] bytes(String text) {
        return text.equals("-") ? null : HexFormat.of().parseHex(text);
    }

    private static String hex(ByteBuffer buffer) {
        if (buffer == null) {
            return "-";
        }
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
