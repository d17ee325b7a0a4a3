from __future__ import annotations

from broker_sim.coordinators.groups.share.initialization import Initialization, InitializedTopic, combined

ONE, TWO = bytes(15) + b"\1", bytes(15) + b"\2"


def topic(*partitions: int, time_ms: int = 0) -> InitializedTopic:
    return InitializedTopic("orders", frozenset(partitions), time_ms)


def test_partitions_go_from_initializing_to_initialized() -> None:
    known = Initialization(deleting=frozenset({ONE, TWO})).with_initializing({ONE: topic(0, 1)})
    assert known.deleting == {TWO}
    known = known.with_initialized({ONE: topic(0)})
    assert (known.initializing[ONE].partitions, known.initialized[ONE].partitions) == ({1}, {0})
    known = known.with_initialized({ONE: topic(1)})
    assert (known.initializing, known.initialized[ONE].partitions) == ({}, {0, 1})


def test_a_failed_initialization_is_forgotten() -> None:
    known = Initialization({ONE: topic(0, 1), TWO: topic(0)})
    assert known.without_initializing({ONE: frozenset({0, 1})}).initializing == {TWO: topic(0)}


def test_deleted_topics_are_forgotten() -> None:
    known = Initialization({ONE: topic(0)}, {TWO: topic(0)}, frozenset({ONE}))
    assert known.has_any(frozenset({TWO}))
    assert known.without_topics(frozenset({ONE, TWO})) == Initialization()


def test_the_second_of_two_combined_topics_has_the_time() -> None:
    assert combined({ONE: topic(0, time_ms=1)}, {ONE: topic(1, time_ms=2)}) == {ONE: topic(0, 1, time_ms=2)}
