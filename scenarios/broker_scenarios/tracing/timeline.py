"""The data of a drawn trace: stages in lanes on an axis of time, and the moments beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Moment", "Stage", "Timeline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A period; `start_us` counts from the start of the timeline. Stages of one lane are drawn in one row."""

    name: str
    start_us: int
    duration_us: int
    lane: str = ""
    """The part of the house in which it passes; empty when the stage has a row of its own."""

    @property
    def end_us(self) -> int:
        """The end of the stage."""
        return self.start_us + self.duration_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An event `at_us` after the start; `own` if it is an event of the traced request or batch itself."""

    at_us: int
    text: str
    own: bool = True
    partition: tuple[str, int] | None = None
    """The partition that it is about, if it is about a single one."""


@dataclass(slots=True, kw_only=True)
class Timeline:
    """Title, source, stages in order and moments in order."""

    name: str
    """What is traced, in a word or two."""
    title: str
    source: str
    took_us: int | None
    """None when it has not ended."""
    unended: str
    """The text at that time."""
    stages: list[Stage] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    left_out: int = 0
    """How many of the things that happened meanwhile are not among the moments."""
    rows_are_lanes: bool = False
    """In text: a line a lane, each stage by a shade of its own, instead of a line a stage."""
    lane_notes: dict[str, str] = field(default_factory=dict)
    """The text at the end of a lane's row."""

    @property
    def end_us(self) -> int:
        """The time of the last stage or moment."""
        ends = [stage.end_us for stage in self.stages]
        return max([*ends, *(moment.at_us for moment in self.moments)], default=0)

    @property
    def lanes(self) -> dict[str, list[Stage]]:
        """The stages of each row, in the order in which the rows begin."""
        lanes: dict[str, list[Stage]] = {}
        for stage in self.stages:
            lanes.setdefault(stage.lane or stage.name, []).append(stage)
        return lanes
