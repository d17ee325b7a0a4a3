from __future__ import annotations

import gc

from broker_scenarios.garbage import rare_collections, without_collections


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
