"""The producers of a log after a restart of the only broker. Clusters of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.requests import fill, idempotent, produce, read_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.probe import Probe

PRODUCER: Final = 7_000
EPOCH: Final = 3
BATCHES: Final = 7


def _own(number: int) -> tuple[tuple[str, str], ...]:
    """A cluster of a case's own: its broker restarts."""
    return (("metadata.max.idle.interval.ms", f"{580 + number}"),)


def _send(probe: Probe, topic: str, epoch: int, sequence: int, *, count: int = 1, note: str = "") -> None:
    values = (b"v",) * count
    probe.exchange(produce(topic, idempotent(PRODUCER, epoch, sequence, *values)), 9, note=f"{epoch}/{sequence} {note}")


def _restarted(probe: Probe, end: Callable[[int], None], **config: str) -> None:
    topic = probe.topic(**config)
    fill(probe, topic, *(idempotent(PRODUCER, EPOCH, 2 * number, b"v", b"w") for number in range(BATCHES)))
    probe.exchange(describe((topic, [0])), 0, note="before")
    end(1)
    probe.nodes.restart(1)
    probe.connect(1)
    probe.use(1)
    probe.await_topic(topic)
    probe.exchange(describe((topic, [0])), 0, note="after")
    for sequence in (0, 4, 6, 10, 12):
        _send(probe, topic, EPOCH, sequence, count=2, note="again")
    for epoch, sequence in ((EPOCH, 13), (EPOCH, 15), (EPOCH, 14), (EPOCH - 1, 0), (EPOCH + 1, 1), (EPOCH + 1, 0)):
        _send(probe, topic, epoch, sequence)
    probe.exchange(describe((topic, [0])), 0, note="at the end")
    read_back(probe, topic)


@case(settings=_own(0))
def a_clean_restart(probe: Probe) -> None:
    """The producers of old records are idle: the snapshot of the stop has them, but they are not loaded."""
    _restarted(probe, probe.nodes.shut_down)


@case(settings=_own(1))
def a_clean_restart_with_records_of_today(probe: Probe) -> None:
    """The snapshot has the newest batch of a producer alone."""
    _restarted(probe, probe.nodes.shut_down, message_timestamp_type="LogAppendTime")


@case(settings=_own(2))
def a_crash(probe: Probe) -> None:
    """Recovery writes a snapshot at the end of the log, and loads that."""
    _restarted(probe, probe.nodes.kill)


@case(settings=_own(3))
def a_crash_with_records_of_today(probe: Probe) -> None:
    _restarted(probe, probe.nodes.kill, message_timestamp_type="LogAppendTime")
