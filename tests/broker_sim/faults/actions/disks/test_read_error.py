from __future__ import annotations

from typing import Any

from broker_sim.control.events import LogDirFailed


def test_a_fetch_that_reads_the_log_fails_its_directory(on_disk: Any, fire: Any) -> None:
    made = on_disk(2)
    fire(made, {"read_error": {"broker": 1, "topic": "t"}})
    assert made.cluster.broker(1).alive, "nothing was read"
    made.send(1)
    made.run(ms=1_000)
    [failed] = [event for event in made.journal.events if isinstance(event, LogDirFailed)]
    assert failed.broker_id == 1


def test_a_directory_is_offline_where_a_snapshot_cannot_be_read(on_disk: Any, fire: Any) -> None:
    made = on_disk(config={"log.dirs": "a,b"})
    made.produce(1)
    name = made.cluster.broker(1).storage.directories.of(made.topic)
    made.world.run_until(made.cluster.stop(1))
    fire(made, {"read_error": {"broker": 1, "topic": "t", "file": "snapshot"}})
    made.world.run_until(made.cluster.restart(1), deadline_ms=5_000)
    assert list(made.cluster.broker(1).storage.directories.offline) == [name]


def test_reads_succeed_again_when_the_rule_closes(on_disk: Any, fire: Any) -> None:
    made = on_disk()
    made.produce(1)
    fire(made, {"read_error": {"broker": 1, "topic": "t"}}, until={"delay_ms": 1_000})
    made.run(ms=1_000)
    assert len(made.cluster.log_of(1, *made.topic).read(0, max_bytes=1_000)) == 1
