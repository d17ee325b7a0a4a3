"""What a reader may do with hostile bytes, and what it did: the rules of the codec, tried on one piece of data.

- It raises nothing but a ProtocolError; a MessageDecodeError names a field of the declaration and a byte of the data.
- What it reads, it can write (or refuses by a ProtocolError), and reads back as the same.
- It allocates no more than its data accounts for: `memory_allowed`, by tracemalloc, which makes reading three times
  slower. What allocates without bytes to account for it is a length that is believed, so that a campaign measures the
  frames in which one may lie, and a share of the others. A compression library's own memory is not seen.
- It takes no longer than SLOWEST_S a kilobyte. What looks slow is read again without measuring, and counts only when
  each of RETRIES_MAX tries was slow, so that neither a busy machine nor code generated meanwhile is blamed.
"""

from __future__ import annotations

import enum
import tracemalloc
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from protocol_specs import registry
from protocol_specs.codec.places import field_at
from protocol_specs.errors import MessageDecodeError, ProtocolError, RecordBatchError
from protocol_specs.fields import Array, FieldType, Records
from protocol_specs.hostile_frames.record_sets import DECOMPRESSED_BYTES_MAX, RECORD_SET_READERS
from protocol_specs.hostile_frames.subjects import Reading, Route, Subject, read
from protocol_specs.message import Message, Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Buffer

SLOWEST_S: Final = 0.010
"""What reading a kilobyte may take; less data may take as long."""

RETRIES_MAX: Final = 7

_SUSPECT_SHARE: Final = 0.25
"""Of the time and of the memory that are allowed: who takes more is read again, as the first reading also pays for
generated code, caches and imports."""

MEMORY_FOR_NOTHING: Final = 32 * 1024
MEMORY_PER_BYTE: Final = 400
"""A struct of one byte on the wire is an object with a slot for each field of its declaration."""

Clock: TypeAlias = Callable[[], float]
"""Seconds since any moment: the CPU time of the process serves best."""


class Fault(enum.Enum):
    """A rule that a reading broke."""

    CRASH = "an exception that is not the codec's own"
    PLACE = "an error that names a byte or a field that is not there"
    UNLOCATED = "an error whose field the slow walk did not find"
    ROUND_TRIP = "what was read is written as something else"
    WRITE_CRASH = "writing what was read ends in an exception that is not the codec's own"
    MEMORY = "more memory than the bytes account for"
    SLOW = "more time than the bytes account for"
    SOUND = "sound bytes are refused, or read as something else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What reading came to: `fault` and `detail` when a rule was broken. `outcome` is "read", "waits" or an error."""

    outcome: str
    took_s: float
    memory_bytes: int
    written: bool = False
    write_refused: bool = False
    fault: Fault | None = None
    detail: str = ""


def memory_allowed(subject: Subject, length: int) -> int:
    """How many bytes reading `length` bytes may allocate; decompressing record sets may take their limit."""
    records = 4 * DECOMPRESSED_BYTES_MAX if subject.route is Route.RECORD_SET else 0
    return MEMORY_FOR_NOTHING + MEMORY_PER_BYTE * length + records


def judge(subject: Subject, data: bytes, clock: Clock, *, measured: bool = True) -> Verdict:
    """Read the bytes, and what can be read write and read again.

    `measured` asks for the memory that reading takes, which only `measuring` lets one see.
    """
    before = _reset_peak() if measured else 0
    started = clock()
    outcome, readings, error = _try(subject, data)
    took_s = clock() - started
    memory = tracemalloc.get_traced_memory()[1] - before if measured else 0
    fault, detail, written = _fault_of(data, readings, error)
    allowed_bytes = memory_allowed(subject, len(data))
    if fault is None and memory > allowed_bytes * _SUSPECT_SHARE:
        memory = measured_memory(subject, data)
        if memory > allowed_bytes:
            fault, detail = Fault.MEMORY, f"{memory} bytes for {len(data)}, {allowed_bytes} are allowed"
    allowed_s = SLOWEST_S * max(1.0, len(data) / 1024)
    if fault is None and took_s > allowed_s * _SUSPECT_SHARE:
        took_s = fastest(subject, data, clock)
        if took_s > allowed_s:
            fault, detail = Fault.SLOW, f"{took_s * 1000:.1f} ms for {len(data)} bytes, {RETRIES_MAX} times"
    return Verdict(
        outcome=outcome,
        took_s=took_s,
        memory_bytes=memory,
        written=written is True,
        write_refused=written is False,
        fault=fault,
        detail=detail,
    )


