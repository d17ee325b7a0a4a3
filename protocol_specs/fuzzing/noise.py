"""Mutators for any bytes: flipped bits, odd values, pieces that are removed, repeated or foreign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from protocol_specs.fuzzing.choices import Choices

ODD_BYTES: Final = (0x00, 0x01, 0x02, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
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
"""Numbers that overflow, varints that are too long, bytes that are not UTF-8."""


class Note(NamedTuple):
    """One mutation: which, at which byte or field, and with which value where there is one.

    `may_lie` is True if a large length or count can now precede few bytes.
    """

    mutator: str
    place: int | str
    value: object = None
    may_lie: bool = False

    def __str__(self) -> str:
        return f"{self.mutator} at {self.place}" + ("" if self.value is None else f": {self.value}")


class Noise:
    """Mutates bytes; `donors` are the bytes that foreign pieces come from."""

    __slots__ = ("choices", "donors")

    def __init__(self, choices: Choices, donors: Sequence[bytes] = (b"",)) -> None:
        self.choices = choices
        self.donors = donors

    def disturb(self, data: bytes) -> tuple[bytes, Note]:
        """The bytes after one mutation, and which it was."""
        return self.choices.one_of(_MUTATORS)(self, data, self.choices.below(len(data)))

    def truncate(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """Remove everything from a byte on."""
        return data[:at], Note("truncated", at)

    def delete(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """Remove a few bytes."""
        size = 1 + self.choices.below(8)
        return data[:at] + data[at + size :], Note("bytes deleted", at, size)

    def flip_bit(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """Flip one bit."""
        bit = 1 << self.choices.below(8)
        return data[:at] + bytes([byte ^ bit for byte in data[at : at + 1]]) + data[at + 1 :], Note("bit flipped", at)

    def set_byte(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """Write an odd byte."""
        value = self.choices.one_of(ODD_BYTES)
        return data[:at] + bytes((value,)) + data[at + 1 :], Note("byte set", at, value)

    def insert(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """Insert a few random bytes."""
        new = self.choices.data(8, 1)
        return data[:at] + new + data[at:], Note("bytes inserted", at, len(new))

    def insert_odd_run(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """Insert an odd run of bytes."""
        new = self.choices.one_of(_ODD_RUNS)
        return data[:at] + new + data[at:], Note("odd run inserted", at, len(new), may_lie=True)

    def write_odd_run(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """Write an odd run over the bytes."""
        new = self.choices.one_of(_ODD_RUNS)
        return data[:at] + new + data[at + len(new) :], Note("odd run written", at, len(new), may_lie=True)

    def repeat(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """Repeat some bytes."""
        size = 1 + self.choices.below(40)
        return data[: at + size] + data[at:], Note("bytes repeated", at, size)

    def append(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """Append a few random bytes, wherever `at` is."""
        del at
        new = self.choices.data(12, 1)
        return data + new, Note("bytes appended", len(data), len(new))

    def splice(self, data: bytes, at: int) -> tuple[bytes, Note]:
        """The beginning of these bytes, then the end of others."""
        donor = self.choices.one_of(self.donors)
        from_donor = self.choices.below(len(donor))
        return data[:at] + donor[from_donor:], Note("spliced", at, from_donor)


_MUTATORS: Final[tuple[Callable[[Noise, bytes, int], tuple[bytes, Note]], ...]] = (
    Noise.truncate,
    Noise.delete,
    Noise.flip_bit,
    Noise.flip_bit,
    Noise.set_byte,
    Noise.set_byte,
    Noise.insert,
    Noise.insert_odd_run,
    Noise.write_odd_run,
    Noise.repeat,
    Noise.append,
    Noise.splice,
)
"""Every mutator; flipped bits and odd bytes are twice as probable."""
