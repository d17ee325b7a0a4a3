"""The oracle of a campaign: checks that reading mutated bytes keeps the rules of the codec.

- A reader raises nothing but ProtocolError; a MessageDecodeError names a field of the declaration and a byte of the
  data.
- A message that was read can be written (or is refused by a ProtocolError), and is then read back as the same.
- Reading allocates no more than `memory_allowed`. tracemalloc measures it and makes reading three times slower. A
  reader that trusts a wrong length allocates too much, so a campaign measures the frames in which a length can be
  wrong, and a share of the others. The own memory of a compression library is not included.
- Reading takes no longer than SLOWEST_S per kilobyte. A slow reading is repeated without measuring memory, and is a
  finding only if each of RETRIES_MAX tries was slow, so that neither a busy machine nor code generation causes one.
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
from protocol_specs.fuzzing.record_readers import DECOMPRESSED_BYTES_MAX, RECORD_SET_READERS
from protocol_specs.fuzzing.targets import Reading, Route, Target, read
from protocol_specs.message import Message, Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Buffer

SLOWEST_S: Final = 0.010
"""The time limit for reading a kilobyte, and for reading less data."""

RETRIES_MAX: Final = 7

_SUSPECT_SHARE: Final = 0.25
"""A reading that takes a larger share of the time or memory limit is repeated: the first one includes code generation,
caches and imports."""

MEMORY_FOR_NOTHING: Final = 32 * 1024
MEMORY_PER_BYTE: Final = 400
"""A struct of one byte on the wire becomes an object with a slot for each field of its declaration."""

Clock: TypeAlias = Callable[[], float]
"""Returns seconds; the CPU time of the process is the best clock here."""


class Fault(enum.Enum):
    """A rule that a reading broke."""

    CRASH = "an exception that is not the codec's own"
    PLACE = "an error that names a byte or a field that does not exist"
    UNLOCATED = "an error whose field the annotating walk did not find"
    ROUND_TRIP = "the message that was read is written as other bytes"
    WRITE_CRASH = "writing the message that was read raises an exception that is not the codec's own"
    MEMORY = "more memory than the bytes account for"
    SLOW = "more time than the bytes account for"
    VALID_INPUT = "valid input is refused, or read as another message"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one reading: `fault` and `detail` if a rule was broken; `outcome` is read, waits or an error."""

    outcome: str
    took_s: float
    memory_bytes: int
    written: bool = False
    write_refused: bool = False
    fault: Fault | None = None
    detail: str = ""


def memory_allowed(target: Target, length: int) -> int:
    """The limit of the bytes that reading `length` bytes can allocate, with that of decompression for record sets."""
    records = 4 * DECOMPRESSED_BYTES_MAX if target.route is Route.RECORD_SET else 0
    return MEMORY_FOR_NOTHING + MEMORY_PER_BYTE * length + records


def check(target: Target, data: bytes, clock: Clock, *, measured: bool = True) -> Verdict:
    """Read the bytes; write the messages that were read and read them again.

    With `measured` the verdict includes the memory that reading takes; the caller must be within `measuring`.
    """
    before = _reset_peak() if measured else 0
    started = clock()
    outcome, readings, error = _try(target, data)
    took_s = clock() - started
    memory = tracemalloc.get_traced_memory()[1] - before if measured else 0
    fault, detail, written = _fault_of(data, readings, error)
    allowed_bytes = memory_allowed(target, len(data))
    if fault is None and memory > allowed_bytes * _SUSPECT_SHARE:
        memory = measured_memory(target, data)
        if memory > allowed_bytes:
            fault, detail = Fault.MEMORY, f"{memory} bytes for {len(data)}, {allowed_bytes} are allowed"
    allowed_s = SLOWEST_S * max(1.0, len(data) / 1024)
    if fault is None and took_s > allowed_s * _SUSPECT_SHARE:
        took_s = fastest(target, data, clock)
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
    """Measure memory: once for many frames, because each start of tracemalloc keeps a little memory forever."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def measured_memory(target: Target, data: bytes) -> int:
    """The peak of the memory that one reading allocates; the caller must be within `measuring`."""
    before = _reset_peak()
    _try(target, data)
    return tracemalloc.get_traced_memory()[1] - before


def _reset_peak() -> int:
    """Start a new peak; return how many bytes are allocated now."""
    assert tracemalloc.is_tracing(), "memory is measured within measuring()"
    tracemalloc.reset_peak()
    return tracemalloc.get_traced_memory()[0]


def fastest(target: Target, data: bytes, clock: Clock) -> float:
    """The shortest of several readings, none slowed down by tracemalloc."""
    tracing = tracemalloc.is_tracing()
    tracemalloc.stop()
    times = []
    for _ in range(RETRIES_MAX):
        started = clock()
        _try(target, data)
        times.append(clock() - started)
    if tracing:
        tracemalloc.start()
    return min(times)


def _try(target: Target, data: bytes) -> tuple[str, list[Reading], Exception | None]:
    try:
        if target.route is Route.RECORD_SET:
            return _read_record_set(data), [], None
        readings = read(target, data)
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
    """The broken rule, and True if the messages were written: None if no message was read."""
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
    """True if the version of the message has such a field, element or tag section."""
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
        except Exception as error:  # noqa: BLE001 - any other exception is a finding
            return Fault.CRASH, f"reading records: {type(error).__name__}: {error}", False
    try:
        encoded = message.encode(version)
        again, stop = type(message).decode_from(version, encoded, 0)
    except ProtocolError as error:
        return (None, "", False) if _may_be_refused(message) else (Fault.ROUND_TRIP, str(error), False)
    except Exception as error:  # noqa: BLE001 - any other exception is a finding
        return Fault.WRITE_CRASH, f"{type(error).__name__}: {error}", False
    if stop != len(encoded) or not same(again, message):
        return Fault.ROUND_TRIP, f"{type(message).__name__} v{version} is read back as {again}", True
    if again.encode(version) != encoded:
        return Fault.ROUND_TRIP, f"{type(message).__name__} v{version} is written in two ways", True
    return None, "", True


def record_sets_of(value: object) -> Iterator[Buffer]:
    """The record sets in the Records fields of a message."""
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
    """True if a message that was read cannot be written: a tag occurs twice, or text grew by replacements."""
    if isinstance(value, str):
        return "\ufffd" in value and len(value.encode()) > 32767
    if isinstance(value, list):
        return any(map(_may_be_refused, value))
    if isinstance(value, Struct):
        tags = [tag for tag, _ in value.unknown_tags]
        return len(set(tags)) != len(tags) or any(_may_be_refused(getattr(value, f.name)) for f in value.FIELDS)
    return False


def same(one: object, other: object) -> bool:
    """True if two values are equal apart from the order of unknown tags, which are written in order, and from NaN."""
    if one == other:
        return True
    if isinstance(one, Struct) and type(one) is type(other):
        return sorted(one.unknown_tags) == sorted(other.unknown_tags) and all(
            same(getattr(one, f.name), getattr(other, f.name)) for f in one.FIELDS
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, float) and isinstance(other, float) and one != one and other != other  # noqa: PLR0124 - NaN