@contextmanager
def measuring() -> Iterator[None]:
    """Let memory be measured: once for many frames, because each start of tracemalloc keeps a little for good."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def measured_memory(subject: Subject, data: bytes) -> int:
    """The peak of what one reading allocates, within `measuring`."""
    before = _reset_peak()
    _try(subject, data)
    return tracemalloc.get_traced_memory()[1] - before


def _reset_peak() -> int:
    """Forget the peak so far; answer what is allocated now."""
    assert tracemalloc.is_tracing(), "memory is measured within measuring()"
    tracemalloc.reset_peak()
    return tracemalloc.get_traced_memory()[0]


def fastest(subject: Subject, data: bytes, clock: Clock) -> float:
    """The shortest of several readings, none slowed down by tracemalloc."""
    tracing = tracemalloc.is_tracing()
    tracemalloc.stop()
    times = []
    for _ in range(RETRIES_MAX):
        started = clock()
        _try(subject, data)
        times.append(clock() - started)
    if tracing:
        tracemalloc.start()
    return min(times)


def _try(subject: Subject, data: bytes) -> tuple[str, list[Reading], Exception | None]:
    try:
        if subject.route is Route.RECORD_SET:
            return _read_record_set(data), [], None
        readings = read(subject, data)
    except Exception as error:  # noqa: BLE001 - any exception is an outcome here
        return type(error).__name__, [], error
    return "read" if readings else "waits", readings, None


def _read_record_set(data: Buffer) -> str:
    outcome = "read"
    for reader in RECORD_SET_READERS:
        try:
            reader(data)
        except RecordBatchError as error:
            outcome = type(error).__name__
    return outcome


def _fault_of(data: bytes, readings: list[Reading], error: Exception | None) -> tuple[Fault | None, str, bool | None]:
    """The rule that was broken, and whether what was read was written: None where nothing was read."""
    if error is not None:
        return (*_fault_of_error(data, error), None)
    written: bool | None = None
    for reading in readings:
        fault, detail, written = _fault_of_reading(reading)
        if fault is not None:
            return fault, detail, written
    return None, "", written


def _fault_of_error(data: bytes, error: Exception) -> tuple[Fault | None, str]:
    if not isinstance(error, ProtocolError):
        return Fault.CRASH, f"{type(error).__name__}: {error}"
    if isinstance(error, MessageDecodeError):
        if not error.path:
            return Fault.UNLOCATED, str(error)
        if not 0 <= error.position <= len(data) or not _is_place(error.message, error.version, error.path):
            return Fault.PLACE, str(error)
    return None, ""


@lru_cache(maxsize=1)
def _classes() -> dict[str, type[Message]]:
    return {cls.__name__: cls for cls in registry.every_message()}


@lru_cache(maxsize=4096)
def _is_place(message: str, version: int, path: str) -> bool:
    """Whether the version of the message has such a field, element or tag section."""
    cls = _classes().get(message)
    if cls is None:
        return False
    outer, _, last = path.rpartition(".")
    if last == "unknown_tags":
        if not outer:
            return cls.is_flexible(version)
        path = outer
    found = field_at(cls, path.removesuffix("]").rpartition("[")[0] if path.endswith("]") else path)
    if found is None or version not in found.versions:
        return False
    inner = found.type.element if isinstance(found.type, Array) else found.type
    return last != "unknown_tags" or not isinstance(inner, FieldType)


def _fault_of_reading(reading: Reading) -> tuple[Fault | None, str, bool]:
    message, version = reading.message, reading.version
    if not 0 <= reading.stop <= len(reading.buffer):
        return Fault.PLACE, f"{type(message).__name__} v{version} ends at byte {reading.stop}", False
    for records in record_sets_of(message):
        try:
            _read_record_set(records)
        except Exception as error:  # noqa: BLE001 - what is not the codec's own is a finding
            return Fault.CRASH, f"reading records: {type(error).__name__}: {error}", False
    try:
        encoded = message.encode(version)
        again, stop = type(message).decode_from(version, encoded, 0)
    except ProtocolError as error:
        return (None, "", False) if _may_be_refused(message) else (Fault.ROUND_TRIP, str(error), False)
    except Exception as error:  # noqa: BLE001 - what is not the codec's own is a finding
        return Fault.WRITE_CRASH, f"{type(error).__name__}: {error}", False
    if stop != len(encoded) or not same(again, message):
        return Fault.ROUND_TRIP, f"{type(message).__name__} v{version} is read back as {again}", True
    if again.encode(version) != encoded:
        return Fault.ROUND_TRIP, f"{type(message).__name__} v{version} is written in two ways", True
    return None, "", True


def record_sets_of(value: object) -> Iterator[Buffer]:
    """What the Records fields of a message hold."""
    if isinstance(value, list):
        for item in value:
            yield from record_sets_of(item)
    elif isinstance(value, Struct):
        for f in value.FIELDS:
            inner = getattr(value, f.name)
            if f.type is Records:
                if inner is not None:
                    yield inner
            elif isinstance(inner, list | Struct):
                yield from record_sets_of(inner)


def _may_be_refused(value: object) -> bool:
    """Whether a message that was read holds what cannot be written: a tag twice, text that grew by replacements."""
    if isinstance(value, str):
        return "\ufffd" in value and len(value.encode()) > 32767
    if isinstance(value, list):
        return any(map(_may_be_refused, value))
    if isinstance(value, Struct):
        tags = [tag for tag, _ in value.unknown_tags]
        return len(set(tags)) != len(tags) or any(_may_be_refused(getattr(value, f.name)) for f in value.FIELDS)
    return False


def same(one: object, other: object) -> bool:
    """Whether two values are equal, but for the order of unknown tags (they are written in order) and for NaN."""
    if one == other:
        return True
    if isinstance(one, Struct) and type(one) is type(other):
        return sorted(one.unknown_tags) == sorted(other.unknown_tags) and all(
            same(getattr(one, f.name), getattr(other, f.name)) for f in one.FIELDS
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, float) and isinstance(other, float) and one != one and other != other  # noqa: PLR0124 - NaN
