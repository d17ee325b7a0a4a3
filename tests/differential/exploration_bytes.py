"""Frames bent on purpose: every field of a sound request at its borders, and every rule of the wire format broken."""

from __future__ import annotations

import struct
from random import Random
from typing import TYPE_CHECKING, Final

from protocol_specs.fuzzing import Mutation, MutationError, Reframe, frame_paths, mutate_frame
from protocol_specs.fuzzing.choices import SeededChoices
from protocol_specs.fuzzing.rules import nearly_valid
from protocol_specs.message import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Message

BORDERS: Final = (
    -1, 0, 1, 2, 127, -128, 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), None, "", "a", "é" * 3,
    "x" * 300, "x" * 40_000, b"", b"x", [], True, False, bytes(16), b"no such id......", 1.5, float("nan"),
)  # fmt: skip
"""What is written to a field, where its type can hold it."""

KEPT: Final = ("header.request_api_key", "header.request_api_version", "frame_size")
"""Fields that are bent by frames of their own: they would name another API, or a size that never comes."""

LENGTHS: Final = (-1, -2, 0, 1, 2, 100, 2**15 - 1, 2**31 - 1, -(2**31))


def mutations_of(
    frame: bytes, cls: type[Message], version: int, random: Random, count: int
) -> Iterator[tuple[bytes, str]]:
    """Changes of a sound frame (its size included) at paths drawn by `random`, with what each of them is."""
    paths = [each for each in frame_paths(frame, cls.API_KEY, Kind.REQUEST, version) if each not in KEPT]
    made = 0
    for _ in range(10 * count):
        if made == count:
            return
        path = random.choice(paths)
        mutation, note = _drawn(path, random)
        try:
            data = mutate_frame(frame, cls.API_KEY, Kind.REQUEST, version, [mutation], reframe=Reframe(lengths=True))
        except MutationError:
            continue
        made += 1
        yield data, note


def _drawn(path: str, random: Random) -> tuple[Mutation, str]:
    if path.endswith((".length", ".count", ".size", ".tag")):
        value: object = random.choice(LENGTHS)
        return Mutation.set(path, value), f"{path} = {value}"
    kind = random.random()
    if kind < 0.75:
        value = random.choice(BORDERS)
        return Mutation.set(path, value), f"{path} = {value!r}"[:120]
    if kind < 0.80:
        return Mutation.duplicate(path), f"{path} twice"
    if kind < 0.85:
        return Mutation.delete(path), f"{path} left out"
    if kind < 0.90:
        return Mutation.lengthen(path, by=3), f"{path} with 3 more bytes"
    if kind < 0.95:
        return Mutation.shorten(path, by=1), f"{path} with a byte less"
    return Mutation.cut(path), f"cut at {path}"


def broken(cls: type[Message], version: int, bodies: list[bytes], number: int) -> list[tuple[bytes, str]]:
    """As many as there are bodies, each one of them with one rule of the wire format broken; the seed is `number`."""
    choices = SeededChoices(Random(number))
    found: list[tuple[bytes, str]] = []
    for _ in bodies:
        body = choices.one_of(bodies)
        broken_body = nearly_valid(choices, cls, version, body)
        found.append((body, "as it is") if broken_body is None else (broken_body.data, broken_body.rule))
    return found


def headers(api_key: int, version: int, body: bytes) -> list[tuple[bytes, str]]:
    """A sound body behind headers that are wrong: frames with their size."""
    head = struct.pack(">hhi", api_key, version, 1)
    made = [
        (head + b"\xff\xff" + body, "header 1, null client id"),
        (head + b"\0\5probe" + body, "header 1"),
        (head + b"\0\5probe\0" + body, "header 2"),
        (head + b"\0\5probe\1\x64\1x" + body, "header 2 with an unknown tag"),
        (head + b"\0\5probe\1\0\0" + body, "header 2 with tag 0"),
        (head + b"\0\5probe\2\5\0\5\0" + body, "header 2 with a tag twice"),
        (head + b"\0\2\xc3\x28\0" + body, "header 2, client id not UTF-8"),
        (head + b"\xff\xfe\0" + body, "header 2, client id of -2 bytes"),
        (head + body, "header 0"),
        (head, "no client id"),
        (head + b"\0\5probe\0", "no body"),
        (head + b"\0\5probe\0" + body + b"trailing", "bytes behind the body"),
        (head + b"\0\5probe\0" + body[:-1], "a byte less"),
        (head + b"\0\5probe\0" + bytes(40), "zeros for a body"),
        (head + b"\0\5probe\0" + b"\xff" * 40, "ones for a body"),
    ]
    return [(struct.pack(">i", len(frame)) + frame, note) for frame, note in made]
