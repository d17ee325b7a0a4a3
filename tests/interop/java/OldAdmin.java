import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;

/**
 * What an admin client from 0.11 on is told: topics, configurations, the cluster, and what is refused.
 * Arguments: bootstrap.servers, prefix of the topics.
 */
public class OldAdmin {
    static final long SECONDS_MAX = 60;

    public static void main(String[] arguments) throws Exception {
        String made = arguments[1] + "made";
        try (AdminClient admin = admin(arguments[0])) {
            Outcomes.say("nodes", () -> admin.describeCluster().nodes().get().size());
            Outcomes.say("controller", () -> admin.describeCluster().controller().get().id());
            NewTopic topic = new NewTopic(made, 2, (short) 1).configs(Collections.singletonMap("retention.ms", "-1"));
            Outcomes.say("validate", () -> admin.createTopics(
                Collections.singleton(topic), new CreateTopicsOptions().validateOnly(true)).all().get());
            Outcomes.say("create", () -> admin.createTopics(Collections.singleton(topic)).all().get());
            awaitTopic(admin, made);
            Outcomes.say("create again", () -> admin.createTopics(Collections.singleton(topic)).all().get());
            Outcomes.say("create badly", () -> create(admin, new NewTopic("bad name", 1, (short) 1)));
            Outcomes.say("create without partitions", () -> create(admin, new NewTopic(made + 0, 0, (short) 1)));
            Outcomes.say("create too widely", () -> create(admin, new NewTopic(made + 1, 1, (short) 9)));
            Outcomes.say("create wrongly configured", () -> create(admin, new NewTopic(made + 2, 1, (short) 1).configs(
                Collections.singletonMap("retention.ms", "long"))));
            Outcomes.say("create by assignment", () -> create(
                admin, new NewTopic(made + 3, Collections.singletonMap(0, Collections.singletonList(1)))));
            awaitTopic(admin, made + 3);
            Outcomes.say("listed", () -> {
                TreeSet<String> names = new TreeSet<>(admin.listTopics().names().get());
                names.removeIf(name -> !name.startsWith(made));
                return names;
            });
            Outcomes.say("describe", () -> described(admin, made));
            Outcomes.say("describe unknown", () -> described(admin, arguments[1] + "unknown"));
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, made);
            Outcomes.say("configs", () -> configs(admin, resource));
            Outcomes.say("alter configs", () -> alter(admin, resource, "cleanup.policy", "compact"));
            Outcomes.say("alter configs badly", () -> alter(admin, resource, "cleanup.policy", "burn"));
            Outcomes.say("alter unknown configs", () -> alter(admin, resource, "no.such", "1"));
            awaitConfig(admin, resource, "cleanup.policy", "compact");
            Outcomes.say("configs after", () -> configs(admin, resource));
            Outcomes.say("configs of nobody", () -> configs(
                admin, new ConfigResource(ConfigResource.Type.TOPIC, arguments[1] + "unknown")));
            Outcomes.say("delete", () -> admin.deleteTopics(Arrays.asList(made, made + 3)).all().get());
            Outcomes.say("delete unknown", () -> admin.deleteTopics(
                Collections.singleton(arguments[1] + "unknown")).all().get());
        }
    }

    static AdminClient admin(String servers) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", servers);
        configs.put("request.timeout.ms", "10000");
        configs.put("default.api.timeout.ms", "10000");
        return AdminClient.create(configs);
    }

    static Object create(AdminClient admin, NewTopic topic) throws Exception {
        return admin.createTopics(Collections.singleton(topic)).all().get();
    }

    static Map<Integer, String> described(AdminClient admin, String name) throws Exception {
        TopicDescription topic = admin.describeTopics(Collections.singleton(name)).all().get().get(name);
        Map<Integer, String> found = new TreeMap<>();
        for (TopicPartitionInfo info : topic.partitions()) {
            found.put(info.partition(), info.leader().id() + "/" + info.replicas().size() + "/" + info.isr().size());
        }
        return found;
    }

    static Map<String, String> configs(AdminClient admin, ConfigResource resource) throws Exception {
        Collection<ConfigEntry> entries =
            admin.describeConfigs(Collections.singleton(resource)).all().get().get(resource).entries();
        Map<String, String> found = new TreeMap<>();
        for (ConfigEntry entry : entries) {
            if (!entry.isDefault()) {
                found.put(entry.name(), entry.value() + (entry.isReadOnly() ? " read-only" : ""));
            }
        }
        return found;
    }

    @SuppressWarnings("deprecation")
    static Object alter(AdminClient admin, ConfigResource resource, String name, String value) throws Exception {
        Config config = new Config(Collections.singleton(new ConfigEntry(name, value)));
        return admin.alterConfigs(Collections.singletonMap(resource, config)).all().get();
    }

    /** The controller answers before a broker knows. */
    static void awaitTopic(AdminClient admin, String name) {
        long deadline = System.nanoTime() + SECONDS_MAX * 1000000000L;
        while (System.nanoTime() < deadline) {
            try {
                described(admin, name);
                return;
            } catch (Exception unknownYet) {
                Thread.onSpinWait();
            }
        }
    }

    static void awaitConfig(AdminClient admin, ConfigResource resource, String name, String value) {
        long deadline = System.nanoTime() + SECONDS_MAX * 1000000000L;
        while (System.nanoTime() < deadline) {
            try {
                if (value.equals(configs(admin, resource).get(name))) {
                    return;
                }
            } catch (Exception unknownYet) {
                return;
            }
        }
    }
}
