import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.HexFormat;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.network.TransferableChannel;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.LazyDownConversionRecords;
import org.apache.kafka.common.record.LazyDownConversionRecordsSend;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.SystemTime;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.xerial.snappy.SnappyError;

/**
 * What a broker of 3.x makes of record sets. Reads lines from stdin and answers each with a line, "refused: why" where
 * Kafka throws: "down to-magic first-offset hex" and "fetch to-magic first-offset hex" convert for an old client,
 * "assign to-magic codec timestamp-type offset epoch origin compacted before-ms after-ms now-ms hex" appends (answers next offset,
 * max timestamp and hex), "decompress magic codec hex".
 */
public final class ConvertRecordSets {
    private static final TopicPartition PARTITION = new TopicPartition("orders", 0);

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        PrintStream answers = new PrintStream(System.out, false);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" ", -1));
            } catch (Exception | SnappyError refusal) {
                answer = "refused: " + refusal;
            }
            answers.println(answer.replace('\n', ' '));
        }
        answers.flush();
    }

    private static String answer(String[] words) throws IOException {
        byte[] bytes = HexFormat.of().parseHex(words[words.length - 1]);
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes));
        byte magic = Byte.parseByte(words[1]);
        switch (words[0]) {
            case "down":
                return hex(((MemoryRecords) records.downConvert(magic, Long.parseLong(words[2]), Time.SYSTEM)
                    .records()).buffer());
            case "fetch":
                return fetch(new LazyDownConversionRecords(
                    PARTITION, records, magic, Long.parseLong(words[2]), Time.SYSTEM));
            case "assign":
                return assign(records, words);
            default:
                InputStream stream = CompressionType.forName(words[2])
                    .wrapForInput(ByteBuffer.wrap(bytes), magic, BufferSupplier.NO_CACHING);
                ByteArrayOutputStream plain = new ByteArrayOutputStream();
                stream.transferTo(plain);
                return HexFormat.of().formatHex(plain.toByteArray());
        }
    }

    private static String fetch(LazyDownConversionRecords records) throws IOException {
        int left = records.sizeInBytes();
        Written channel = new Written();
        LazyDownConversionRecordsSend send = records.toSend();
        while (left > 0) {
            left -= send.writeTo(channel, channel.bytes.size(), left);
        }
        return HexFormat.of().formatHex(channel.bytes.toByteArray());
    }

    private static String assign(MemoryRecords records, String[] words) {
        CompressionType source = CompressionType.NONE;
        for (RecordBatch batch : records.batches()) {
            source = batch.isCompressed() ? batch.compressionType() : source;
        }
        CompressionType target = words[2].equals("producer") ? source : CompressionType.forName(words[2]);
        long now = Long.parseLong(words[10]);
        Time time = new SystemTime() {
            @Override
            public long milliseconds() {
                return now;
            }
        };
        PrimitiveRef.LongRef offset = PrimitiveRef.ofLong(Long.parseLong(words[4]));
        LogValidator.ValidationResult result = new LogValidator(records, PARTITION, time, source, target,
            Boolean.parseBoolean(words[7]), Byte.parseByte(words[1]), TimestampType.forName(words[3]),
            Long.parseLong(words[8]), Long.parseLong(words[9]), Integer.parseInt(words[5]),
            AppendOrigin.valueOf(words[6]), MetadataVersion.latestTesting())
            .validateMessagesAndAssignOffsets(offset, new Unrecorded(), BufferSupplier.NO_CACHING);
        return offset.value + " " + result.maxTimestampMs + " " + hex(result.validatedRecords.buffer());
    }

    private static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static final class Written implements TransferableChannel {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        @Override
        public int write(ByteBuffer source) {
            int count = source.remaining();
            while (source.hasRemaining()) {
                bytes.write(source.get());
            }
            return count;
        }

        @Override
        public long write(ByteBuffer[] sources) {
            return write(sources, 0, sources.length);
        }

        @Override
        public long write(ByteBuffer[] sources, int offset, int length) {
            long count = 0;
            for (int index = offset; index < offset + length; index++) {
                count += write(sources[index]);
            }
            return count;
        }

        @Override
        public boolean hasPendingWrites() {
            return false;
        }

        @Override
        public long transferFrom(FileChannel file, long position, long count) {
            throw new UnsupportedOperationException("records here lie in memory");
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() { }
    }

    private static final class Unrecorded implements LogValidator.MetricsRecorder {
        @Override
        public void recordInvalidMagic() { }

        @Override
        public void recordInvalidOffset() { }

        @Override
        public void recordInvalidSequence() { }

        @Override
        public void recordInvalidChecksums() { }

        @Override
        public void recordNoKeyCompactedTopic() { }
    }
}
