"""The neutral form of a history: the operations of any client against any broker, one JSON object per line.

An operation is an invocation and at most one completion of the same process and function, in Jepsen's terms: `ok`,
`fail` (certainly without effect) or `info` (unknown). Its micro-operations are the sends, polls, assignments and
commits in it. A process is one lifetime of a client.
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from broker_scenarios.errors import HistoryError
from broker_scenarios.history import NO_OFFSET, EventType
from broker_sim.errors import nearest
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import TextIO

__all__ = [
    "Assign",
    "Commit",
    "Function",
    "Mop",
    "Op",
    "Poll",
    "PolledOffsets",
    "Process",
    "Seek",
    "Send",
    "Subscribe",
    "Value",
    "numbered_operations",
    "op_from_json",
    "op_to_json",
    "read_operations",
    "split_key",
    "write_operations",
]

Value: TypeAlias = int | str
"""The value of a record: unique per key in a history, unless the application sends it again."""
Process: TypeAlias = int | str


class Function(StrEnum):
    """The functions of a client. A `txn` is transactional; a `send` and a `poll` are not."""

    SEND = "send"
    POLL = "poll"
    TXN = "txn"
    ASSIGN = "assign"
    SUBSCRIBE = "subscribe"
    COMMIT = "commit"
    FLUSH = "flush"
    CLOSE = "close"
    CRASH = "crash"


class Send(NamedTuple):
    """One record sent to the partition `key` (`topic-partition`); the offset is -1 in an invocation and if unknown."""

    key: str
    value: Value
    offset: int = NO_OFFSET


class Poll(NamedTuple):
    """The records that one poll returned, as (offset, value) per key in their order; None in an invocation."""

    records: Mapping[str, list[tuple[int, Value]]] | None = None


class Assign(NamedTuple):
    """The partitions that a consumer assigns itself, in place of those it had."""

    keys: tuple[str, ...]


class Seek(NamedTuple):
    """New positions within an assign: an offset, or "beginning", "end" or "committed"."""

    positions: Mapping[str, int | str]


class Subscribe(NamedTuple):
    """The topics that a consumer subscribes to, in place of those it had."""

    topics: tuple[str, ...]


class Commit(NamedTuple):
    """The offsets that a consumer commits: the next one to read, per key."""

    offsets: Mapping[str, int]


class PolledOffsets(NamedTuple):
    """The last stable offset and the high watermark that came with a poll."""

    last_stable_offset: int
    high_watermark: int


Mop: TypeAlias = Send | Poll | Assign | Seek | Subscribe | Commit
"""A micro-operation."""


@dataclass(slots=True, kw_only=True)
class Op:
    """An invocation or a completion: one line of a history. Times are milliseconds of one clock."""

    index: int
    process: Process
    type: EventType
    f: Function
    time_ms: float
    mops: list[Mop]
    error: str | None = None
    group: str | None = None
    rebalanced: tuple[str, ...] = ()
    """The keys that moved between consumers during the operation."""
    final: bool = False
    """A final poll: a fresh consumer reads `assigned` from the beginning to the end."""
    assigned: tuple[str, ...] = ()
    auto: bool = False
    """A commit by the client itself, not by the application."""
    offsets: Mapping[str, PolledOffsets] | None = None


_SEEK_TARGETS: Final = ("beginning", "end", "committed")
_MOPS_OF: Final[dict[Function, tuple[str, ...]]] = {
    Function.SEND: ("send",),
    Function.POLL: ("poll",),
    Function.TXN: ("send", "poll", "commit"),
    Function.ASSIGN: ("assign", "seek"),
    Function.SUBSCRIBE: ("subscribe",),
    Function.COMMIT: ("commit",),
    Function.FLUSH: (),
    Function.CLOSE: (),
    Function.CRASH: (),
}
_REQUIRED: Final = ("i", "process", "type", "f", "mops", "t_ms")
_OPTIONAL: Final = ("error", "group", "rebalanced", "final", "assigned", "auto", "offsets")
_TIME_END_MS: Final = 2**63
"""Times are before: those of a clock in nanoseconds fit too."""
_WITHOUT_MOPS: Final = ("flush", "close", "crash")
_ALONE: Final = frozenset(_REQUIRED)
_KNOWN: Final = frozenset((*_REQUIRED, *_OPTIONAL))
_TYPES: Final = {each.value: each for each in EventType}
_FUNCTIONS: Final = {each.value: each for each in Function}


def split_key(key: str) -> tuple[str, int]:
    """Return topic and partition of a key. Raises ValueError if it is not `topic-partition`."""
    topic, dash, partition = key.rpartition("-")
    if not dash or not topic or not (partition.isascii() and partition.isdigit()):
        raise ValueError(f"{key!r} is not a partition: expected topic-partition, as orders-0")
    return topic, int(partition)


_GZIP: Final = b"\x1f\x8b"
"""The first bytes of a compressed file."""


def read_operations(path: Path) -> Iterator[Op]:
    """Read a history line by line, from a compressed file if it ends with `.gz`; empty lines are skipped.

    Raises:
        HistoryError: the file cannot be read, or a line is malformed; the message names file, line and key.
    """
    return (op for _, op in _lines(path))


def numbered_operations(history: Path | Iterable[Op]) -> Iterator[tuple[str, Op]]:
    """Return each operation with its place for messages: file and line, or its `i`. Raises as read_operations."""
    if isinstance(history, Path):
        return _lines(history)
    return ((f"i={op.index}", op) for op in history)


def _lines(path: Path) -> Iterator[tuple[str, Op]]:
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, 1):
                if not line.isspace():
                    where = f"{path}:{number}"
                    yield where, _op_of_line(line, where)
    except UnicodeDecodeError:
        raise HistoryError(_not_text(path)) from None
    except (OSError, EOFError, zlib.error) as error:
        raise HistoryError(f"cannot read the history {path}: {reason_of(error)}") from None


def _not_text(path: Path) -> str:
    """Return where a file is not UTF-8: the error of a text file counts from the beginning of a block."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith(_GZIP):
                return f"{path}: it is compressed: its name must end with .gz"
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return f"{path}:{number}: not UTF-8: byte {line[error.start]:#04x} (column {error.start + 1})"
    return f"{path}: not UTF-8"


