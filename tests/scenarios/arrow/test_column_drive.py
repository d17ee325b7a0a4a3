"""A share that is sent by the column has the history of one that is sent by the record, apart from times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from broker_client.errors import ProducerClosed
from broker_scenarios.arrow.column_drive import drive_columns
from broker_scenarios.arrow.history_table import events_of
from broker_scenarios.arrow.load_table import load_batch
from broker_scenarios.drive import DriveSpec, broker_client_producer, drive_share
from broker_scenarios.errors import ScenarioError
from broker_scenarios.workloads.keyed_load import LoadSpec, SizeShare, build_load
from broker_sim.threaded_cluster import ThreadedCluster
from broker_sim.topic_spec import TopicSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.history import HistoryEvent
    from broker_scenarios.workloads.keyed_load import LoadRow

SIZES = {
    "enable.idempotence": "false",
    "max.in.flight.requests.per.connection": "1",
    "max.request.size": "50000",
    "retry.backoff.ms": "1",
}
LIMITED = {"max.message.bytes": "2000"}
DRIVE = DriveSpec(run_id="run-1", bootstrap_servers="broker:9092", deadline_s=10)


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, config={"auto.create.topics.enable": "false"}) as running:
        for path in ("rows", "columns"):
            for load in ("sizes", "unconfirmed"):
                configs = LIMITED if load == "sizes" else {}
                running.create_topic(TopicSpec(name=f"{load}-{path}", partitions=3, configs=configs))
        yield running


def meaning(events: list[HistoryEvent]) -> list[tuple[Any, ...]]:
    """All fields but times and the topic, in the order of sending; of offsets and timestamps, whether there is one."""
    found = [
        (each.run_id, each.process, each.producer_id, each.index, each.type, each.partition, each.key, each.value_id,
         each.size_bytes, each.offset >= 0, each.timestamp_ms >= 0, each.error_code, each.error)
        for each in events
    ]  # fmt: skip
    return sorted(found, key=lambda each: (each[1], each[3], each[4] != "invoke"))


@pytest.mark.parametrize(
    ("name", "config", "outcomes"),
    [
        # Batches that the broker refuses are split; records of 3,000 B are refused alone, those of 60,000 B at once.
        ("sizes", SIZES, {"invoke", "ok", "fail"}),
        ("unconfirmed", {"acks": "0"}, {"invoke", "ok"}),
        # Metadata comes within the time that a record waits: else its error has another text.
        ("absent", {"max.block.ms": "1000"}, {"invoke", "fail"}),
    ],
)
def test_both_paths_give_the_same_history(
    cluster: ThreadedCluster, name: str, config: dict[str, str], outcomes: set[str]
) -> None:
    sizes = (SizeShare(size_bytes=100), *(SizeShare(size_bytes=size, share=0.1) for size in (3_000, 60_000)))
    histories = []
    for path in ("rows", "columns"):
        load = LoadSpec(
            topic=f"{name}-{path}",
            records=2 if name == "absent" else 300,
            producers=2,
            keys=20,
            sizes=sizes if name == "sizes" else sizes[:1],
        )
        settings = DriveSpec(run_id="run-1", bootstrap_servers=cluster.bootstrap_servers, producer_config=config)
        rows = build_load(load, 7)
        if path == "rows":
            events = [event for part in drive_share(rows, settings, broker_client_producer) for event in part]
        else:
            batches = [load_batch(rows[:100]), load_batch(rows[100:])]
            found = drive_columns(batches, settings, broker_client_producer)  # type: ignore[arg-type]
            events = [event for part in found for event in events_of(part)]
        assert {event.topic for event in events} == {load.topic}
        histories.append([(*each[:-1], str(each[-1]).replace(load.topic, name)) for each in meaning(events)])
    assert histories[0] == histories[1]
    assert {each[4] for each in histories[0]} == outcomes


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


class Client:
    """Reports nothing. The third table is refused."""

    def __init__(self, tables: list[list[int]], clock: Clock, delay_s: float) -> None:
        self.tables = tables
        self.clock = clock
        self.delay_s = delay_s

    def send_batch(self, _topic: str, table: Any, **_: Any) -> None:
        self.tables.append([int.from_bytes(value[:8], "big") for value in table["value"].to_pylist()])
        self.clock.now += self.delay_s
        if len(self.tables) == 3:
            raise ProducerClosed("the producer is closed")

    def close(self, _timeout_s: float) -> None:
        pass


def driven(rows: list[LoadRow], delay_s: float = 0.0) -> tuple[list[list[int]], Clock, list[HistoryEvent]]:
    clock, tables = Clock(), list[list[int]]()
    batches = drive_columns(
        [load_batch(rows)],
        DRIVE,
        lambda _: Client(tables, clock, delay_s),  # type: ignore[arg-type, return-value]
        now_s=lambda: clock.now,
        wait_s=clock.wait,
    )
    return tables, clock, [event for batch in batches for event in events_of(batch)]


def test_rows_that_are_due_together_are_one_table() -> None:
    rows = [row._replace(due_us=row.value_id // 2 * 100_000) for row in build_load(LoadSpec(topic="t", records=4), 7)]
    tables, clock, events = driven(rows)
    assert tables == [[0, 1], [2, 3]]
    assert clock.waits == pytest.approx([0.1])
    assert [(event.index, event.type, event.time_us) for event in events] == [
        (0, "invoke", 1_000_000_000),
        (1, "invoke", 1_000_000_000),
        (2, "invoke", 1_000_100_000),
        (3, "invoke", 1_000_100_000),
    ]


def test_a_table_is_limited_in_bytes_and_has_one_topic_and_producer() -> None:
    large = build_load(LoadSpec(topic="t", records=5, sizes=(SizeShare(size_bytes=1 << 21),)), 7)
    assert driven(large)[0][:2] == [[0, 1], [2, 3]]
    rows = [row._replace(topic="ttuu"[row.value_id]) for row in build_load(LoadSpec(topic="t", records=4), 7)]
    assert driven(rows)[0] == [[0, 1], [2, 3]]


def test_a_table_that_the_client_refuses_has_failed() -> None:
    rows = [row._replace(topic="abc"[row.value_id]) for row in build_load(LoadSpec(topic="t", records=3), 7)]
    _, _, events = driven(rows)
    assert [(event.index, event.error) for event in events if event.type == "fail"] == [
        (2, "ProducerClosed: the producer is closed")
    ]


def test_a_cluster_that_is_too_slow_ends_the_drive_by_its_deadline() -> None:
    rows = [row._replace(topic="abc"[row.value_id]) for row in build_load(LoadSpec(topic="t", records=3), 7)]
    late = [row._replace(due_us=row.value_id * 1_000_000) for row in rows]
    with pytest.raises(ScenarioError, match=r"a record is 11 s late.*deadline_s allows 10"):
        driven(late, delay_s=12)


def test_an_empty_load_has_an_empty_history() -> None:
    assert not list(drive_columns([pa.RecordBatch.from_pylist([], load_batch([]).schema)], DRIVE, np.array))  # type: ignore[arg-type]
