"""A cluster that has lost the registration of one of its brokers, alive (UnregisterBroker): clusters of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.differential.case import case
from tests.differential.cases.cluster import placed, without_controller
from tests.differential.cases.describe_quorum import METADATA_TOPIC, of, steady
from tests.differential.probe import attempts
from tests.differential.requests import batch, fetch, list_offsets, metadata, produce, wanted

if TYPE_CHECKING:
    from tests.differential.probe import Probe

OWN_CLUSTER = (("metadata.max.idle.interval.ms", "501"),)
LOST = 3


def _without_leader(response: dict[str, Any]) -> dict[str, Any]:
    """Return the quorum without its leader: with three voters any of them may lead."""
    steady(response)
    for topic in response["topics"]:
        for partition in topic["partitions"]:
            partition["leaderId"] = partition["leaderId"] in {1, 2, 3}
    return response


def _described(probe: Probe, topic: str, note: str) -> None:
    for version in range(3):
        request = DescribeClusterRequest(include_fenced_brokers=True)
        probe.exchange(request, version, note=note, only=lambda response: response and without_controller(response))
    probe.exchange(metadata(topic), 12, note=note, only=without_controller)


def _await_leader(probe: Probe, topic: str, leader: int) -> None:
    for _ in attempts(f"{leader} to lead {topic}"):
        response: Any = probe.quiet(metadata(topic), 12)
        if {each.partition_index: each.leader_id for each in response.topics[0].partitions}[0] == leader:
            return


@case(brokers=3, settings=OWN_CLUSTER)
def a_broker_that_is_alive(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [3, 1], [1, 3], [2, 3])
    lonely, _ = placed(probe, "lonely", [LOST])
    _described(probe, topic, "before")
    for version in range(3):
        probe.exchange(of((METADATA_TOPIC, (0,))), version, only=_without_leader)
    probe.exchange(UnregisterBrokerRequest(broker_id=77), 0, note="an unknown one")
    probe.exchange(UnregisterBrokerRequest(broker_id=LOST), 0)
    _await_leader(probe, topic, 1)
    _described(probe, topic, "after")
    probe.exchange(metadata(lonely), 12, only=without_controller)
    probe.exchange(UnregisterBrokerRequest(broker_id=LOST), 0, note="again")


@case(settings=(("metadata.max.idle.interval.ms", "504"),))
def the_only_broker(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(UnregisterBrokerRequest(broker_id=1), 0)
    for _ in attempts("the broker to see that it is gone"):
        response: Any = probe.quiet(DescribeClusterRequest(), 0)
        if not response.brokers:
            break
    for version in range(3):
        probe.exchange(DescribeClusterRequest(include_fenced_brokers=True), version)
    for version in (0, 1, 5, 12):
        probe.exchange(metadata(topic), version)
    probe.exchange(metadata("other", create=True), 12)
    for version in range(3):
        probe.exchange(of((METADATA_TOPIC, (0,))), version, only=steady)
    probe.exchange(UnregisterBrokerRequest(broker_id=1), 0, note="again")
    probe.exchange(produce(topic, batch(b"a")), 9)
    probe.exchange(fetch(topic, wanted()), 12)
    probe.exchange(list_offsets(topic, -1), 5)
    new = CreatableTopic(name=f"{probe.name}-new", num_partitions=1, replication_factor=1)
    probe.exchange(CreateTopicsRequest(topics=[new], timeout_ms=3_000), 5)
    probe.exchange(CreateTopicsRequest(topics=[new], timeout_ms=3_000, validate_only=True), 5)
    probe.exchange(
        UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature="zzz", max_version_level=1)]), 1, note="zzz"
    )


@case(releases=("4.3.1",), settings=(("metadata.max.idle.interval.ms", "505"),))
def the_only_broker_without_eligible_leaders(probe: Probe) -> None:
    """KIP-966 can be switched off: the last replica then stays in sync for good, as in 3.7."""
    topic = probe.topic()
    feature = FeatureUpdateKey(feature="eligible.leader.replicas.version", max_version_level=0, upgrade_type=2)
    probe.exchange(UpdateFeaturesRequest(feature_updates=[feature]), 1)
    probe.exchange(UnregisterBrokerRequest(broker_id=1), 0)
    for _ in attempts("the broker to see that it is gone"):
        response: Any = probe.quiet(DescribeClusterRequest(), 0)
        if not response.brokers:
            break
    probe.exchange(metadata(topic), 12)
