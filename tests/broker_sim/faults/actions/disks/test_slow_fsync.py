from __future__ import annotations

from typing import Any

from broker_sim.topic_partition import TopicPartition


def pace(made: Any) -> Any:
    log = made.cluster.log_of(1, *made.topic)
    return log.directory.pace


def test_the_flushes_of_one_partition_take_time_until_the_rule_closes(on_disk: Any, fire: Any) -> None:
    made = on_disk(partitions=2)
    act = {"slow_fsync": {"broker": 1, "topic": "t", "partition": 0, "ms": 200}}
    fire(made, act, until={"delay_ms": 1_000})
    assert pace(made).speed.sync_ms_of(TopicPartition("t", 0)) == 200
    assert pace(made).speed.sync_ms_of(TopicPartition("t", 1)) == 0
    assert pace(made).speed.sync_ms_of(TopicPartition("u", 0)) == 0
    pace(made).synced(TopicPartition("t", 1), in_background=False)
    assert pace(made).owed_ms() == 0
    pace(made).synced(TopicPartition("t", 0), in_background=False)
    assert round(pace(made).owed_ms()) == 200
    made.run(ms=1_000)
    assert pace(made) is None
