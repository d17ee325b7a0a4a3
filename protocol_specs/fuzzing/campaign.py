"""A campaign over mutated frames: each is made, read, checked by the oracle and counted.

The same seed and number give the same bytes on every machine. Frames come in families of FAMILY_FRAMES: valid input
that has to be read as the message that it is, and mutations of it. The target of a family depends on its number, so
that a run of families covers all messages and versions.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Final

from protocol_specs.fuzzing.choices import SeededChoices
from protocol_specs.fuzzing.corpus import make_seed
from protocol_specs.fuzzing.mutators import Mutator
from protocol_specs.fuzzing.oracle import Fault, check, measuring, memory_allowed, same
from protocol_specs.fuzzing.targets import Route, every_target, read
from protocol_specs.fuzzing.valid_records import record_sets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.fuzzing.corpus import Seed
    from protocol_specs.fuzzing.noise import Note
    from protocol_specs.fuzzing.oracle import Clock, Verdict
    from protocol_specs.fuzzing.targets import Target

FAMILY_FRAMES: Final = 64
MEASURED_EVERY: Final = 16
"""Memory is measured for one in so many of the frames in which every length is plausible."""

FINDINGS_MAX: Final = 20
"""A campaign ends after this many findings: more examples would not explain more."""

_DONORS: Final = 64
_RECORD_SETS: Final = 60
_SMALL_FRAME_BYTES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame; `mutations` are its differences from the valid input of its family, none for the first frame."""

    number: int
    target: Target
    data: bytes
    mutations: tuple[Note, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A frame that broke a rule of the codec."""

    frame: Frame
    fault: Fault
    detail: str


@dataclass(slots=True)
class Extreme:
    """The highest value, and the number of the first frame that has it."""

    value: float = 0.0
    number: int = 0

    def update(self, value: float, number: int) -> None:
        """Take the value if it is higher."""
        if value > self.value:
            self.value, self.number = value, number


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts and extremes of a campaign."""

    frames: int = 0
    bytes: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    measured: int = 0
    written: int = 0
    write_refused: int = 0
    slowest_s_per_kb: Extreme = field(default_factory=Extreme)
    memory_share: Extreme = field(default_factory=Extreme)
    memory_of_small: Extreme = field(default_factory=Extreme)
    apis: set[int] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def add(self, frame: Frame, verdict: Verdict) -> None:
        """Count one frame."""
        length = len(frame.data)
        self.frames += 1
        self.bytes += length
        self.outcomes[verdict.outcome] += 1
        self.written += verdict.written
        self.write_refused += verdict.write_refused
        self.slowest_s_per_kb.update(verdict.took_s / max(1.0, length / 1024), frame.number)
        self.memory_share.update(verdict.memory_bytes / memory_allowed(frame.target, length), frame.number)
        if length <= _SMALL_FRAME_BYTES:
            self.memory_of_small.update(verdict.memory_bytes, frame.number)
        if verdict.fault is not None:
            self.findings.append(Finding(frame=frame, fault=verdict.fault, detail=verdict.detail))

    def merge(self, other: Tally) -> None:
        """Add the tally of another part of the campaign."""
        self.frames += other.frames
        self.bytes += other.bytes
        self.outcomes.update(other.outcomes)
        self.measured += other.measured
        self.written += other.written
        self.write_refused += other.write_refused
        self.slowest_s_per_kb.update(other.slowest_s_per_kb.value, other.slowest_s_per_kb.number)
        self.memory_share.update(other.memory_share.value, other.memory_share.number)
        self.memory_of_small.update(other.memory_of_small.value, other.memory_of_small.number)
        self.apis |= other.apis
        self.targets |= other.targets
        self.findings = sorted([*self.findings, *other.findings], key=lambda finding: finding.frame.number)


class Campaign:
    """All frames of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        random = Random(f"{seed}: shared by all frames")
        choices = SeededChoices(random)
        self._record_sets = record_sets(choices, _RECORD_SETS)
        self._targets = every_target()
        # Neighbours in the order of the registry resemble each other: a short campaign should cover all kinds.
        random.shuffle(self._targets)
        seeds = [make_seed(choices.one_of(self._targets), choices, self._record_sets) for _ in range(_DONORS)]
        self._donors = [each.data for each in seeds]

    def family(self, number: int) -> tuple[Seed, Iterator[Frame]]:
        """The valid input of a family, and its frames in order, the valid one first."""
        choices = SeededChoices(Random(f"{self.seed}: family {number}"))
        seed = make_seed(self._targets[number % len(self._targets)], choices, self._record_sets)
        return seed, self._frames(number, seed, Mutator(choices, self._donors))

    def frame(self, number: int) -> Frame:
        """The frame of that number."""
        _, frames = self.family(number // FAMILY_FRAMES)
        return next(frame for frame in frames if frame.number == number)

    def run(
        self, *, frames: int, clock: Clock, seconds: Clock, seconds_max: float, part: int = 0, parts: int = 1
    ) -> Tally:
        """Check the frames 0 to `frames`, or those families that are in one part of several.

        `clock` measures how long a reading takes; the run ends when `seconds` advanced by `seconds_max`.
        """
        tally = Tally()
        deadline = seconds() + seconds_max
        for number in range(-(-frames // FAMILY_FRAMES)):
            # By target: the code of a message is generated in one of the parts alone.
            if number % len(self._targets) % parts != part:
                continue
            if seconds() >= deadline or len(tally.findings) >= FINDINGS_MAX:
                break
            self._run_family(number, min(FAMILY_FRAMES, frames - number * FAMILY_FRAMES), clock, tally)
        return tally

    def check_frame(self, number: int, clock: Clock) -> tuple[Finding | None, str]:
        """The finding of one frame, None if it has none, and the outcome of reading it."""
        tally = Tally()
        seed, frames = self.family(number // FAMILY_FRAMES)
        warm_up(seed)
        self._check(seed, [frame for frame in frames if frame.number == number], clock, tally)
        return (tally.findings[0] if tally.findings else None), next(iter(tally.outcomes))

    def _frames(self, number: int, seed: Seed, mutator: Mutator) -> Iterator[Frame]:
        first = number * FAMILY_FRAMES
        yield Frame(number=first, target=seed.target, data=seed.data, mutations=())
        for index in range(first + 1, first + FAMILY_FRAMES):
            data, notes = mutator.mutate(seed)
            yield Frame(number=index, target=seed.target, data=data, mutations=tuple(notes))

    def _run_family(self, number: int, count: int, clock: Clock, tally: Tally) -> None:
        seed, frames = self.family(number)
        target = seed.target
        tally.targets.add(str(target))
        if target.cls is not None and target.framed:
            tally.apis.add(target.cls.API_KEY)
        warm_up(seed)
        self._check(seed, list(islice(frames, count)), clock, tally)

    def _check(self, seed: Seed, frames: list[Frame], clock: Clock, tally: Tally) -> None:
        to_measure = [frame for frame in frames if _is_measured(frame)]
        for frame in frames:
            if frame.number % FAMILY_FRAMES == 0 and (problem := valid_input_problem(seed)):
                tally.findings.append(Finding(frame=frame, fault=Fault.VALID_INPUT, detail=problem))
            if not _is_measured(frame):
                tally.add(frame, check(frame.target, frame.data, clock, measured=False))
        with measuring():
            for frame in to_measure:
                tally.add(frame, check(frame.target, frame.data, clock, measured=True))
        tally.measured += len(to_measure)


def _is_measured(frame: Frame) -> bool:
    return frame.number % MEASURED_EVERY == 0 or any(note.may_lie for note in frame.mutations)


def warm_up(seed: Seed) -> None:
    """Generate the code of both decoders before a clock runs."""
    cls, version = seed.target.cls, seed.target.version
    if cls is not None:
        body = seed.data[seed.body :]
        # An exception is found again when the frame of the seed is checked.
        with suppress(Exception):
            cls.decode_from(version, body, 0)
            cls.decode_from(version, memoryview(body), 0)


def valid_input_problem(seed: Seed) -> str:
    """The difference between valid input and what is read and written for it; empty if there is none."""
    if seed.target.route is Route.RECORD_SET:
        return ""
    try:
        ((message, version, buffer, stop),) = read(seed.target, seed.data)
    except Exception as error:  # noqa: BLE001 - no exception is right for valid input
        return f"{type(error).__name__}: {error}"
    if not same(message, seed.message):
        return f"{seed.message} is read as {message}"
    if stop != len(buffer):
        return f"{len(buffer) - stop} bytes are left"
    return "" if message.encode(version) == seed.data[seed.body :] else "it is written as other bytes"
