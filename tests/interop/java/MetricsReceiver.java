import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;

/**
 * A broker's plugin that receives what clients push, and writes it to the file of the configuration metrics.receiver.file:
 * a line each, CLIENT_ID INSTANCE_ID TERMINATING BASE64.
 */
public class MetricsReceiver implements MetricsReporter, ClientTelemetry {
    private PrintWriter out;

    @Override
    public void configure(Map<String, ?> configs) {
        try {
            Path file = Path.of(configs.get("metrics.receiver.file").toString());
            out = new PrintWriter(
                Files.newBufferedWriter(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND), true);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public ClientTelemetryReceiver clientReceiver() {
        return (AuthorizableRequestContext context, ClientTelemetryPayload payload) -> {
            ByteBuffer data = payload.data().duplicate();
            byte[] bytes = new byte[data.remaining()];
            data.get(bytes);
            synchronized (this) {
                out.println(String.join(" ", context.clientId(), payload.clientInstanceId().toString(),
                    Boolean.toString(payload.isTerminating()), Base64.getEncoder().encodeToString(bytes)));
            }
        };
    }

    @Override
    public void init(List<KafkaMetric> metrics) { }

    @Override
    public void metricChange(KafkaMetric metric) { }

    @Override
    public void metricRemoval(KafkaMetric metric) { }

    @Override
    public void close() { }
}
