"""Topics that the client may not use; the recorded cases `denied_topics` have the details."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.security.acl import AclOperation, ResourceType
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from tests.broker_sim.apis.authorization.conftest import Guarded


def test_metadata_hides_a_topic_by_name_and_leaves_it_out_of_the_list_of_all(guarded: Guarded) -> None:
    guarded.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "t")
    by_name = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("t", "u")])
    found = {topic.name: (topic.error_code, len(topic.partitions)) for topic in guarded.exchange(by_name, 12).topics}
    assert found == {"t": (29, 0), "u": (0, 1)}
    assert [topic.name for topic in guarded.exchange(MetadataRequest(topics=None), 12).topics] == ["u"]
    hidden_alone = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    assert [topic.name for topic in guarded.bench.call(hidden_alone, 0).topics] == ["t"]


def test_denied_topics_come_after_the_others(guarded: Guarded) -> None:
    guarded.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "t")
    topics = [
        ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
        for name in ("t", "u")
    ]
    response = guarded.exchange(ListOffsetsRequest(replica_id=-1, topics=topics), 7)
    assert [(topic.name, topic.partitions[0].error_code) for topic in response.topics] == [("u", 0), ("t", 29)]
