"""The facts of a history, indexed once for all checks: writes, reads, offsets and logs.

The offsets that no operation has seen are left out, and the others are numbered 0, 1, 2, ... (`places`). An offset with
several values has any one of them. Mirrors the version orders of Jepsen's Kafka checker.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from broker_scenarios.history import EventType
from broker_scenarios.operations import calls_of, polled_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_scenarios.history_checks.claims import Claims
    from broker_scenarios.operations import Call, Op, Value

__all__ = ["Facts", "Found", "LoggedRecord", "Read", "Write"]

UNKNOWN_OFFSET = -1


@dataclass(slots=True, kw_only=True)
class Found:
    """One finding: `allowed` is the reason why it is permitted, None when it breaks a promise or a rule."""

    name: str
    values: list[Any] = field(default_factory=list)
    allowed: str | None = None
    calls: list[Call] = field(default_factory=list)
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Write:
    """One value that an operation sent; the offset is -1 where none is known."""

    call: Call
    key: str
    value: Value
    offset: int

    @property
    def is_transactional(self) -> bool:
        """True if it is part of a transaction."""
        return self.call.f == "txn"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Read:
    """The records of one key that one operation polled."""

    call: Call
    key: str
    pairs: Sequence[tuple[int, Value]]


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A record of a log: `state` is committed, aborted or open."""

    offset: int
    value: Value
    state: str = "committed"


