import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Reads lines "class-name api-key version hex" from stdin and answers each with a line: the hex that Kafka's own message
 * class writes after it has read the bytes, "refused: why" when it does not read them, "read, but not written: why", "no version" when it has none.
 */
public final class ReadMessages {
    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        PrintStream answers = new PrintStream(System.out, false);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ", -1);
            ApiMessage message = messageOf(parts[0], Short.parseShort(parts[1]));
            answers.println(answer(message, Short.parseShort(parts[2]), HexFormat.of().parseHex(parts[3])));
        }
        answers.flush();
    }

    private static ApiMessage messageOf(String name, short apiKey) {
        switch (name) {
            case "RequestHeader":
                return new RequestHeaderData();
            case "ResponseHeader":
                return new ResponseHeaderData();
            default:
                ApiMessageType type = ApiMessageType.fromApiKey(apiKey);
                return name.endsWith("Request") ? type.newRequest() : type.newResponse();
        }
    }

    private static String answer(ApiMessage message, short version, byte[] bytes) {
        if (version < message.lowestSupportedVersion() || version > message.highestSupportedVersion()) {
            return "no version";
        }
        try {
            message.read(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
        } catch (RuntimeException refusal) {
            return "refused: " + refusal;
        }
        try {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer written = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(written), cache, version);
            return HexFormat.of().formatHex(written.array());
        } catch (RuntimeException refusal) {
            return "read, but not written: " + refusal;
        }
    }
}
