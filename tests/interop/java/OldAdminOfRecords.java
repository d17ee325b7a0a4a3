import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.DeletedRecords;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;

/**
 * What an admin client from 1.1 on is told: more partitions, fewer records, log directories.
 * Arguments: bootstrap.servers, prefix of the topics.
 */
public class OldAdminOfRecords {
    public static void main(String[] arguments) throws Exception {
        String plain = arguments[1] + "plain";
        String growing = arguments[1] + "growing";
        try (AdminClient admin = OldAdmin.admin(arguments[0])) {
            Outcomes.say("more partitions", () -> grow(admin, growing, NewPartitions.increaseTo(2)));
            Outcomes.say("fewer partitions", () -> grow(admin, growing, NewPartitions.increaseTo(1)));
            Outcomes.say("partitions elsewhere", () -> grow(
                admin, growing, NewPartitions.increaseTo(3, Collections.singletonList(Collections.singletonList(7)))));
            Outcomes.say("more partitions of nothing", () -> grow(admin, arguments[1] + "unknown", NewPartitions.increaseTo(2)));
            Outcomes.say("delete records", () -> deleteRecords(admin, plain, 2));
            Outcomes.say("delete more records than there are", () -> deleteRecords(admin, plain, 1000));
            Outcomes.say("delete all records", () -> deleteRecords(admin, plain, -1));
            Outcomes.say("log directories", () -> {
                Map<Integer, Integer> found = new TreeMap<>();
                for (var directory : admin.describeLogDirs(Collections.singleton(1)).all().get().get(1).values()) {
                    for (var replica : directory.replicaInfos.keySet()) {
                        if (replica.topic().equals(plain)) {
                            found.put(replica.partition(), 1);
                        }
                    }
                }
                return found;
            });
        }
    }

    static Object grow(AdminClient admin, String topic, NewPartitions partitions) throws Exception {
        return admin.createPartitions(Collections.singletonMap(topic, partitions)).all().get();
    }

    static long deleteRecords(AdminClient admin, String topic, long offset) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        DeletedRecords deleted = admin.deleteRecords(
            Collections.singletonMap(partition, RecordsToDelete.beforeOffset(offset))).lowWatermarks().get(partition).get();
        return deleted.lowWatermark();
    }
}
