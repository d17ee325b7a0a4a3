from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from protocol_specs.messages.remove_raft_voter import RemoveRaftVoterRequest
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest
from protocol_specs.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

DESCRIBE_QUORUM = DescribeQuorumRequest(
    topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])]
)
SOFTWARE = ApiVersionsRequest(client_software_name="test", client_software_version="1")


def _quorum(bench: ApiBench) -> Any:
    return bench.exchange(DESCRIBE_QUORUM, 2).topics[0].partitions[0]


def _brokers(bench: ApiBench) -> dict[int, bool]:
    response = bench.exchange(DescribeClusterRequest(include_fenced_brokers=True), 2)
    return {broker.broker_id: broker.is_fenced for broker in response.brokers}


def test_every_broker_is_a_voter_that_has_fetched_all(bench: Callable[..., ApiBench]) -> None:
    cluster = bench(brokers=3)
    cluster.settle()
    partition = _quorum(cluster)
    assert partition.leader_id == 1
    assert partition.high_watermark == cluster.cluster.controller.metadata_log.end_offset
    assert [voter.replica_id for voter in partition.current_voters] == [1, 2, 3]
    assert {voter.log_end_offset for voter in partition.current_voters} == {partition.high_watermark}


def test_a_dead_voter_falls_behind(bench: Callable[..., ApiBench]) -> None:
    cluster = bench(brokers=3)
    cluster.settle()
    before = _quorum(cluster).current_voters[2]
    cluster.cluster.kill(3)
    cluster.reactor.run_for(ms=20_000)
    partition = _quorum(cluster)
    assert partition.current_voters[2].log_end_offset == before.log_end_offset < partition.high_watermark
    assert partition.current_voters[2].last_fetch_timestamp < partition.current_voters[1].last_fetch_timestamp


def test_every_broker_returns_a_changed_feature_with_a_newer_epoch(bench: Callable[..., ApiBench]) -> None:
    cluster = bench(brokers=2)
    before = cluster.exchange(SOFTWARE, 3, broker_id=2)
    update = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2)
    assert cluster.exchange(UpdateFeaturesRequest(feature_updates=[update]), 2).error_code == ErrorCode.NONE
    cluster.settle()
    after = cluster.exchange(SOFTWARE, 3, broker_id=2)
    gone = {each.name for each in before.finalized_features} - {each.name for each in after.finalized_features}
    assert gone == {"share.version"}
    assert after.finalized_features_epoch > before.finalized_features_epoch


def test_a_dead_broker_is_fenced_until_it_is_unregistered(bench: Callable[..., ApiBench]) -> None:
    cluster = bench(brokers=3)
    cluster.cluster.kill(3)
    cluster.reactor.run_for(ms=20_000)
    assert _brokers(cluster) == {1: False, 2: False, 3: True}
    assert cluster.exchange(UnregisterBrokerRequest(broker_id=3), 0).error_code == ErrorCode.NONE
    cluster.settle()
    assert _brokers(cluster) == {1: False, 2: False}
    assert cluster.exchange(UnregisterBrokerRequest(broker_id=3), 0).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_an_unregistered_broker_registers_when_it_starts_again(bench: Callable[..., ApiBench]) -> None:
    cluster = bench(brokers=3)
    cluster.cluster.kill(3)
    cluster.reactor.run_for(ms=20_000)
    cluster.exchange(UnregisterBrokerRequest(broker_id=3), 0)
    cluster.reactor.run_until(cluster.cluster.restart(3), deadline_ms=60_000)
    cluster.settle()
    assert _brokers(cluster) == {1: False, 2: False, 3: False}


def test_a_controller_out_of_reach_is_a_timeout(bench: Callable[..., ApiBench]) -> None:
    cluster = bench(brokers=3)
    cluster.cluster.isolate(1)
    assert cluster.exchange(DESCRIBE_QUORUM, 2).error_code == ErrorCode.REQUEST_TIMED_OUT
    assert cluster.exchange(UpdateFeaturesRequest(), 1).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_a_voter_that_is_removed_observes(bench: Callable[..., ApiBench]) -> None:
    cluster = bench(brokers=3)
    raised = FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=1)
    assert cluster.exchange(UpdateFeaturesRequest(feature_updates=[raised]), 2).error_code == ErrorCode.NONE
    leaver = _quorum(cluster).current_voters[0]
    removal = RemoveRaftVoterRequest(
        voter_id=leaver.replica_id, voter_directory_id=leaver.replica_directory_id, cluster_id=None
    )
    assert cluster.exchange(removal, 0).error_code == ErrorCode.NONE
    partition = _quorum(cluster)
    assert ([each.replica_id for each in partition.current_voters], partition.leader_id) == ([2, 3], 2)
    assert [each.replica_id for each in partition.observers] == [1]
    assert cluster.exchange(removal, 0).error_code == ErrorCode.VOTER_NOT_FOUND
