"""ListPartitionReassignments, as raw probes see it, while no reassignment is in progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def listed(
    *topics: tuple[str, list[int]], timeout_ms: int = 10_000, everything: bool = False
) -> ListPartitionReassignmentsRequest:
    """Return a request about partitions; `everything` means all."""
    wanted = [ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes) for name, indexes in topics]
    return ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=None if everything else wanted)


@case()
def nothing_goes_on(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    probe.exchange(listed(everything=True), 0)
    probe.exchange(listed(), 0)
    probe.exchange(listed((topic, [0, 1])), 0)
    probe.exchange(listed((topic, [])), 0)


@case()
def unknown_topics_and_partitions(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(listed(("missing", [0]), (topic, [7, -1]), ("a b", [0]), ("", [])), 0)
    probe.exchange(listed((topic, [0, 0]), (topic, [0])), 0)
    probe.exchange(listed(("missing", [0]), ("missing", [0])), 0)


@case()
def timeouts(probe: Probe) -> None:
    topic = probe.topic()
    for timeout_ms in (0, -1, -(2**31), 2**31 - 1):
        probe.exchange(listed((topic, [0]), timeout_ms=timeout_ms), 0, note=str(timeout_ms))
        probe.exchange(listed(everything=True, timeout_ms=timeout_ms), 0, note=f"{timeout_ms}, everything")


@case()
def versions_that_are_unknown(probe: Probe) -> None:
    for version in (1, 2):
        probe.raw_body(46, version, b"\0\0\x75\x30\0\0", note="as version 0")


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for body, note in (
        (b"", "empty"),
        (b"\0\0\x75\x30\0\0", "right, everything"),
        (b"\0\0\x75\x30\1\0", "right, nothing"),
        (b"\0\0\x75\x30\1\0more", "more bytes"),
        (b"\0\0\x75\x30\2\0\1\0\0", "null name"),
        (b"\0\0\x75\x30\2\2t\0\0\0", "null indexes"),
    ):
        probe.raw_body(46, 0, body, note=note)


@case(brokers=3)
def listed_by_every_broker(probe: Probe) -> None:
    for broker in (1, 2, 3):
        probe.exchange(listed(everything=True), 0, on=probe.connect(broker), only=kept)


def kept(response: Any) -> Any:
    """Return the response without the partitions that other cases move meanwhile."""
    return response | {"topics": [each for each in response["topics"] if not each["name"].startswith("alter-")]}
