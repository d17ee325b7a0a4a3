from __future__ import annotations

import gc

from broker_scenarios.sweeps.garbage import rare_collections


def test_collections_are_rare_within_the_body_alone() -> None:
    before = gc.get_threshold()
    with rare_collections():
        young, *older = gc.get_threshold()
        assert young > 10 * before[0]
        assert tuple(older) == before[1:]
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == before
