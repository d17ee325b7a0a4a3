"""Operations of any client against any broker, in the neutral form of histories: one JSON object per line.

An operation is an invocation and at most one completion, with micro-operations: `["send", key, value]`, `["poll", {key:
[[offset, value], ...]}]`, `["assign", [key, ...]]`, `["seek", {key: offset}]`, `["subscribe", [topic, ...]]` and
`["commit", {key: offset}]`. A key is a partition, `orders-0`. Mirrors the histories of Jepsen's Kafka workload.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from broker_scenarios.errors import HistoryError
from broker_scenarios.history import EventType
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["Call", "Op", "Process", "Value", "calls_of", "read_operations", "write_operations"]

Process: TypeAlias = int | str
Value: TypeAlias = int | str
MicroOperation: TypeAlias = "list[Any]"

FUNCTIONS: Final = ("send", "poll", "txn", "assign", "subscribe", "crash", "commit", "flush", "close")
OTHER_FUNCTIONS: Final = ("init", "begin")
"""Calls of our own clients that no check reads."""
_KEYS: Final = (
    "i", "process", "type", "f", "mops", "t_ms", "error", "group", "rebalanced", "final", "assigned", "auto", "offsets",
)  # fmt: skip
_REQUIRED: Final = ("process", "type", "f")
_TYPES: Final = tuple(event.value for event in EventType)
_OVERLAPPING: Final = ("send", "commit")
"""The functions of which a process may have several open at once, or one within another."""


@dataclass(slots=True, kw_only=True)
class Op:
    """One line: an invocation or a completion. `index` is its place in the history, from 0."""

    index: int
    process: Process
    type: EventType
    f: str
    mops: list[MicroOperation] = field(default_factory=list)
    t_ms: float = 0
    error: str | None = None
    group: str | None = None
    rebalanced: tuple[str, ...] = ()
    final: bool = False
    assigned: tuple[str, ...] | None = None
    auto: bool = False
    offsets: Mapping[str, Mapping[str, int]] | None = None


@dataclass(slots=True, kw_only=True)
class Call:
    """An invocation with its completion; without one it is open."""

    invoked: Op
    completed: Op | None = None
    completions: int = 0
    """How many completions it has; more than one is an anomaly of the client."""

    @property
    def process(self) -> Process:
        """The process that made the call."""
        return self.invoked.process

    @property
    def f(self) -> str:
        """The function."""
        return self.invoked.f

    @property
    def outcome(self) -> EventType | None:
        """How it ended; None while it is open."""
        return None if self.completed is None else self.completed.type

    @property
    def is_ok(self) -> bool:
        """True if it succeeded."""
        return self.outcome is EventType.OK

    @property
    def result(self) -> list[MicroOperation]:
        """The micro-operations with their results, those of the invocation while it is open."""
        return self.invoked.mops if self.completed is None else self.completed.mops or self.invoked.mops

    @property
    def group(self) -> str | None:
        """The consumer group."""
        return self.invoked.group or (None if self.completed is None else self.completed.group)

    @property
    def rebalanced(self) -> tuple[str, ...]:
        """The keys that moved during the call."""
        return self.invoked.rebalanced + (() if self.completed is None else self.completed.rebalanced)

    @property
    def ops(self) -> list[int]:
        """The places of its lines, for reports."""
        return [self.invoked.index, *([] if self.completed is None else [self.completed.index])]


def read_operations(path: Path) -> list[Op]:
    """Read a history. Raises HistoryError, which names the file, the line and the key."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise HistoryError(f"history {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise HistoryError(f"history {path}: byte {error.start} is not UTF-8") from None
    return parse_operations(text.splitlines(), str(path))


def parse_operations(lines: Iterable[str], name: str) -> list[Op]:
    """Read the lines of a history; empty lines are left out. Raises HistoryError."""
    ops: list[Op] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{name}:{number}"
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                raise HistoryError(f"{where}: no JSON: {error.msg} (column {error.colno})") from None
            ops.append(_op(value, len(ops), where))
    return ops


def write_operations(path: Path, ops: Iterable[Op]) -> None:
    """Write a history, one line for each operation."""
    with path.open("w", encoding="utf-8") as file:
        for op in ops:
            file.write(json.dumps(as_json(op)) + "\n")


def as_json(op: Op) -> dict[str, Any]:
    """An operation as the object of its line; what it does not have is left out."""
    given: dict[str, Any] = {
        "i": op.index, "process": op.process, "type": op.type.value, "f": op.f, "mops": op.mops, "t_ms": op.t_ms,
    }  # fmt: skip
    optional = {
        "error": op.error,
        "group": op.group,
        "rebalanced": list(op.rebalanced) or None,
        "final": op.final or None,
        "assigned": None if op.assigned is None else list(op.assigned),
        "auto": op.auto or None,
        "offsets": op.offsets,
    }
    return given | {key: value for key, value in optional.items() if value is not None}


def calls_of(ops: Iterable[Op], name: str = "history") -> list[Call]:
    """Pair invocations with completions, in the order of the invocations.

    Raises:
        HistoryError: a completion has no invocation, or a process calls while another of its calls is open.
    """
    calls: list[Call] = []
    open_calls: dict[tuple[Process, str], list[Call]] = {}
    ended_sends: dict[tuple[Process, Any], Call] = {}
    for op in ops:
        at = (op.process, op.f)
        if op.type is EventType.INVOKE:
            waiting = open_calls.setdefault(at, [])
            if waiting and op.f not in _OVERLAPPING:
                raise HistoryError(f"{name}: op {op.index}: process {op.process!r} has an open {op.f} already")
            call = Call(invoked=op)
            waiting.append(call)
            calls.append(call)
            continue
        found = _take(open_calls.get(at, []), op)
        if found is None:
            again = ended_sends.get((op.process, _value_of(op))) if op.f == "send" else None
            if again is None:
                raise HistoryError(
                    f"{name}: op {op.index}: a completion of {op.f} without an invocation by {op.process!r}"
                )
            again.completions += 1
            continue
        found.completed = op
        found.completions = 1
        if op.f == "send":
            ended_sends[op.process, _value_of(op)] = found
    return calls


def _take(waiting: list[Call], op: Op) -> Call | None:
    """The open call that a completion belongs to: of several sends, the one with its value."""
    for place, call in enumerate(waiting):
        if op.f != "send" or _value_of(op) is None or _value_of(call.invoked) == _value_of(op):
            return waiting.pop(place)
    return None


def _value_of(op: Op) -> Any:
    """The value of the first send of an operation."""
    for mop in op.mops:
        if mop[0] == "send":
            return mop[2][1] if isinstance(mop[2], list) else mop[2]
    return None


def _op(value: object, index: int, where: str) -> Op:
    if not isinstance(value, dict):
        raise HistoryError(f"{where}: expected an object with {', '.join(_KEYS)}, not {value!r}")
    for key in value:
        if key not in _KEYS:
            raise HistoryError(f"{where}: {key}: unknown key; expected one of {', '.join(_KEYS)}{nearest(key, _KEYS)}")
    for key in _REQUIRED:
        if key not in value:
            raise HistoryError(f"{where}: {key}: missing")
    kind = _one_of(value["type"], _TYPES, f"{where}: type")
    f = _one_of(value["f"], (*FUNCTIONS, *OTHER_FUNCTIONS), f"{where}: f")
    process = value["process"]
    if isinstance(process, bool) or not isinstance(process, int | str):
        raise HistoryError(f"{where}: process: expected a number or a text, not {process!r}")
    mops = value.get("mops") or []
    if not isinstance(mops, list):
        raise HistoryError(f"{where}: mops: expected a list of micro-operations, not {mops!r}")
    for place, mop in enumerate(mops):
        _check_mop(mop, f"{where}: mops[{place}]")
    t_ms = value.get("t_ms", 0)
    if isinstance(t_ms, bool) or not isinstance(t_ms, int | float):
        raise HistoryError(f"{where}: t_ms: expected a number of milliseconds, not {t_ms!r}")
    assigned = value.get("assigned")
    return Op(
        index=index,
        process=process,
        type=EventType(kind),
        f=f,
        mops=mops,
        t_ms=t_ms,
        error=None if value.get("error") is None else str(value["error"]),
        group=_optional_text(value.get("group"), f"{where}: group"),
        rebalanced=_texts(value.get("rebalanced") or (), f"{where}: rebalanced"),
        final=_flag(value.get("final"), f"{where}: final"),
        assigned=None if assigned is None else _texts(assigned, f"{where}: assigned"),
        auto=_flag(value.get("auto"), f"{where}: auto"),
        offsets=_offsets(value.get("offsets"), f"{where}: offsets"),
    )


def _check_mop(mop: object, where: str) -> None:
    if not isinstance(mop, list) or not mop or mop[0] not in _MOPS:
        names = ", ".join(_MOPS)
        raise HistoryError(f"{where}: expected a list that begins with one of {names}, not {mop!r}")
    _MOPS[mop[0]](mop, where)


def _check_send(mop: list[Any], where: str) -> None:
    if len(mop) != 3 or not isinstance(mop[1], str):
        raise HistoryError(f"{where}: expected ['send', key, value] or ['send', key, [offset, value]], not {mop!r}")
    value = mop[2]
    if isinstance(value, list):
        if len(value) != 2 or not (value[0] is None or isinstance(value[0], int)):
            raise HistoryError(f"{where}: expected [offset, value], not {value!r}")
        if value[0] is None:
            value[0] = -1
        value = value[1]
    _check_value(value, where)


def _check_value(value: object, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise HistoryError(f"{where}: expected a value that is a number or a text, not {value!r}")


def _check_poll(mop: list[Any], where: str) -> None:
    if len(mop) == 1:
        return
    if len(mop) != 2 or not isinstance(mop[1], dict):
        raise HistoryError(f"{where}: expected ['poll'] or ['poll', {{key: [[offset, value], ...]}}], not {mop!r}")
    for key, pairs in mop[1].items():
        if not isinstance(pairs, list):
            raise HistoryError(f"{where}.{key}: expected a list of [offset, value], not {pairs!r}")
        for pair in pairs:
            if (
                not isinstance(pair, list)
                or len(pair) != 2
                or isinstance(pair[0], bool)
                or not isinstance(pair[0], int)
            ):
                raise HistoryError(f"{where}.{key}: expected [offset, value], not {pair!r}")
            _check_value(pair[1], f"{where}.{key}")


def _check_names(mop: list[Any], where: str) -> None:
    if len(mop) != 2:
        raise HistoryError(f"{where}: expected [{mop[0]!r}, [name, ...]], not {mop!r}")
    _texts(mop[1], where)


def _check_seek(mop: list[Any], where: str) -> None:
    if len(mop) != 2 or not isinstance(mop[1], dict):
        raise HistoryError(f"{where}: expected ['seek', {{key: offset}}], not {mop!r}")


def _check_commit(mop: list[Any], where: str) -> None:
    if len(mop) == 1:
        return
    if len(mop) != 2 or not isinstance(mop[1], dict) or any(not isinstance(each, int) for each in mop[1].values()):
        raise HistoryError(f"{where}: expected ['commit', {{key: offset}}], not {mop!r}")


_MOPS: Final = {
    "send": _check_send,
    "poll": _check_poll,
    "assign": _check_names,
    "seek": _check_seek,
    "subscribe": _check_names,
    "commit": _check_commit,
}


def _one_of(value: object, known: Sequence[str], where: str) -> str:
    if not isinstance(value, str) or value not in known:
        hint = nearest(value, known) if isinstance(value, str) else ""
        raise HistoryError(f"{where}: expected one of {', '.join(known)}, not {value!r}{hint}")
    return value


def _optional_text(value: object, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise HistoryError(f"{where}: expected a text, not {value!r}")


def _flag(value: object, where: str) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise HistoryError(f"{where}: expected true or false, not {value!r}")


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or any(not isinstance(each, str) for each in value):
        raise HistoryError(f"{where}: expected a list of texts, not {value!r}")
    return tuple(value)


def _offsets(value: object, where: str) -> Mapping[str, Mapping[str, int]] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or any(not isinstance(each, dict) for each in value.values()):
        raise HistoryError(f"{where}: expected {{key: {{lso, hw}}}}, not {value!r}")
    return value


def polled_of(call: Call) -> Iterator[tuple[str, list[list[Any]]]]:
    """The keys that a completed call polled, each with its [offset, value] pairs, in order."""
    if call.completed is not None:
        for mop in call.completed.mops:
            if mop[0] == "poll" and len(mop) == 2:
                yield from mop[1].items()
