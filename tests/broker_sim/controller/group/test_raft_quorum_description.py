"""DescribeQuorum responses of real brokers: three nodes with process.roles=controller, one with process.roles=broker.

The compared facts were recorded from 3.7.2 (v1) and 4.3.1 (v2), before and three seconds after the leader was killed.
Offsets are compared with the leader's end, directories and times by their presence; the leader is random.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.framing import encode_request
from protocol_specs.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)

VERSIONS = {"3.7.2": 1, "4.3.1": 2}
# Each replica: whether it has a directory, has the leader's end, was seen; None where nothing is known of it.
SEEN = {
    "3.7.2": {"voter": (False, True, True), "dead": (False, None, None), "observer": (False, True, True)},
    "4.3.1": {"voter": (False, True, True), "dead": (False, None, None), "observer": (True, True, True)},
}
NODES = {"3.7.2": [], "4.3.1": [(3000, ["CONTROLLER"]), (3001, ["CONTROLLER"]), (3002, ["CONTROLLER"])]}


def describe(cluster: ThreadedCluster, version: int) -> DescribeQuorumResponse:
    requested = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])
    host, port = cluster.bootstrap_servers.split(":")
    with socket.create_connection((host, int(port)), 30) as client:
        client.sendall(
            encode_request(DescribeQuorumRequest(topics=[requested]), version, correlation_id=1, client_id="c")
        )
        size = struct.unpack(">i", client.recv(4, socket.MSG_WAITALL))[0]
        response = client.recv(size, socket.MSG_WAITALL)
    return DescribeQuorumResponse.decode(version, response[5:])


def shape(replica: Any, end: int) -> tuple[bool, bool | None, bool | None]:
    known = replica.log_end_offset >= 0
    return (
        any(replica.replica_directory_id),
        replica.log_end_offset == end if known else None,
        (replica.last_fetch_timestamp > 0) and (replica.last_caught_up_timestamp > 0) if known else None,
    )


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_the_quorum_is_described_as_real_brokers_did(release: str) -> None:
    seen = SEEN[release]
    with ThreadedCluster(brokers=1, controllers=3, release=release) as cluster:
        for killed in (None, cluster.active_controller):
            if killed is not None:
                cluster.kill_controller(killed)
                describe(cluster, VERSIONS[release])  # the next controller responds
                cluster.create_topic("u:1:1")  # the broker has fetched that from it
            described = describe(cluster, VERSIONS[release])
            partition = described.topics[0].partitions[0]
            assert (described.error_code, partition.error_code) == (0, 0)
            assert partition.leader_id not in {-1, killed}
            ends = {voter.replica_id: voter.log_end_offset for voter in partition.current_voters}
            end = ends[partition.leader_id]
            assert {voter.replica_id: shape(voter, end) for voter in partition.current_voters} == {
                node_id: seen["dead" if node_id == killed else "voter"] for node_id in (3000, 3001, 3002)
            }
            assert {observer.replica_id: shape(observer, end) for observer in partition.observers} == {
                1: seen["observer"]
            }
            assert [(node.node_id, [each.name for each in node.listeners]) for node in described.nodes] == NODES[
                release
            ]
