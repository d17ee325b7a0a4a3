import java.nio.ByteBuffer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/**
 * Assigns partitions with Java's assignors: cases on standard input, encoded assignments by member on standard output.
 *
 * <p>Lines: "assignor NAME", "node ID RACK", "topic NAME LEADER,..;..", "member ID INSTANCE SUBSCRIPTION" in base 64,
 * "end". A member's rack, owned partitions and user data are in its subscription; "-" is none.
 */
public final class Assignments {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        ConsumerPartitionAssignor assignor = null;
        Map<Integer, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        Map<String, Subscription> members = new HashMap<>();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "assignor":
                    assignor = assignor(words[1]);
                    nodes = new HashMap<>();
                    partitions = new ArrayList<>();
                    members = new HashMap<>();
                    break;
                case "node":
                    int id = Integer.parseInt(words[1]);
                    nodes.put(id, new Node(id, "h", 1, words[2].equals("-") ? null : words[2]));
                    break;
                case "topic":
                    String[] replicas = words[2].split(";");
                    for (int number = 0; number < replicas.length; number++) {
                        Map<Integer, Node> known = nodes;
                        Node[] of = Arrays.stream(replicas[number].split(","))
                            .map(text -> known.get(Integer.parseInt(text))).toArray(Node[]::new);
                        partitions.add(new PartitionInfo(words[1], number, of[0], of, of));
                    }
                    break;
                case "member":
                    Subscription one = ConsumerProtocol.deserializeSubscription(
                        ByteBuffer.wrap(Base64.getDecoder().decode(words[3])));
                    one.setGroupInstanceId(words[2].equals("-") ? Optional.empty() : Optional.of(words[2]));
                    members.put(words[1], one);
                    break;
                default:
                    Cluster cluster = new Cluster("c", nodes.values(), partitions, new HashSet<>(), new HashSet<>());
                    print(assignor.assign(cluster, new GroupSubscription(members)).groupAssignment());
            }
        }
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        switch (name) {
            case "range":
                return new RangeAssignor();
            case "roundrobin":
                return new RoundRobinAssignor();
            case "sticky":
                return new StickyAssignor();
            default:
                return new CooperativeStickyAssignor();
        }
    }

    private static void print(Map<String, Assignment> assignments) {
        StringBuilder text = new StringBuilder();
        assignments.forEach((member, assignment) -> text.append(member).append('=').append(
            Base64.getEncoder().encodeToString(ConsumerProtocol.serializeAssignment(assignment).array())).append(' '));
        System.out.println(text.toString().trim());
    }
}
