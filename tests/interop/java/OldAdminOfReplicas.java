import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/**
 * What an admin client from 2.4 on is told: single configurations, elections, reassignments.
 * Arguments: bootstrap.servers, prefix of the topics.
 */
public class OldAdminOfReplicas {
    public static void main(String[] arguments) throws Exception {
        String plain = arguments[1] + "plain";
        TopicPartition partition = new TopicPartition(plain, 0);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, plain);
        try (AdminClient admin = OldAdmin.admin(arguments[0])) {
            Outcomes.say("set", () -> alter(admin, resource, "retention.bytes", "1000000", AlterConfigOp.OpType.SET));
            OldAdmin.awaitConfig(admin, resource, "retention.bytes", "1000000");
            Outcomes.say("append", () -> alter(admin, resource, "cleanup.policy", "compact", AlterConfigOp.OpType.APPEND));
            OldAdmin.awaitConfig(admin, resource, "cleanup.policy", "delete,compact");
            Outcomes.say("configs after", () -> OldAdmin.configs(admin, resource));
            Outcomes.say("subtract", () -> alter(admin, resource, "cleanup.policy", "compact", AlterConfigOp.OpType.SUBTRACT));
            Outcomes.say("append a number", () -> alter(admin, resource, "retention.ms", "1", AlterConfigOp.OpType.APPEND));
            Outcomes.say("unset", () -> alter(admin, resource, "retention.bytes", "", AlterConfigOp.OpType.DELETE));
            Outcomes.say("elect", () -> elect(admin, ElectionType.PREFERRED, partition));
            Outcomes.say("elect uncleanly", () -> elect(admin, ElectionType.UNCLEAN, partition));
            Outcomes.say("elect nobody", () -> elect(admin, ElectionType.PREFERRED, new TopicPartition(plain, 99)));
            Outcomes.say("reassign", () -> reassign(admin, partition, Optional.of(new NewPartitionReassignment(Arrays.asList(1)))));
            Outcomes.say("reassign elsewhere", () -> reassign(
                admin, partition, Optional.of(new NewPartitionReassignment(Arrays.asList(7)))));
            Outcomes.say("cancel nothing", () -> reassign(admin, partition, Optional.empty()));
            Outcomes.say("reassignments", () -> admin.listPartitionReassignments().reassignments().get());
        }
    }

    static Object alter(AdminClient admin, ConfigResource resource, String name, String value, AlterConfigOp.OpType type)
            throws Exception {
        Collection<AlterConfigOp> operations = Collections.singleton(new AlterConfigOp(new ConfigEntry(name, value), type));
        return admin.incrementalAlterConfigs(Collections.singletonMap(resource, operations)).all().get();
    }

    static Map<String, String> elect(AdminClient admin, ElectionType type, TopicPartition partition) throws Exception {
        Map<String, String> found = new TreeMap<>();
        admin.electLeaders(type, Collections.singleton(partition)).partitions().get().forEach((each, error) ->
            found.put(each.toString(), error.map(Throwable::toString).orElse("elected")));
        return found;
    }

    static Object reassign(AdminClient admin, TopicPartition partition, Optional<NewPartitionReassignment> to) throws Exception {
        return admin.alterPartitionReassignments(Collections.singletonMap(partition, to)).all().get();
    }
}
