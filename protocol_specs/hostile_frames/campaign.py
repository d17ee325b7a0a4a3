"""Hostile frames by number: made, read, judged, and what was found. The same seed and number are the same bytes.

Frames come in families of FAMILY_FRAMES: one sound parent, which has to be read as what it is, and its mutants. A
family's subject follows from its number, so that each run of families goes through all messages and versions.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Final

from protocol_specs.framing import framed
from protocol_specs.hostile_frames.edits import Editor, Note
from protocol_specs.hostile_frames.judge import Fault, judge, measuring, memory_allowed, same
from protocol_specs.hostile_frames.parents import make_parent
from protocol_specs.hostile_frames.record_sets import make_record_sets
from protocol_specs.hostile_frames.subjects import Route, every_subject, read
from protocol_specs.hostile_frames.values import ValueMaker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.hostile_frames.judge import Clock, Verdict
    from protocol_specs.hostile_frames.parents import Parent
    from protocol_specs.hostile_frames.subjects import Subject

FAMILY_FRAMES: Final = 64
MEASURED_EVERY: Final = 16
"""Of the frames in which no length was touched, the share whose memory is measured."""

FINDINGS_MAX: Final = 20
"""A campaign ends after this many findings: what is broken that often needs no more examples."""

_DONORS: Final = 64
_RECORD_SETS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One hostile frame: `edits` say how it differs from its sound parent; the first of a family does not."""

    number: int
    subject: Subject
    data: bytes
    edits: tuple[Note, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A frame that broke a rule of the codec."""

    frame: Frame
    fault: Fault
    detail: str


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a campaign did, and the extremes that it met."""

    frames: int = 0
    bytes: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    measured: int = 0
    written: int = 0
    write_refused: int = 0
    slowest_s_per_kb: float = 0.0
    slowest_number: int = 0
    memory_share_max: float = 0.0
    memory_share_number: int = 0
    memory_small_max: int = 0
    memory_small_number: int = 0
    apis: set[int] = field(default_factory=set)
    subjects: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def add(self, frame: Frame, verdict: Verdict) -> None:
        """Count one frame."""
        length = len(frame.data)
        self.frames += 1
        self.bytes += length
        self.outcomes[verdict.outcome] += 1
        self.written += verdict.written
        self.write_refused += verdict.write_refused
        pace = verdict.took_s / max(1.0, length / 1024)
        if pace > self.slowest_s_per_kb:
            self.slowest_s_per_kb, self.slowest_number = pace, frame.number
        share = verdict.memory_bytes / memory_allowed(frame.subject, length)
        if share > self.memory_share_max:
            self.memory_share_max, self.memory_share_number = share, frame.number
        if length <= 100 and verdict.memory_bytes > self.memory_small_max:
            self.memory_small_max, self.memory_small_number = verdict.memory_bytes, frame.number
        if verdict.fault is not None:
            self.findings.append(Finding(frame=frame, fault=verdict.fault, detail=verdict.detail))

    def merge(self, other: Tally) -> None:
        """Add what another part of the campaign did."""
        self.frames += other.frames
        self.bytes += other.bytes
        self.outcomes.update(other.outcomes)
        self.measured += other.measured
        self.written += other.written
        self.write_refused += other.write_refused
        if other.slowest_s_per_kb > self.slowest_s_per_kb:
            self.slowest_s_per_kb, self.slowest_number = other.slowest_s_per_kb, other.slowest_number
        if other.memory_share_max > self.memory_share_max:
            self.memory_share_max, self.memory_share_number = other.memory_share_max, other.memory_share_number
        if other.memory_small_max > self.memory_small_max:
            self.memory_small_max, self.memory_small_number = other.memory_small_max, other.memory_small_number
        self.apis |= other.apis
        self.subjects |= other.subjects
        self.findings = sorted([*self.findings, *other.findings], key=lambda finding: finding.frame.number)


class Campaign:
    """All hostile frames of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        chance = Random(f"{seed}: what all frames share")
        self._record_sets = make_record_sets(chance, _RECORD_SETS)
        self._subjects = every_subject()
        # Neighbours in the order of the registry resemble each other: a short campaign should meet all kinds.
        chance.shuffle(self._subjects)
        make = ValueMaker(chance, self._record_sets)
        self._donors = [make_parent(chance.choice(self._subjects), make).data for _ in range(_DONORS)]

    def family(self, number: int) -> tuple[Parent, Iterator[Frame]]:
        """The parent of a family, and its frames in order, the sound one first."""
        chance = Random(f"{self.seed}: family {number}")
        subject = self._subjects[number % len(self._subjects)]
        parent = make_parent(subject, ValueMaker(chance, self._record_sets))
        return parent, self._frames(number, parent, Editor(chance, self._donors))

    def frame(self, number: int) -> Frame:
        """The frame of that number."""
        _, frames = self.family(number // FAMILY_FRAMES)
        for frame in frames:
            if frame.number == number:
                return frame
        raise AssertionError("a family has all of its numbers")

    def run(
        self, *, frames: int, clock: Clock, seconds: Clock, seconds_max: float, part: int = 0, parts: int = 1
    ) -> Tally:
        """Judge the frames 0 to `frames` (of them, the families of one part of several) until the time is over.

        `clock` judges what is slow; `seconds` is the time that `seconds_max` limits.
        """
        tally = Tally()
        deadline = seconds() + seconds_max
        for number in range(-(-frames // FAMILY_FRAMES)):
            # By subject: the code of a message is generated in one of the parts alone.
            if number % len(self._subjects) % parts != part:
                continue
            if seconds() >= deadline or len(tally.findings) >= FINDINGS_MAX:
                break
            self._run_family(number, min(FAMILY_FRAMES, frames - number * FAMILY_FRAMES), clock, tally)
        return tally

    def _frames(self, number: int, parent: Parent, editor: Editor) -> Iterator[Frame]:
        first = number * FAMILY_FRAMES
        subject = parent.subject
        sound = framed(parent.data) if subject.framed else parent.data
        yield Frame(number=first, subject=subject, data=sound, edits=())
        for index in range(first + 1, first + FAMILY_FRAMES):
            data = editor.broken(parent)
            yield Frame(number=index, subject=subject, data=data, edits=tuple(editor.notes))

    def judge_one(self, number: int, clock: Clock) -> tuple[Finding | None, str]:
        """The finding of that frame, if it is one, and its outcome."""
        tally = Tally()
        parent, frames = self.family(number // FAMILY_FRAMES)
        warm_up(parent)
        self._judge(parent, [frame for frame in frames if frame.number == number], clock, tally)
        return (tally.findings[0] if tally.findings else None), next(iter(tally.outcomes))

    def _run_family(self, number: int, count: int, clock: Clock, tally: Tally) -> None:
        parent, frames = self.family(number)
        subject = parent.subject
        tally.subjects.add(str(subject))
        if subject.cls is not None and subject.framed:
            tally.apis.add(subject.cls.API_KEY)
        warm_up(parent)
        self._judge(parent, list(islice(frames, count)), clock, tally)

    def _judge(self, parent: Parent, judged: list[Frame], clock: Clock, tally: Tally) -> None:
        to_measure = [frame for frame in judged if _is_measured(frame)]
        for frame in judged:
            if frame.number % FAMILY_FRAMES == 0 and (problem := why_not_sound(parent, frame)):
                tally.findings.append(Finding(frame=frame, fault=Fault.SOUND, detail=problem))
            if not _is_measured(frame):
                tally.add(frame, judge(frame.subject, frame.data, clock, measured=False))
        with measuring():
            for frame in to_measure:
                tally.add(frame, judge(frame.subject, frame.data, clock, measured=True))
        tally.measured += len(to_measure)


def _is_measured(frame: Frame) -> bool:
    return frame.number % MEASURED_EVERY == 0 or any(note.may_lie for note in frame.edits)


def warm_up(parent: Parent) -> None:
    """Let the code of both decoders be generated before a clock runs."""
    cls, version = parent.subject.cls, parent.subject.version
    if cls is not None:
        body = parent.data[parent.body :]
        # What it raises is found again when the parent is judged.
        with suppress(Exception):
            cls.decode_from(version, body, 0)
            cls.decode_from(version, memoryview(body), 0)


def why_not_sound(parent: Parent, frame: Frame) -> str:
    """Why the parent's own bytes are not read as the parent, or not written as they were; empty when they are."""
    if parent.subject.route is Route.RECORD_SET:
        return ""
    try:
        ((message, version, buffer, stop),) = read(parent.subject, frame.data)
    except Exception as error:  # noqa: BLE001 - sound bytes raise nothing at all
        return f"{type(error).__name__}: {error}"
    if not same(message, parent.message):
        return f"{parent.message} is read as {message}"
    if stop != len(buffer):
        return f"{len(buffer) - stop} bytes are left"
    return "" if message.encode(version) == parent.data[parent.body :] else "it is written as other bytes"
