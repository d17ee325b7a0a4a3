"""The owners of the partitions of a consumer group."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
from broker_sim.coordinators.groups.consumer.partition_epochs import PartitionEpochs, PreviewPartitionEpochs
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

T = b"t" * 16


def member(epoch, assigned=(), pending_revocation=()):
    return ConsumerMember(
        member_id="m",
        member_epoch=epoch,
        assigned={T: frozenset(assigned)} if assigned else {},
        pending_revocation={T: frozenset(pending_revocation)} if pending_revocation else {},
    )


def free(owners, *partitions):
    return [partition for partition in partitions if owners.is_free(T, partition)]


@pytest.mark.parametrize("kind", [PartitionEpochs, PreviewPartitionEpochs])
def test_a_partition_is_free_once_it_is_revoked(kind):
    owners = kind(SnapshotRegistry())
    first, second = member(1, {0, 1}), member(1, {0}, {1})
    owners.change_member(None, first)
    owners.change_member(first, second)
    assert free(owners, 0, 1, 2) == [2]
    owners.change_member(second, member(2, {0}))
    assert free(owners, 0, 1) == [1]
    owners.change_member(member(2, {0}), None)
    assert free(owners, 0, 1) == [0, 1]


@pytest.mark.parametrize(("kind", "found"), [(PartitionEpochs, []), (PreviewPartitionEpochs, [1])])
def test_the_preview_frees_what_is_assigned_again_before_it_is_revoked(kind, found):
    owners = kind(SnapshotRegistry())
    revoking = member(1, {0}, {1})
    owners.change_member(None, revoking)
    owners.change_member(revoking, member(2, {0, 1}))
    assert free(owners, 0, 1) == found


@pytest.mark.parametrize(("kind", "found"), [(PartitionEpochs, []), (PreviewPartitionEpochs, [0])])
def test_the_preview_frees_what_another_member_has_taken(kind, found):
    owners = kind(SnapshotRegistry())
    owners.change_member(None, member(1, {0}))
    owners.change_member(None, member(2, {0}))
    owners.change_member(member(1, {0}), None)
    assert free(owners, 0) == found
