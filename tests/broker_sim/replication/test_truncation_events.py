from __future__ import annotations

from typing import Any

from broker_sim.control.events import LogTruncated


def test_the_journal_has_the_offsets_and_the_records_of_a_truncation(replicas: Any) -> None:
    cluster = replicas()
    cluster.produce(1, 2)
    cluster.produce(3)
    cluster.run(ms=1_000)
    partition = cluster.partition(2)
    partition.truncate_to(2, "a test")
    partition.truncate_to(2, "nothing is left to remove")
    [event] = cluster.journal.events_of(LogTruncated)
    assert (event.broker_id, event.leader_id, event.reason) == (2, 1, "a test")
    assert (event.from_offset, event.to_offset, event.records, event.high_watermark) == (2, 3, 1, 3)
