from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_log_start_moves(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    for value in range(5):
        made.produce(value)
    assert fire(made, {"delete_records": {"partition": "t-0", "before": 2}}).problem is None
    assert made.cluster.log_of(1, "t", 0).log_start_offset == 2
    assert fire(made, {"delete_records": "t-0"}).problem is None
    assert made.cluster.log_of(1, "t", 0).log_start_offset == 5
    problem = fire(made, {"delete_records": {"partition": "t-0", "before": 99}}).problem
    assert problem == "DeleteRecords of t-0 before offset 99: OFFSET_OUT_OF_RANGE"
