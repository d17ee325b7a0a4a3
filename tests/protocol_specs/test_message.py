"""Messages that are created by position are those that the constructor creates."""

from __future__ import annotations

import pytest

from protocol_specs.message import factory
from protocol_specs.messages.fetch import FetchRequest, PartitionData, ReplicaState


def test_a_factory_sets_its_fields_and_defaults() -> None:
    create = factory(FetchRequest, "session_epoch", "replica_state", "topics")
    state = ReplicaState(replica_id=1, replica_epoch=2)
    created = create(7, state, [])
    assert created == FetchRequest(session_epoch=7, replica_state=state, topics=[])
    assert created.replica_state is state
    assert create(7, state, []).forgotten_topics_data is not created.forgotten_topics_data


def test_a_factory_requires_each_of_its_fields() -> None:
    with pytest.raises(TypeError):
        factory(PartitionData, "partition_index", "records")(0)


def test_a_factory_of_no_fields_returns_defaults() -> None:
    assert factory(PartitionData)() == PartitionData()
