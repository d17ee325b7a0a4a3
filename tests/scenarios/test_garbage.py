from __future__ import annotations

import gc
import weakref

from broker_scenarios.garbage import collect_run, rare_collections, without_collections


def test_collections_are_rare_within_the_body_alone() -> None:
    before = gc.get_threshold()
    with rare_collections():
        young, *older = gc.get_threshold()
        assert young > 10 * before[0]
        assert tuple(older) == before[1:]
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == before


def test_nothing_is_collected_within_the_body_and_what_was_off_stays_off() -> None:
    with without_collections():
        assert not gc.isenabled()
        with without_collections():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_objects_of_a_run_are_collected() -> None:
    class Node:
        def __init__(self) -> None:
            self.itself = self

    gc.collect()
    with without_collections():
        alive = weakref.ref(Node())
        assert alive() is not None
        collect_run()
        assert alive() is None
