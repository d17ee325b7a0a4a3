"""What a trace is drawn from: stages in lanes on an axis of time, and what happened beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Moment", "Stage", "Timeline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stretch of time; `start_us` counts from the timeline's begin. Stages of one lane are drawn in one row."""

    name: str
    start_us: int
    duration_us: int
    lane: str = ""
    """The part of the house in which it passes; empty when the stage has a row of its own."""

    @property
    def end_us(self) -> int:
        """When it is over."""
        return self.start_us + self.duration_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened, `at_us` after the begin; `own` when what is traced did it itself."""

    at_us: int
    text: str
    own: bool = True
    partition: tuple[str, int] | None = None
    """The partition that it is about, if it is about a single one."""


@dataclass(slots=True, kw_only=True)
class Timeline:
    """Title, where it comes from, stages in order, moments in order."""

    name: str
    """What is traced, in a word or two."""
    title: str
    source: str
    took_us: int | None
    """None when it has not ended."""
    unended: str
    """What is said then."""
    stages: list[Stage] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    left_out: int = 0
    """How many of the things that happened meanwhile are not among the moments."""
    rows_are_lanes: bool = False
    """In text: a line a lane, each stage by a shade of its own, instead of a line a stage."""
    lane_notes: dict[str, str] = field(default_factory=dict)
    """What is said of a lane at the end of its row."""

    @property
    def end_us(self) -> int:
        """When the last of it happened."""
        ends = [stage.end_us for stage in self.stages]
        return max([*ends, *(moment.at_us for moment in self.moments)], default=0)

    @property
    def lanes(self) -> dict[str, list[Stage]]:
        """The stages of each row, in the order in which the rows begin."""
        lanes: dict[str, list[Stage]] = {}
        for stage in self.stages:
            lanes.setdefault(stage.lane or stage.name, []).append(stage)
        return lanes
