"""How sound bytes become hostile: edits at known points (lengths, tags, fields), blind ones, frames of a wrong size.

An edit at a point keeps the bytes after it as they are, so that a length may lie about them. What was done is noted.
Changes that keep the rest of the bytes in order are another matter: see `protocol_specs.mutation.mutations`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol_specs.codec.runtime import uvarint_bytes
from protocol_specs.framing import framed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from protocol_specs.hostile_frames.parents import FieldPoint, LengthPoint, Parent, TagsPoint

INT32_MAX: Final = 2**31 - 1
_UINT32_MAX: Final = 2**32 - 1
_ODD_BYTES: Final = (0x00, 0x01, 0x02, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
_ODD_RUNS: Final = (
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x08",
    b"\x80\x80\x80\x80\x80\x00",
    b"\x80\x80\x00",
    b"\x7f\xff",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xc0\x80",
)
_LENGTHS: Final = (-1, -2, 0, 1, 127, 128, 255, 32767, 32768, 65535, 65536, INT32_MAX - 1, INT32_MAX, -INT32_MAX - 1)
_COUNTS_OF_TAGS: Final = (0, 1, 2, 3, 127, 128, 2**28, INT32_MAX, INT32_MAX + 1, _UINT32_MAX)
_GROWTHS: Final = (1, 1, 2, 2, 3, 5, 10, 20, 127, 128, 300)
_LARGE_GROWTHS: Final = (16_383, 32_767, 32_768)
_SMALL_GROWTH_MAX: Final = 1500
_WRONG_SIZES: Final = (-1, 0, 1, 4, 100, 2**20 - 1, 2**20, 2**20 + 1, INT32_MAX, -INT32_MAX - 1)
_SIZE: Final = struct.Struct(">i")


_LENGTH_EDITS: Final = ("length", "tag count", "frame size")
_ODD_RUN_EDITS: Final = ("odd run inserted", "odd run written")
_LARGE: Final = 1000


class Note(NamedTuple):
    """One edit: what, at which byte, and with which value where there is one."""

    edit: str
    position: int
    value: int | None = None

    def __str__(self) -> str:
        return f"{self.edit} at {self.position}" + ("" if self.value is None else f": {self.value}")

    @property
    def may_lie(self) -> bool:
        """Whether a large number may stand now where there are few bytes: a thousand elements are no megabyte."""
        return self.edit in _ODD_RUN_EDITS or (self.edit in _LENGTH_EDITS and (self.value or 0) > _LARGE)


class Editor:
    """Breaks bytes by the chances of one `random.Random`; `donors` are bytes that pieces are taken from."""

    def __init__(self, chance: Random, donors: Sequence[bytes]) -> None:
        self.chance = chance
        self.donors = donors
        self.notes: list[Note] = []

    def below(self, stop: int) -> int:
        """A number from 0 to before `stop`; 0 where there is none."""
        return int(self.chance.random() * stop)

    def broken(self, parent: Parent) -> bytes:
        """The parent's bytes after an edit or a few, which are in `notes`; a frame has a size, mostly the right one."""
        self.notes = []
        chance = self.chance.random
        data = parent.data
        kind = chance()
        if kind < 0.6:
            data = self._at_a_point(data, parent)
        if kind > 0.55:
            data = self._blind(data)
            while chance() < 0.3:
                data = self._blind(data)
        return self._framed(data) if parent.subject.framed else data

    def note(self, edit: str, position: int, value: int | None = None) -> None:
        """Remember an edit."""
        self.notes.append(Note(edit, position, value))

    # Edits at points.

    def _at_a_point(self, data: bytes, parent: Parent) -> bytes:
        kind = self.chance.random()
        if kind < 0.5 and parent.lengths:
            length = parent.lengths[self.below(len(parent.lengths))]
            return self._length(data, length) if kind < 0.38 else self._grown(data, length)
        if kind < 0.7 and parent.tag_sections:
            return self._tag_section(data, parent.tag_sections[self.below(len(parent.tag_sections))])
        if kind < 0.8 and parent.tags:
            return self._field(data, parent.tags[self.below(len(parent.tags))])
        if parent.fields:
            return self._field(data, parent.fields[self.below(len(parent.fields))])
        return self._blind(data)

    def _length(self, data: bytes, point: LengthPoint) -> bytes:
        """Another number where a length or a count stands."""
        kind = self.chance.random()
        if kind < 0.4:
            value = _LENGTHS[self.below(len(_LENGTHS))]
        elif kind < 0.6:
            value = point.value + (1 if kind < 0.5 else -1)
        elif kind < 0.85:
            value = len(data) - point.content + (1 if kind < 0.7 else 0)
        else:
            value = self.chance.getrandbits(31)
        self.note("length", point.start, value)
        return data[: point.start] + self._length_bytes(value, point.width) + data[point.content :]

    def _length_bytes(self, value: int, width: int) -> bytes:
        if width:
            return (value & (1 << 8 * width) - 1).to_bytes(width, "big")
        short = uvarint_bytes((value + 1) & _UINT32_MAX)
        if self.chance.random() < 0.85:
            return short
        size = self.below(6)
        self.note("varint padded", 0, size + 1)
        return short[:-1] + bytes((short[-1] | 0x80,)) + b"\x80" * size + b"\0"

    def _grown(self, data: bytes, point: LengthPoint) -> bytes:
        """More content, with a length that says so: of a count, this makes elements of zeros."""
        kind = self.chance.random()
        if kind < 0.94:
            growth = _GROWTHS[self.below(len(_GROWTHS))]
        elif kind < 0.99:
            growth = self.below(_SMALL_GROWTH_MAX)
        else:
            growth = _LARGE_GROWTHS[self.below(len(_LARGE_GROWTHS))]
        bytes_each = 1 if growth > _SMALL_GROWTH_MAX else 1 + self.below(3)
        self.note("grown", point.start, growth)
        length = self._length_bytes(max(0, point.value) + growth, point.width)
        return data[: point.start] + length + bytes(growth * bytes_each) + data[point.content :]

    def _tag_section(self, data: bytes, point: TagsPoint) -> bytes:
        """Another number of tags, or more tags: out of order, twice, of other versions, too long, very many."""
        kind = self.chance.random()
        if kind < 0.3:
            count = _COUNTS_OF_TAGS[self.below(len(_COUNTS_OF_TAGS))]
            self.note("tag count", point.start, count)
            return data[: point.start] + uvarint_bytes(count) + data[point.stop :]
        more = 1 + self.below(3) if kind < 0.97 else self.below(400)
        self.note("more tags", point.start, more)
        tags = b"".join([self._tag() for _ in range(more)])
        return data[: point.start] + uvarint_bytes(point.number + more) + tags + data[point.stop :]

    def _tag(self) -> bytes:
        kind = self.chance.random()
        number = self.below(4) if kind < 0.5 else self.below(300) if kind < 0.9 else self.chance.getrandbits(32)
        content = bytes(self.below(6) if kind < 0.98 else 3000)
        size = len(content) if self.chance.random() < 0.8 else _LENGTHS[self.below(len(_LENGTHS))]
        return uvarint_bytes(number) + uvarint_bytes(size & _UINT32_MAX) + content

    def _field(self, data: bytes, point: FieldPoint) -> bytes:
        """A field left out, twice, or with other bytes."""
        start, stop = point
        kind = self.chance.random()
        if kind < 0.2:
            self.note("field left out", start, stop - start)
            return data[:start] + data[stop:]
        if kind < 0.4:
            self.note("field twice", start, stop - start)
            return data[:stop] + data[start:]
        if kind < 0.7:
            self.note("field of odd bytes", start, stop - start)
            return data[:start] + bytes((_ODD_BYTES[self.below(8)],)) * (stop - start) + data[stop:]
        self.note("field of random bytes", start, stop - start)
        return data[:start] + self.chance.randbytes(min(stop - start, 64)) + data[stop:]

    # Blind edits.

    def _blind(self, data: bytes) -> bytes:
        return _BLIND[self.below(len(_BLIND))](self, data, self.below(len(data)))

    def _flip_a_bit(self, data: bytes, at: int) -> bytes:
        self.note("bit flipped", at)
        return data[:at] + bytes((data[at] ^ 1 << self.below(8),)) + data[at + 1 :] if data else data

    def _set_a_byte(self, data: bytes, at: int) -> bytes:
        value = _ODD_BYTES[self.below(8)]
        self.note("byte set", at, value)
        return data[:at] + bytes((value,)) + data[at + 1 :]

    def _insert_random(self, data: bytes, at: int) -> bytes:
        new = self.chance.randbytes(1 + self.below(8))
        self.note("bytes inserted", at, len(new))
        return data[:at] + new + data[at:]

    def _insert_odd(self, data: bytes, at: int) -> bytes:
        new = _ODD_RUNS[self.below(len(_ODD_RUNS))]
        self.note("odd run inserted", at, len(new))
        return data[:at] + new + data[at:]

    def _overwrite_odd(self, data: bytes, at: int) -> bytes:
        new = _ODD_RUNS[self.below(len(_ODD_RUNS))]
        self.note("odd run written", at, len(new))
        return data[:at] + new + data[at + len(new) :]

    def _delete(self, data: bytes, at: int) -> bytes:
        size = 1 + self.below(8)
        self.note("bytes deleted", at, size)
        return data[:at] + data[at + size :]

    def _repeat(self, data: bytes, at: int) -> bytes:
        size = 1 + self.below(40)
        self.note("bytes repeated", at, size)
        return data[: at + size] + data[at:]

    def _truncate(self, data: bytes, at: int) -> bytes:
        self.note("truncated", at)
        return data[:at]

    def _append(self, data: bytes, at: int) -> bytes:
        del at
        new = self.chance.randbytes(1 + self.below(12))
        self.note("bytes appended", len(data), len(new))
        return data + new

    def _splice(self, data: bytes, at: int) -> bytes:
        """The beginning of this one, the end of another one."""
        donor = self.donors[self.below(len(self.donors))]
        from_donor = self.below(len(donor))
        self.note("spliced", at, from_donor)
        return data[:at] + donor[from_donor:]

    # Frames.

    def _framed(self, data: bytes) -> bytes:
        if self.chance.random() < 0.96:
            return framed(data)
        kind = self.chance.random()
        if kind < 0.3:
            size = len(data) + 1 + self.below(20)
        elif kind < 0.6:
            size = self.below(len(data))
        else:
            size = _WRONG_SIZES[self.below(len(_WRONG_SIZES))]
        self.note("frame size", -4, size)
        return _SIZE.pack(size) + data


_BLIND: Final[tuple[Callable[[Editor, bytes, int], bytes], ...]] = (
    Editor._flip_a_bit,  # noqa: SLF001 - its own table
    Editor._flip_a_bit,  # noqa: SLF001
    Editor._set_a_byte,  # noqa: SLF001
    Editor._set_a_byte,  # noqa: SLF001
    Editor._insert_random,  # noqa: SLF001
    Editor._insert_odd,  # noqa: SLF001
    Editor._overwrite_odd,  # noqa: SLF001
    Editor._delete,  # noqa: SLF001
    Editor._repeat,  # noqa: SLF001
    Editor._truncate,  # noqa: SLF001
    Editor._append,  # noqa: SLF001
    Editor._splice,  # noqa: SLF001
)