@dataclass(kw_only=True)
class Facts:
    """A history with its claims and logs; a log that is None is unknown."""

    ops: Sequence[Op]
    claims: Claims
    logs: Mapping[str, Sequence[LoggedRecord] | None] = field(default_factory=dict)
    calls: list[Call] = field(init=False)
    writes: list[Write] = field(init=False)
    reads: list[Read] = field(init=False)

    def __post_init__(self) -> None:
        self.calls = calls_of(self.ops)
        self.writes = [write for call in self.calls for write in _writes_of(call)]
        self.reads = [
            Read(call=call, key=key, pairs=[(pair[0], pair[1]) for pair in pairs])
            for call in self.calls
            for key, pairs in polled_of(call)
        ]

    # Writes and reads

    @cached_property
    def writes_of(self) -> dict[Value, list[Write]]:
        """The writes of each value, in the order of their invocations."""
        found: dict[Value, list[Write]] = defaultdict(list)
        for write in self.writes:
            found[write.value].append(write)
        return found

    @cached_property
    def ok_reads_of(self) -> dict[str, dict[Value, Read]]:
        """Key -> value -> the first successful read."""
        found: dict[str, dict[Value, Read]] = defaultdict(dict)
        for read in self.reads:
            if read.call.is_ok:
                for _, value in read.pairs:
                    found[read.key].setdefault(value, read)
        return found

    @cached_property
    def proved(self) -> set[int]:
        """The ids of the calls with an unknown outcome of which a successful read shows a write."""
        read = self.ok_reads_of
        return {
            id(write.call)
            for write in self.writes
            if write.call.outcome in {EventType.INFO, None} and write.value in read.get(write.key, {})
        }

    def is_committed(self, call: Call) -> bool:
        """Return True if the writes of a call are in the log: it succeeded, or a read proves it."""
        return call.is_ok or id(call) in self.proved

    def is_read(self, key: str, value: Value) -> bool:
        """Return True if a successful read of the key shows the value."""
        return value in self.ok_reads_of.get(key, {})

    @cached_property
    def final_keys(self) -> set[str]:
        """The keys that successful final polls cover."""
        return {
            key
            for call in self.calls
            if call.invoked.final or (call.completed is not None and call.completed.final)
            if call.is_ok
            for key in (call.invoked.assigned or (call.completed.assigned if call.completed else None) or ())
        }

    @cached_property
    def keys(self) -> list[str]:
        """Every key of a write, a read or a log."""
        return list(
            dict.fromkeys([*(each.key for each in self.writes), *(each.key for each in self.reads), *self.logs])
        )

    # Offsets

    @cached_property
    def values_at(self) -> dict[str, dict[int, dict[Value, list[Call]]]]:
        """Key -> offset -> the values that operations have seen there, with the operations."""
        found: dict[str, dict[int, dict[Value, list[Call]]]] = {}

        def add(key: str, offset: int, value: Value, call: Call) -> None:
            found.setdefault(key, {}).setdefault(offset, {}).setdefault(value, []).append(call)

        for write in self.writes:
            if write.offset >= 0 and self.is_committed(write.call):
                add(write.key, write.offset, write.value, write.call)
        for read in self.reads:
            for offset, value in read.pairs:
                add(read.key, offset, value, read.call)
        return found

    @cached_property
    def order_of(self) -> dict[str, list[Value]]:
        """Key -> one value of each seen offset, in the order of the offsets."""
        return {
            key: [next(iter(offsets[offset])) for offset in sorted(offsets)] for key, offsets in self.values_at.items()
        }

    @cached_property
    def _places(self) -> dict[str, dict[Value, tuple[int, int]]]:
        found: dict[str, dict[Value, tuple[int, int]]] = {}
        for key, offsets in self.values_at.items():
            places = found[key] = {}
            for place, offset in enumerate(sorted(offsets)):
                for value in offsets[offset]:
                    first, _ = places.get(value, (place, place))
                    places[value] = (first, place)
        return found

    def first_place(self, key: str, value: Value) -> int | None:
        """The lowest place that holds the value."""
        found = self._places.get(key, {}).get(value)
        return None if found is None else found[0]

    def last_place(self, key: str, value: Value) -> int | None:
        """The highest place that holds the value."""
        found = self._places.get(key, {}).get(value)
        return None if found is None else found[1]

    def distance(self, key: str, before: Value, after: Value) -> int:
        """How many places `after` is behind `before`; 1 when one of them has no place of its own, or several."""
        places = self._places.get(key, {})
        one, other = places.get(before), places.get(after)
        if one is None or other is None or one[0] != one[1] or other[0] != other[1]:
            return 1
        if {before, after} & self._in_conflict.get(key, set()) and before != after:
            return 1
        return other[0] - one[0]

    @cached_property
    def _in_conflict(self) -> dict[str, set[Value]]:
        return {
            key: {value for values in offsets.values() if len(values) > 1 for value in values}
            for key, offsets in self.values_at.items()
        }

    def between(self, key: str, before: Value, after: Value) -> list[Value]:
        """The values behind `before` and in front of `after`."""
        first, last = self.first_place(key, before), self.first_place(key, after)
        if first is None or last is None:
            return []
        return self.order_of[key][first + 1 : last]

    # Logs

    @cached_property
    def committed_in(self) -> dict[str, dict[Value, list[int]]]:
        """Key with a known log -> value -> the offsets at which it is committed."""
        found: dict[str, dict[Value, list[int]]] = {}
        for key, records in self.logs.items():
            if records is not None:
                values = found[key] = {}
                for record in records:
                    if record.state == "committed":
                        values.setdefault(record.value, []).append(record.offset)
        return found

    @cached_property
    def uncommitted_in(self) -> dict[str, set[Value]]:
        """Key with a known log -> the values of aborted and open transactions."""
        return {
            key: {record.value for record in records if record.state != "committed"}
            for key, records in self.logs.items()
            if records is not None
        }

    def has_log(self, key: str) -> bool:
        """Return True if the log of the key is known."""
        return self.logs.get(key) is not None

    # Losses

    def loss_allowance(self, key: str, value: Value, offset: int) -> str | None:
        """Why the loss of an acknowledged value is permitted; None when it is not."""
        claims, promises = self.claims, self.claims.promises
        kinds = {fault.kind for fault in claims.faults if fault.key in {None, key}}
        if promises.acks in {0, 1} and kinds & {"leader-crash", "leader-move"}:
            return f"acks={promises.acks_name}: the leader crashed or moved"
        if promises.unclean_leader_election and "unclean-election" in kinds:
            return "unclean.leader.election.enable=true: an unclean election happened"
        if 0 <= offset < claims.log_start.get(key, 0):
            return f"retention: the log begins at {claims.log_start[key]}"
        if claims.is_compacted and self._has_later_value(key, value):
            return "compaction: the log has a later value of the same key"
        return None

    def _has_later_value(self, key: str, value: Value) -> bool:
        message_key = self.claims.keys.get(value)
        last = self._last_of_message_key.get((key, message_key)) if message_key is not None else None
        return last is not None and last is not value and self._send_order[last] > self._send_order.get(value, -1)

    @cached_property
    def _last_of_message_key(self) -> dict[tuple[str, str | None], Value]:
        return {
            (writes[0].key, self.claims.keys[value]): value
            for value, writes in self.writes_of.items()
            if value in self.claims.keys
        }

    @cached_property
    def _send_order(self) -> dict[Value, int]:
        return {value: place for place, value in enumerate(self.writes_of)}

    @property
    def end_ms(self) -> float:
        """The time of the last operation."""
        return max((op.t_ms for op in self.ops), default=0)


def _writes_of(call: Call) -> Iterator[Write]:
    """The writes of a call as invoked, with the keys and offsets of its completion."""
    results: dict[Value, list[Any]] = {}
    if call.completed is not None:
        for mop in call.completed.mops:
            if mop[0] == "send":
                value = mop[2][1] if isinstance(mop[2], list) else mop[2]
                results[value] = mop
    seen: set[Value] = set()
    for mop in [*call.invoked.mops, *results.values()]:
        if mop[0] != "send":
            continue
        value = mop[2][1] if isinstance(mop[2], list) else mop[2]
        if value in seen:
            continue
        seen.add(value)
        result = results.get(value, mop)
        offset = result[2][0] if isinstance(result[2], list) else UNKNOWN_OFFSET
        yield Write(call=call, key=result[1], value=value, offset=offset)
