"""A firing of a rule outside an engine: what it schedules is in lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.faults.action_context import Firing

if TYPE_CHECKING:
    from collections.abc import Callable


class Scheduled:
    """The functions that `firing` has scheduled, and the victims that it has recorded."""

    def __init__(self, *, ends: bool, **parts: Any) -> None:
        self.soon: list[Callable[[], object]] = []
        self.at_end: list[Callable[[], object]] = []
        self.victims: list[int] = []
        unused: Any = None
        given = {"cluster": unused, "clients": unused, "point": unused} | parts
        self.firing = Firing(
            victim_of=unused,
            draw=unused,
            reactor=unused,
            ends=ends,
            hold=unused,
            record_victim=self.victims.append,
            soon=self.soon.append,
            at_end=self.at_end.append,
            report_problem=unused,
            **given,
        )
