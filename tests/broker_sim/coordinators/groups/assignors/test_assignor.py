"""The partition counts of a group."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.assignors.assignor import AssignorError, GroupSpec


def test_a_topic_without_metadata_is_refused():
    spec = GroupSpec({}, homogeneous=True, partition_counts={b"a": 2})
    assert spec.partitions_of(b"a") == 2
    with pytest.raises(AssignorError, match="doesn't exist in the topic metadata"):
        spec.partitions_of(b"b")