def _opened(path: Path) -> TextIO:
    """Return the text of a file; utf-8-sig is UTF-8 that may begin with a byte order mark."""
    return gzip.open(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig")


def write_operations(path: Path, operations: Iterable[Op]) -> None:
    """Write a history, one JSON object per line."""
    with path.open("w", encoding="utf-8") as lines:
        for op in operations:
            lines.write(json.dumps(op_to_json(op), separators=(",", ":")) + "\n")


def op_to_json(op: Op) -> dict[str, Any]:
    """Return the JSON object of an operation; fields without information are left out."""
    invocation = op.type is EventType.INVOKE
    found: dict[str, Any] = {
        "i": op.index,
        "process": op.process,
        "type": op.type.value,
        "f": op.f.value,
        "mops": [_mop_to_json(mop, invocation=invocation) for mop in op.mops],
        "t_ms": op.time_ms,
    }
    for name in ("error", "group"):
        if (text := getattr(op, name)) is not None:
            found[name] = text
    for name in ("rebalanced", "assigned"):
        if keys := getattr(op, name):
            found[name] = list(keys)
    for name in ("final", "auto"):
        if getattr(op, name):
            found[name] = True
    if op.offsets is not None:
        found["offsets"] = {
            key: {"lso": each.last_stable_offset, "hw": each.high_watermark} for key, each in op.offsets.items()
        }
    return found


def op_from_json(data: object, where: str) -> Op:
    """Read an operation from its JSON object. `where` begins the messages, as `history.jsonl:17`.

    Raises:
        HistoryError: the object is malformed; the message names the key.
    """
    if not isinstance(data, dict):
        raise HistoryError(f"{where}: expected a JSON object, not {_shown(data)}")
    try:
        return _op(data)
    except _WrongError as wrong:
        raise HistoryError(f"{where}: {wrong}") from None


class _WrongError(ValueError):
    """A value that a key cannot have."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key!r}: {problem}")


def _unknown_name(key: str, value: object, known: Collection[str]) -> _WrongError:
    hint = nearest(value, known) if isinstance(value, str) else ""
    return _WrongError(key, f"expected one of {', '.join(known)}, not {_shown(value)}{hint}")


def _op_of_line(line: str, where: str) -> Op:
    try:
        data = json.loads(line.rstrip())
    except json.JSONDecodeError as error:
        raise HistoryError(f"{where}: not JSON: {error.msg} (column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise HistoryError(f"{where}: not JSON: {error}") from None
    return op_from_json(data, where)


def _op(data: dict[str, Any]) -> Op:
    if not data.keys() <= _KNOWN:
        unknown = next(name for name in data if name not in _KNOWN)
        known = ", ".join((*_REQUIRED, *_OPTIONAL))
        raise _WrongError(unknown, f"unknown key; there are {known}{nearest(unknown, _KNOWN)}")
    for name in _REQUIRED:
        if name not in data and not (name == "mops" and data.get("f") in _WITHOUT_MOPS):
            raise _WrongError(name, "is missing")
    index, process, time_ms = data["i"], data["process"], data["t_ms"]
    if type(index) is not int:
        raise _WrongError("i", f"expected a whole number, not {_shown(index)}")
    if type(process) is not int and type(process) is not str:
        raise _WrongError("process", f"expected a number or a name, not {_shown(process)}")
    if (type(time_ms) is not int and type(time_ms) is not float) or not -_TIME_END_MS < time_ms < _TIME_END_MS:
        raise _WrongError("t_ms", f"expected milliseconds, not {_shown(time_ms)}")
    event = _TYPES.get(data["type"]) if isinstance(data["type"], str) else None
    if event is None:
        raise _unknown_name("type", data["type"], _TYPES)
    function = _FUNCTIONS.get(data["f"]) if isinstance(data["f"], str) else None
    if function is None:
        raise _unknown_name("f", data["f"], _FUNCTIONS)
    op = Op(
        index=index,
        process=process,
        type=event,
        f=function,
        time_ms=time_ms,
        mops=_mops(data.get("mops", []), function, invocation=event is EventType.INVOKE),
    )
    if not data.keys() <= _ALONE:
        _add_optional(op, data)
    return op


def _add_optional(op: Op, data: dict[str, Any]) -> None:
    error, op.group = data.get("error"), data.get("group")
    op.error = error if error is None or isinstance(error, str) else json.dumps(error)
    if op.group is not None and not isinstance(op.group, str):
        raise _WrongError("group", f"expected a text, not {_shown(op.group)}")
    for name in ("rebalanced", "assigned"):
        if data.get(name) is not None:
            setattr(op, name, tuple(_key(key, name) for key in _list(data[name], name)))
    for name in ("final", "auto"):
        flag = data.get(name)
        if flag is not None and not isinstance(flag, bool):
            raise _WrongError(name, f"expected true or false, not {_shown(flag)}")
        setattr(op, name, bool(flag))
    if data.get("offsets") is not None:
        op.offsets = {
            _key(key, "offsets"): _polled_offsets(each) for key, each in _mapping(data["offsets"], "offsets").items()
        }


def _mops(data: object, function: Function, *, invocation: bool) -> list[Mop]:
    allowed = _MOPS_OF[function]
    mops: list[Mop] = []
    for each in _list(data, "mops"):
        if not isinstance(each, list) or not each or not isinstance(each[0], str):
            raise _WrongError("mops", f'expected ["name", ...], not {_shown(each)}')
        name = each[0]
        if name not in _READERS:
            raise _WrongError("mops", f"unknown micro-operation {name!r}; there are {', '.join(_READERS)}")
        if name not in allowed:
            there = f"there are {', '.join(allowed)}" if allowed else "it has none"
            raise _WrongError("mops", f"a {function.value} has no micro-operation {name!r}; {there}")
        mops.append(_READERS[name](each, invocation))
    return mops


def _send(mop: list[Any], invocation: bool) -> Send:  # noqa: FBT001 - the signature of a reader
    if len(mop) != 3:
        raise _WrongError("mops", f'expected ["send", key, value], not {_shown(mop)}')
    key, sent = _key(mop[1], "mops"), mop[2]
    if not isinstance(sent, list):
        return Send(key, _value(sent))
    if invocation:
        raise _WrongError("mops", f"an invocation has no offset yet: {_shown(mop)}")
    if len(sent) != 2:
        raise _WrongError("mops", f"expected [offset, value], not {_shown(sent)}")
    return Send(key, _value(sent[1]), _number(sent[0], "mops", at_least=NO_OFFSET))


def _poll(mop: list[Any], invocation: bool) -> Poll:  # noqa: FBT001
    if len(mop) == 1:
        return Poll(None if invocation else {})
    if len(mop) != 2 or invocation:
        expected = '["poll"]' if invocation else '["poll", {key: [[offset, value], ...]}]'
        raise _WrongError("mops", f"expected {expected}, not {_shown(mop)}")
    records: dict[str, list[tuple[int, Value]]] = {}
    for key, pairs in _mapping(mop[1], "mops").items():
        found = records[_key(key, "mops")] = []
        for pair in _list(pairs, "mops"):
            if not isinstance(pair, list) or len(pair) != 2:
                raise _WrongError("mops", f"expected [offset, value], not {_shown(pair)}")
            found.append((_number(pair[0], "mops", at_least=0), _value(pair[1])))
    return Poll(records)


def _assign(mop: list[Any], _: bool) -> Assign:  # noqa: FBT001
    return Assign(tuple(_key(key, "mops") for key in _list(_only(mop), "mops")))


def _seek(mop: list[Any], _: bool) -> Seek:  # noqa: FBT001
    positions: dict[str, int | str] = {}
    for key, to in _mapping(_only(mop), "mops").items():
        positions[_key(key, "mops")] = to if to in _SEEK_TARGETS else _number(to, "mops", at_least=0)
    return Seek(positions)


def _subscribe(mop: list[Any], _: bool) -> Subscribe:  # noqa: FBT001
    topics = _list(_only(mop), "mops")
    for topic in topics:
        if not isinstance(topic, str):
            raise _WrongError("mops", f"expected the name of a topic, not {_shown(topic)}")
    return Subscribe(tuple(topics))


def _commit(mop: list[Any], _: bool) -> Commit:  # noqa: FBT001
    offsets = _mapping(_only(mop), "mops")
    return Commit({_key(key, "mops"): _number(to, "mops", at_least=0) for key, to in offsets.items()})


_READERS: Final[dict[str, Callable[[list[Any], bool], Mop]]] = {
    "send": _send,
    "poll": _poll,
    "assign": _assign,
    "seek": _seek,
    "subscribe": _subscribe,
    "commit": _commit,
}


def _mop_to_json(mop: Mop, *, invocation: bool) -> list[Any]:
    match mop:
        case Send():
            known = mop.offset != NO_OFFSET and not invocation
            return ["send", mop.key, [mop.offset, mop.value] if known else mop.value]
        case Poll():
            if mop.records is None:
                return ["poll"]
            return ["poll", {key: [list(pair) for pair in pairs] for key, pairs in mop.records.items()}]
        case Assign():
            return ["assign", list(mop.keys)]
        case Seek():
            return ["seek", dict(mop.positions)]
        case Subscribe():
            return ["subscribe", list(mop.topics)]
        case Commit():
            return ["commit", dict(mop.offsets)]


def _polled_offsets(data: object) -> PolledOffsets:
    found = _mapping(data, "offsets")
    if found.keys() != {"lso", "hw"}:
        raise _WrongError("offsets", f'expected {{"lso": offset, "hw": offset}}, not {_shown(data)}')
    return PolledOffsets(
        _number(found["lso"], "offsets", at_least=NO_OFFSET), _number(found["hw"], "offsets", at_least=NO_OFFSET)
    )


def _only(mop: list[Any]) -> Any:
    if len(mop) != 2:
        raise _WrongError("mops", f"expected [{mop[0]!r}, ...] with one value, not {_shown(mop)}")
    return mop[1]


def _key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise _WrongError(name, f"expected a partition, as orders-0, not {_shown(key)}")
    try:
        split_key(key)
    except ValueError as error:
        raise _WrongError(name, str(error)) from None
    return key


def _value(value: object) -> Value:
    if type(value) is not int and type(value) is not str:
        raise _WrongError("mops", f"a value is a whole number or a text, not {_shown(value)}")
    return value


def _number(number: object, name: str, *, at_least: int) -> int:
    if type(number) is not int or number < at_least:
        raise _WrongError(name, f"expected a whole number from {at_least}, not {_shown(number)}")
    return number


def _list(data: object, name: str) -> list[Any]:
    if not isinstance(data, list):
        raise _WrongError(name, f"expected a list, not {_shown(data)}")
    return data


def _mapping(data: object, name: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _WrongError(name, f"expected an object, not {_shown(data)}")
    return data


def _shown(data: object) -> str:
    text = json.dumps(data, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."
