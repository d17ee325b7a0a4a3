import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/**
 * What an admin client from 2.7 on is told: offsets, quotas, features.
 * Arguments: bootstrap.servers, prefix of the topics.
 */
public class OldAdminOfQuotas {
    public static void main(String[] arguments) throws Exception {
        TopicPartition partition = new TopicPartition(arguments[1] + "plain", 1);
        try (AdminClient admin = OldAdmin.admin(arguments[0])) {
            Outcomes.say("earliest", () -> offset(admin, partition, OffsetSpec.earliest()));
            Outcomes.say("latest", () -> offset(admin, partition, OffsetSpec.latest()));
            Outcomes.say("by time", () -> offset(admin, partition, OffsetSpec.forTimestamp(1500000000001L)));
            Outcomes.say("latest of nothing", () -> offset(
                admin, new TopicPartition(partition.topic(), 0), OffsetSpec.forTimestamp(Long.MAX_VALUE)));
            ClientQuotaEntity entity =
                new ClientQuotaEntity(Collections.singletonMap(ClientQuotaEntity.CLIENT_ID, arguments[1] + "client"));
            Outcomes.say("set a quota", () -> alter(admin, entity, "producer_byte_rate", 5e9));
            Outcomes.say("set an unknown quota", () -> alter(admin, entity, "nothing", 1.0));
            Outcomes.say("set a negative quota", () -> alter(admin, entity, "producer_byte_rate", -1.0));
            Outcomes.say("quotas", () -> await(admin, entity));
            Outcomes.say("remove a quota", () -> alter(admin, entity, "producer_byte_rate", null));
            Outcomes.say("features", () -> {
                Map<String, String> found = new TreeMap<>();
                admin.describeFeatures().featureMetadata().get().supportedFeatures().forEach(
                    (name, range) -> found.put(name, range.toString()));
                return found;
            });
        }
    }

    static String offset(AdminClient admin, TopicPartition partition, OffsetSpec spec) throws Exception {
        var found = admin.listOffsets(Collections.singletonMap(partition, spec)).partitionResult(partition).get();
        return found.offset() + "@" + found.timestamp();
    }

    static Object alter(AdminClient admin, ClientQuotaEntity entity, String name, Double value) throws Exception {
        ClientQuotaAlteration alteration = new ClientQuotaAlteration(
            entity, Collections.singleton(new ClientQuotaAlteration.Op(name, value)));
        return admin.alterClientQuotas(Collections.singleton(alteration)).all().get();
    }

    /** The controller answers before a broker knows. */
    static Map<String, Double> await(AdminClient admin, ClientQuotaEntity entity) throws Exception {
        long deadline = System.nanoTime() + OldAdmin.SECONDS_MAX * 1000000000L;
        Map<String, Double> found = null;
        while (found == null && System.nanoTime() < deadline) {
            found = admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().get(entity);
        }
        return found;
    }
}
