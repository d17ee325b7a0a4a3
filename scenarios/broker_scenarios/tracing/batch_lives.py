"""The batches of a producer's trace, each with its events; and those that a number, a record or a partition names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_scenarios.errors import ScenarioError
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_scenarios.tracing.broker_side import BrokerSide

__all__ = ["BatchLife", "batch_named", "batches_of", "lives_of", "partition_named", "record_named"]

_ENDS: Final = (BatchEventKind.ACKNOWLEDGED, BatchEventKind.FAILED, BatchEventKind.EXPIRED, BatchEventKind.SPLIT)
_NAMED_MAX: Final = 8
"""So many partitions or producers an error names."""
_EITHER_SIDE: Final = 2
"""So many batches an error names before and after an offset that none has."""


@dataclass(slots=True, kw_only=True)
class BatchLife:
    """One batch; `producer` is the client id, with `#2` and so on when a trace has several producers of that name."""

    producer: str
    number: int
    topic: str
    partition: int
    events: list[BatchEvent] = field(default_factory=list)
    stored_offset: int = -1
    """The offset at which a leader appended it, also without acknowledgement; -1 if no journal has it."""
    parent: BatchLife | None = None
    """The batch that it was cut from."""
    parts: list[BatchLife] = field(default_factory=list)
    """The batches that were cut from it."""

    @property
    def name(self) -> str:
        """Its name for --batch."""
        return f"{self.producer}:{self.number}"

    @property
    def key(self) -> str:
        """The name of its partition."""
        return f"{self.topic}-{self.partition}"

    @property
    def start_us(self) -> int:
        """The time of its creation."""
        return self.events[0].time_us

    @property
    def end(self) -> BatchEvent | None:
        """The event that ended it, if it has ended."""
        return next((event for event in self.events if event.kind in _ENDS), None)

    @property
    def took_us(self) -> int:
        """Microseconds from its creation to its end, -1 before its end."""
        return -1 if self.end is None else self.end.time_us - self.start_us

    @property
    def last(self) -> BatchEvent:
        """Its last event, which has the most facts."""
        return self.events[-1]

    @property
    def records(self) -> int:
        """The number of its records."""
        return self.last.records

    @property
    def attempts(self) -> int:
        """The number of requests that carried it."""
        return sum(event.kind is BatchEventKind.SENT for event in self.events)

    @property
    def base_offset(self) -> int:
        """The base offset of the acknowledgement, or of a leader's append; -1 without either."""
        end = self.end
        return end.base_offset if end is not None and end.base_offset >= 0 else self.stored_offset

    @property
    def outcome(self) -> str:
        """Its outcome in a word or two."""
        end = self.end
        if end is None:
            return "open"
        return f"{end.kind.value}: {end.error}" if end.error else end.kind.value

    def holds(self, offset: int) -> bool:
        """Return True if one of its records has that offset."""
        return 0 <= self.base_offset <= offset < self.base_offset + self.records


def lives_of(events: Iterable[BatchEvent], brokers: BrokerSide | None = None) -> list[BatchLife]:
    """Return all batches in the order of their creation, without those that are older than the trace."""
    lives: dict[tuple[str, int], BatchLife] = {}
    names: dict[str, str] = {}
    again: dict[str, int] = {}
    for event in sorted(events, key=lambda event: event.time_us):
        client_id = event.client_id
        name = names.setdefault(client_id, client_id)
        if event.kind is BatchEventKind.CREATED:
            if (name, event.batch) in lives:
                again[client_id] = again.get(client_id, 1) + 1
                name = names[client_id] = f"{client_id}#{again[client_id]}"
            topic, partition = event.topic_partition
            life = BatchLife(producer=name, number=event.batch, topic=topic, partition=partition)
            life.parent = lives.get((name, event.part_of))
            if life.parent is not None:
                life.parent.parts.append(life)
            lives[name, event.batch] = life
        life_of_event = lives.get((name, event.batch))
        if life_of_event is not None:
            life_of_event.events.append(event)
    if brokers is not None:
        for life in lives.values():
            life.stored_offset = brokers.stored_offset(life)
    return list(lives.values())


