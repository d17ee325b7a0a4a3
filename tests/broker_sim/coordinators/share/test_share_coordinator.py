from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.coordinators.share.conftest import ShareBench

FIVE_MINUTES_MS = 300_000


def test_cold_snapshots_are_written_anew_and_older_records_deleted(share_bench: Callable[..., ShareBench]) -> None:
    share = share_bench()
    share.initialize(0, 1, start=0)
    share.settle(60_000)
    for offset in range(3):
        share.write(1, (offset, offset, 2, 1))
    share.settle(FIVE_MINUTES_MS)
    # Both states are older than the interval by now, so the second run of the job writes their snapshots.
    share.settle(FIVE_MINUTES_MS)
    states = share.shard.states.values()
    assert [state.snapshot_epoch for state in states] == [1, 1]
    assert all(state.write_timestamp > state.create_timestamp for state in states)
    share.settle(FIVE_MINUTES_MS)
    assert share.log.log_start_offset == 5
    share.settle(2 * FIVE_MINUTES_MS)
    assert [state.snapshot_epoch for state in share.shard.states.values()] == [1, 1]
