"""Mutators of a campaign: mutations by field path, one broken rule, other numbers, and noise, chosen by chance."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from protocol_specs.framing import framed
from protocol_specs.fuzzing.field_map import MutationError, Reframe
from protocol_specs.fuzzing.mutations import Mutation, mutated
from protocol_specs.fuzzing.noise import ODD_BYTES, Noise, Note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from protocol_specs.fuzzing.choices import Choices
    from protocol_specs.fuzzing.corpus import Seed

_INT32_MAX: Final = 2**31 - 1
_NUMBERS: Final = (-1, -2, 0, 1, 127, 128, 255, 32767, 32768, 65535, 65536, 2**28, _INT32_MAX - 1, _INT32_MAX, -(2**31))
_GROWTHS: Final = (1, 1, 2, 2, 3, 5, 10, 20, 127, 128, 300)
_LARGE_GROWTHS: Final = (1500, 16_383, 32_768)
_WRONG_SIZES: Final = (-1, 0, 1, 4, 100, 2**20 - 1, 2**20, 2**20 + 1, _INT32_MAX, -_INT32_MAX - 1)
_LARGE: Final = 1000
_SIZE_BYTES: Final = 4


class Mutator:
    """Mutates the bytes of seeds; `donors` are the bytes that foreign pieces come from."""

    def __init__(self, choices: Choices, donors: Sequence[bytes]) -> None:
        self._choices = choices
        self._noise = Noise(choices, donors)
        self._by_field = (*[self._other_number] * 3, *[self._other_field] * 3, *[self._broken_rule] * 2, self._growth)

    def mutate(self, seed: Seed) -> tuple[bytes, list[Note]]:
        """The bytes of a seed after one mutation or a few; frames mostly have the right size."""
        choices = self._choices
        notes: list[Note] = []
        data = seed.data
        if seed.paths and choices.happens(0.6):
            data = choices.one_of(self._by_field)(seed, notes)
        if not notes or choices.happens(0.1):
            data = self._disturbed(data, notes, seed)
            while choices.happens(0.3):
                data = self._disturbed(data, notes, seed)
        return (self._framed(data[_SIZE_BYTES:], notes) if seed.target.framed else data), notes

    def _disturbed(self, data: bytes, notes: list[Note], seed: Seed) -> bytes:
        size = data[:_SIZE_BYTES] if seed.target.framed else b""
        data, note = self._noise.disturb(data[len(size) :])
        notes.append(note)
        return size + data

    def _other_number(self, seed: Seed, notes: list[Note]) -> bytes:
        """Another number where a length, a count or a size is."""
        choices, data = self._choices, seed.data
        if not seed.promises:
            return data
        part = choices.one_of(seed.promises)
        left = len(data) - part.stop
        number = choices.one_of((*_NUMBERS, left, left + 1, choices.integer(0, _INT32_MAX)))
        assert part.promise is not None
        try:
            written = part.promise.write(number)
        except (ValueError, struct.error):
            return data
        notes.append(Note("number", part.path, number, may_lie=number > _LARGE))
        return data[: part.start] + written + data[part.stop :]

    def _growth(self, seed: Seed, notes: list[Note]) -> bytes:
        """More content, with a length that includes it; after a count, these are elements of zeros."""
        choices = self._choices
        if not seed.promises:
            return seed.data
        part = choices.one_of(seed.promises)
        assert part.parent is not None
        by = choices.one_of(_LARGE_GROWTHS if choices.happens(0.02) else _GROWTHS)
        mutations = [Mutation.lengthen(part.parent.path, by=by * (1 + choices.below(3)))] if part.parent.path else []
        if part.promise is not None and part.promise.counted is not None:
            mutations.append(Mutation.set(part.path, by))
        return self._by_path(seed, mutations, Reframe(), notes, Note("grown", part.path, by))

    def _other_field(self, seed: Seed, notes: list[Note]) -> bytes:
        """A field removed, repeated, or with another value; what is around it is framed again or not."""
        choices = self._choices
        path = choices.one_of(seed.paths)
        reframe = Reframe() if choices.happens(0.3) else Reframe.nothing()
        mutation = choices.one_of(_FIELD_MUTATIONS)(choices, path)
        return self._by_path(seed, [mutation], reframe, notes, Note(f"field {mutation.operation.value}", path))

    def _by_path(self, seed: Seed, mutations: list[Mutation], reframe: Reframe, notes: list[Note], note: Note) -> bytes:
        try:
            data = mutated(seed.fields.copy(), mutations, reframe)
        except MutationError:
            return seed.data
        notes.append(note)
        return data

    def _broken_rule(self, seed: Seed, notes: list[Note]) -> bytes:
        """One rule of the wire format broken."""
        if not seed.breakable:
            return seed.data
        rule, parts = self._choices.one_of(seed.breakable)
        part = self._choices.one_of(parts)
        notes.append(Note(rule.name, part.path or 0, may_lie=True))
        return rule.broken(self._choices, seed.fields, part)

    def _framed(self, data: bytes, notes: list[Note]) -> bytes:
        choices = self._choices
        if not choices.happens(0.04):
            return framed(data)
        size = choices.one_of((len(data) + 1 + choices.below(20), choices.below(len(data)), *_WRONG_SIZES))
        notes.append(Note("frame size", 0, size, may_lie=size > _LARGE))
        return struct.pack(">i", size) + data


def _set_number(choices: Choices, path: str) -> Mutation:
    return Mutation.set(path, choices.one_of(_NUMBERS))


def _odd_bytes(choices: Choices, path: str) -> Mutation:
    return Mutation.raw(path, bytes((choices.one_of(ODD_BYTES),)) * choices.below(16))


_FIELD_MUTATIONS: Final[tuple[Callable[[Choices, str], Mutation], ...]] = (
    lambda _, path: Mutation.delete(path),
    lambda choices, path: Mutation.duplicate(path, times=1 + choices.below(3)),
    lambda choices, path: Mutation.raw(path, choices.data(64)),
    lambda choices, path: Mutation.shorten(path, by=1 + choices.below(4)),
    lambda choices, path: Mutation.cut(path, offset=choices.below(4)),
    _set_number,
    _odd_bytes,
)
