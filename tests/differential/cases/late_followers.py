"""Followers that were dead while the log start of their leader moved past their log end, into the middle of a batch.

Clusters of their own: a broker is killed and starts again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.differential.case import case
from tests.differential.cases.alter_partition_reassignments import await_reassigned, send_reassign
from tests.differential.cases.cluster import ALL, placed
from tests.differential.cases.dead_brokers import DEAD, SOON, START_SECONDS
from tests.differential.cases.delete_records import before
from tests.differential.cases.describe_log_dirs import dirs, named
from tests.differential.cases.elect_leaders import send_elect
from tests.differential.cases.offset_for_leader_epoch import end_of
from tests.differential.housekeeping import OFTEN, at
from tests.differential.probe import attempts
from tests.differential.requests import batch, fetch, list_offsets, metadata, produce, wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.probe import Probe

FIRST = batch(b"a", b"b")
"""The records that every replica has."""
MISSED = (batch(b"c", b"d", b"e"), batch(b"f", b"g"), batch(b"h", b"i", b"j"))
"""At the offsets 2, 5 and 7; the log ends at 10."""
ROLLED = tuple(at(number, *((b"k", b"%d" % value) for value in range(3))) for number in range(1, 5))
"""At the offsets 2, 5, 8 and 11, each in a segment of its own; the log ends at 14."""
SETTINGS = (*SOON, ("replica.fetch.wait.max.ms", "20"))
"""Followers learn the high watermark soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A topic: its replicas, what the dead one misses, and the log start and end that it finds."""

    replicas: list[int]
    start: int
    end: int = 10
    missed: tuple[bytes, ...] = MISSED
    config: dict[str, str] = field(default_factory=dict)


INSIDE = {
    "first": Layout(replicas=[1, 2, 3], start=3),
    "last": Layout(replicas=[1, 2, 3], start=9),
    "between": Layout(replicas=[1, 2, 3], start=7),
    "end": Layout(replicas=[1, 2, 3], start=10),
    "led": Layout(replicas=[3, 1, 2], start=8),
}
GONE = {"gone": Layout(replicas=[1, 2, 3], start=9, end=14, missed=ROLLED, config={"segment_ms": "1"})}


def _partition(probe: Probe, name: str, broker: int = 1) -> Any:
    response: Any = probe.quiet(metadata(name), 12, on=probe.connect(broker))
    return response.topics[0].partitions[0]


def _await_partition(probe: Probe, name: str, awaited: str, reached: Callable[[Any], bool]) -> None:
    for broker in ALL[:2]:
        for _ in attempts(f"{name} {awaited} at broker {broker}", seconds=START_SECONDS):
            if reached(_partition(probe, name, broker)):
                break


def _append(probe: Probe, name: str, *record_sets: bytes) -> None:
    connection = probe.connect(_partition(probe, name).leader_id)
    for records in record_sets:
        response: Any = probe.quiet(produce(name, records), 9, on=connection)
        assert response.responses[0].partition_responses[0].error_code == 0, response


def _await_followers(probe: Probe, name: str, brokers: tuple[int, ...], end: int) -> None:
    """Wait until these replicas are in sync, and know the end of the log as high watermark."""
    for broker in brokers:
        connection = probe.connect(broker)
        for _ in attempts(f"the high watermark of {name} at broker {broker}", seconds=START_SECONDS):
            response: Any = probe.quiet(fetch(name, wanted(end)), 12, on=connection)
            partition = response.responses[0].partitions[0]
            if (partition.error_code, partition.high_watermark) == (0, end):
                break
    _await_partition(probe, name, "in sync", lambda partition: set(brokers) <= set(partition.isr_nodes))


def _show(probe: Probe, name: str, note: str, *offsets: int) -> None:
    """Write down what each replica has, and what its leader knows about it."""
    for broker in ALL:
        connection = probe.connect(broker)
        place = f"{note}, broker {broker}"
        for offset in offsets:
            probe.exchange(fetch(name, wanted(offset)), 12, on=connection, note=f"{place}, offset {offset}")
        probe.exchange(dirs((name, [0])), 4, on=connection, only=named, note=place)
    leader = probe.connect(_partition(probe, name).leader_id)
    for timestamp in (-1, -2, -3, 0):
        probe.exchange(list_offsets(name, timestamp), 7, on=leader, note=f"{note}, time {timestamp}")
    for epoch in (0, 1, 2):
        probe.exchange(end_of(name, epoch), 4, on=leader, note=f"{note}, epoch {epoch}")


def _move_starts(probe: Probe, topics: dict[str, Layout]) -> dict[str, str]:
    """Kill a follower that has the first batch, append the others, and delete up to the start; return the names."""
    names = {suffix: placed(probe, suffix, layout.replicas, **layout.config)[0] for suffix, layout in topics.items()}
    for name in names.values():
        _append(probe, name, FIRST)
    for name in names.values():
        _await_followers(probe, name, ALL, 2)
    probe.nodes.kill(DEAD)
    for suffix, layout in topics.items():
        name = names[suffix]
        _await_partition(
            probe, name, "without the dead", lambda each: each.leader_id in (1, 2) and DEAD not in each.isr_nodes
        )
        _append(probe, name, *layout.missed)
        _await_followers(probe, name, ALL[:2], layout.end)
        leader = probe.connect(_partition(probe, name).leader_id)
        probe.exchange(before(name, (0, layout.start)), 2, on=leader, note=suffix)
    return names


def _return(probe: Probe, topics: dict[str, Layout], names: dict[str, str]) -> None:
    """Start the follower, look at the logs, let it lead, and look again."""
    shown = {suffix: (*range(layout.start - 3, layout.start + 3), layout.end) for suffix, layout in topics.items()}
    probe.nodes.restart(DEAD)
    for suffix, layout in topics.items():
        _await_followers(probe, names[suffix], ALL, layout.end)
        _show(probe, names[suffix], f"{suffix} back", *shown[suffix])
        _append(probe, names[suffix], batch(b"x", b"y"))
    moves: dict[int, list[int] | None] = {0: [DEAD, 1, 2]}
    send_reassign(probe, 0, *((name, moves) for name in names.values()))
    for name in names.values():
        await_reassigned(probe, name, [DEAD, 1, 2])
    for suffix, name in names.items():
        send_elect(probe, 2, (name, [0]), note=suffix)
    for suffix, layout in topics.items():
        name = names[suffix]
        _await_partition(probe, name, "led by the late one", lambda each: each.leader_id == DEAD)
        _await_followers(probe, name, ALL, layout.end + 2)
        _show(probe, name, f"{suffix} leads", *shown[suffix])
        _append(probe, name, batch(b"z"))
        _await_followers(probe, name, ALL, layout.end + 3)


@case(brokers=3, settings=(*SETTINGS, ("metadata.max.idle.interval.ms", "509")))
def log_starts_inside_batches(probe: Probe) -> None:
    _return(probe, INSIDE, _move_starts(probe, INSIDE))


@case(brokers=3, releases=("4.3.1",), settings=(*SETTINGS, *OFTEN, ("log.segment.delete.delay.ms", "0")))
def log_starts_inside_batches_of_later_segments(probe: Probe) -> None:
    """3.7.2 does the same, 30 seconds after its start."""
    names = _move_starts(probe, GONE)
    left = len(ROLLED[2]) + len(ROLLED[3])
    for broker in ALL[:2]:
        connection = probe.connect(broker)
        for _ in attempts(f"the segments below the log start to go at broker {broker}"):
            response: Any = probe.quiet(dirs((names["gone"], [0])), 4, on=connection)
            if response.results[0].topics[0].partitions[0].partition_size == left:
                break
    _return(probe, GONE, names)