def batches_of(lives: Sequence[BatchLife], producer: str | None) -> list[BatchLife]:
    """Return the batches of one producer. Raises ScenarioError if there is no such producer."""
    if producer is None:
        return list(lives)
    found = [life for life in lives if life.producer == producer]
    if not found:
        there = dict.fromkeys(life.producer for life in lives)
        raise ScenarioError(f"no producer is {producer!r} (--producer){nearest(producer, there)}{_there(there)}")
    return found


def batch_named(lives: Sequence[BatchLife], text: str) -> BatchLife:
    """Return the batch `12` or `producer-0:12`. Raises ScenarioError if no batch or several have that name."""
    producer, _, digits = text.rpartition(":")
    if not digits.isdecimal():
        raise ScenarioError(f"--batch {text!r}: expected NUMBER or PRODUCER:NUMBER, as --list prints it")
    number = int(digits)
    candidates = batches_of(lives, producer or None)
    found = [life for life in candidates if life.number == number]
    if len(found) > 1:
        names = " or ".join(life.name for life in found[:_NAMED_MAX])
        raise ScenarioError(f"--batch {number}: {len(found)} producers have a batch {number}: expected {names}")
    if not found:
        numbers: dict[str, list[int]] = {}
        for life in candidates:
            numbers.setdefault(life.producer, []).append(life.number)
        there = ", ".join(f"{name} has {min(own)} to {max(own)}" for name, own in list(numbers.items())[:_NAMED_MAX])
        raise ScenarioError(f"--batch {text}: there is no such batch: {there}")
    return found[0]


def partition_named(lives: Sequence[BatchLife], text: str, option: str = "--partition") -> list[BatchLife]:
    """Return the batches of `orders-2`. Raises ScenarioError if there are none."""
    found = [life for life in lives if life.key == text]
    if not found:
        there = dict.fromkeys(sorted(life.key for life in lives))
        raise ScenarioError(f"no batch is for {text!r} ({option}){nearest(text, there)}{_there(there)}")
    return found


def record_named(lives: Sequence[BatchLife], text: str) -> tuple[BatchLife, int]:
    """Return the batch of the record `orders-2@61` and its index there. Raises ScenarioError with the nearest ones."""
    key, _, digits = text.rpartition("@")
    if not key or not digits.isdecimal():
        raise ScenarioError(f"{text!r} is no record (--record): expected TOPIC-PARTITION@OFFSET, as in orders-2@61")
    offset = int(digits)
    batches = partition_named(lives, key, "--record")
    found = [life for life in batches if life.holds(offset)]
    if len(found) > 1:
        names = ", ".join(life.name for life in found[:_NAMED_MAX])
        raise ScenarioError(
            f"offset {offset} of {key} was given more than once (--record); --batch shows each: {names}"
        )
    if found:
        return found[0], offset - found[0].base_offset
    known = sorted((life for life in batches if life.base_offset >= 0), key=lambda life: life.base_offset)
    if not known:
        raise ScenarioError(f"the offsets of {key} are not known (--record), as with acks=0; --batch takes a number")
    before = [life for life in known if life.base_offset < offset][-_EITHER_SIDE:]
    after = [life for life in known if life.base_offset > offset][:_EITHER_SIDE]
    nearby = ", ".join(f"{_offsets(life)} in batch {life.name}" for life in [*before, *after])
    raise ScenarioError(f"no batch of {key} has offset {offset} (--record); nearest are {nearby}")


def _offsets(life: BatchLife) -> str:
    return f"{life.base_offset} to {life.base_offset + life.records - 1}"


def _there(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _NAMED_MAX} more" if len(listed) > _NAMED_MAX else ""
    return f" (there are {', '.join(listed[:_NAMED_MAX])}{more})" if listed else ""
