from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broker_sim.log.leader_epoch_cache import LeaderEpochCache
from broker_sim.replication.follower_truncation import truncation_offset


def log_with(end: int, *epochs: tuple[int, int]) -> Any:
    cache = LeaderEpochCache()
    for epoch, start in epochs:
        cache.assign(epoch, start)
    return SimpleNamespace(log_end_offset=end, epochs=cache)


@pytest.mark.parametrize(
    ("log", "leader_epoch", "leader_end", "expected"),
    [
        pytest.param(log_with(10, (0, 0)), 0, 7, 7, id="the leader has less of the same epoch"),
        pytest.param(log_with(10, (0, 0), (1, 8)), 0, 20, 8, id="the own next epoch starts before the leader's end"),
        pytest.param(
            log_with(10, (0, 0), (2, 5)), 1, 9, 5, id="an epoch that the follower skipped: truncate and retry"
        ),
        pytest.param(log_with(10, (3, 0)), 2, 4, 0, id="everything here is newer than what the leader names"),
        pytest.param(log_with(10, (0, 0)), -1, 4, 4, id="the leader has no epoch: its offset counts"),
        pytest.param(log_with(3, (0, 0)), 0, 7, 3, id="never beyond the own end"),
    ],
)
def test_a_follower_cuts_where_the_logs_can_still_agree(
    log: Any, leader_epoch: int, leader_end: int, expected: int
) -> None:
    assert truncation_offset(log, leader_epoch, leader_end) == expected
