"""The classes that parts are made of."""

from __future__ import annotations

from broker_sim.log.files.file_log import FileReplicaLog
from broker_sim.log.replica_log import ReplicaLog
from broker_sim.part_types import AS_BUILT, PartTypes
from broker_sim.replication.partition import Partition


def test_a_substitute_replaces_its_base_and_the_subclasses_of_that() -> None:
    class Outer(ReplicaLog):
        __slots__ = ()

    class Inner(ReplicaLog):
        __slots__ = ()

    types = PartTypes([Outer, Inner])
    made = types.of(FileReplicaLog)
    assert made.__mro__[1:5] == (Outer, Inner, FileReplicaLog, ReplicaLog)
    assert types.of(FileReplicaLog) is made
    assert types.of(Partition) is Partition
    assert "__dict__" not in dir(made)


def test_without_defects_every_part_is_as_it_is() -> None:
    assert AS_BUILT.of(Partition) is Partition
