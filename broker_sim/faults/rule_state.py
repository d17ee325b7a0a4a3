"""The state of one rule in the fault engine, and its draws by name."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.errors import NotThere
from broker_sim.faults.rule import OneOf, Range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from twisted.internet.defer import Deferred

    from broker_sim.faults.rule import Drawable, Rule

__all__ = ["NEAREST", "Decision", "Decisions", "RuleState", "Status"]

Decision: TypeAlias = "float | tuple[int, ...]"
"""A number that was drawn, or the numbers of the requests that a `share` has selected."""
DECISIONS_LIMIT: Final = 10_000
"""How many draws of a rule are recorded; `Decisions.dropped` counts the others."""
SHARE: Final = "share"
NEAREST: Final = 99
"""The rank of a miss of a request that fits every criterion: nearer than any other."""


class Decisions:
    """The draws of one rule, or what `replayed` has by their names.

    `stream` returns the random stream of a name; the firings share that of `act.delay_ms@1`. A number in the place of
    one range shifts no other draw, nor does a replayed one, which takes its number from the stream as well.
    """

    def __init__(self, stream: Callable[[str], Random], replayed: Mapping[str, Decision]) -> None:
        self._stream = stream
        self._replayed = replayed
        self._made: dict[str, float] = {}
        self._selected: list[int] = []
        self._latest: list[str] = []
        self.dropped = 0

    def draw(self, name: str, value: Drawable) -> float:
        """Return a number; one that is no range or choice is returned as it is."""
        if not isinstance(value, Range | OneOf):
            return value
        drawn = value.drawn(self._stream(name.partition("@")[0]))
        replayed = self._replayed.get(name)
        if replayed is not None and not isinstance(replayed, tuple):
            drawn = replayed
        if self._has_room():
            self._made[name] = drawn
            self._latest.append(f"{name} {drawn:g}")
        return drawn

    def selects(self, match: int, share: float) -> bool:
        """Return True if a share selects the request with this number among those that fit."""
        selected = self._stream(SHARE).random() < share
        replayed = self._replayed.get(SHARE)
        if isinstance(replayed, tuple):
            selected = match in replayed
        if selected and self._has_room():
            self._selected.append(match)
            self._latest.append(f"{SHARE} {match}")
        return selected

    def _has_room(self) -> bool:
        if len(self._made) + len(self._selected) < DECISIONS_LIMIT:
            return True
        self.dropped += 1
        return False

    def by_name(self) -> dict[str, Decision]:
        """Return every recorded draw."""
        return {**self._made, SHARE: tuple(self._selected)} if self._selected else {**self._made}

    def take_latest(self) -> str:
        """Return the draws since the last call as text: `act.delay_ms@1 12.5, share 7`."""
        latest, self._latest = self._latest, []
        return ", ".join(latest)


class Status(Enum):
    """The life of a rule in a run."""

    WAITING = auto()
    """Its `when` is not reached."""
    DUE = auto()
    """Its `when` is reached, and the delay of it runs."""
    OPEN = auto()
    CLOSED = auto()


class RuleState:
    """One rule, what it has done and what it holds."""

    __slots__ = (
        "_near",
        "broker",
        "connections",
        "decisions",
        "error",
        "fired",
        "held",
        "matched",
        "near_text",
        "place",
        "rule",
        "status",
        "undo",
        "unfinished",
        "victim",
        "waiters",
        "waiting",
        "when_done",
    )

    def __init__(self, rule: Rule, place: int, decisions: Decisions) -> None:
        self.rule = rule
        self.place = place
        """The position among all rules, in the order in which they were added."""
        self.decisions = decisions
        self.status = Status.WAITING
        self.broker: int | None = None
        self.fired = 0
        self.matched = 0
        self.connections: dict[str | None, dict[str | None, int]] = {}
        """The number of each connection of each client id, from 1, among those whose requests fit."""
        self._near = -1
        self.near_text: str | None = None
        self.victim: int | None = None
        self.held: list[Deferred[None]] = []
        self.undo: list[Callable[[], object]] = []
        """Ends the effects of the action that last."""
        self.waiting = 0
        self.waiters: list[tuple[int, Deferred[int]]] = []
        """Those who wait until the rule has fired a number of times."""
        self.error: str | None = None
        self.unfinished = 0
        """How many calls of its action are not done yet."""
        self.when_done: Callable[[], None] | None = None
        """Called once when a call of its action is done."""

    def fail(self, error: BaseException | None) -> None:
        """Note why the action failed. An optional rule that finds nothing to act on has not failed."""
        if isinstance(error, NotThere) and self.rule.optional:
            self.miss(NEAREST, str(error))
        else:
            self.error = str(error)

    def call_done(self) -> None:
        """Note that a call of the action is done, or has failed."""
        self.unfinished -= 1
        when_done, self.when_done = self.when_done, None
        if when_done is not None:
            when_done()

    @property
    def was_opened(self) -> bool:
        """True once the rule is or was open."""
        return self.status is Status.OPEN or self.status is Status.CLOSED

    @property
    def is_used_up(self) -> bool:
        """True if the rule has fired as often as it may."""
        return self.rule.times is not None and self.fired >= self.rule.times

    def passes(self, api: str) -> bool:
        """Return True if a request of this API neither fires the rule nor is its first miss, which its report shows."""
        selected = self.rule.select.api
        return (selected is not None and selected != api and self._near >= 0) or self.is_used_up

    @property
    def breaks(self) -> bool:
        """True while a call of its action runs, and from its opening to its `until`."""
        return self.unfinished > 0 or (self.status is Status.OPEN and self.rule.until is not None)

    @property
    def may_act_on_cluster(self) -> bool:
        """True while the action breaks something, or will act on the cluster when its `when` is reached."""
        is_before = self.status is Status.WAITING or self.status is Status.DUE
        return self.breaks or (is_before and self.rule.phase is None) or (self._repeats and not self.is_used_up)

    @property
    def _repeats(self) -> bool:
        return self.status is Status.OPEN and self.rule.phase is None and self.rule.every_ms is not None

    def draw(self, key: str, name: str, value: Drawable) -> float:
        """Draw a number of a part of the rule (`when`, `until`, `act`) by its name."""
        return self.decisions.draw(f"{key}.{name}", value)

    def draw_of_action(self, name: str, value: Drawable) -> float:
        """Draw a number of the action for the firing that begins: `act.delay_ms@3` is that of the third one."""
        return self.decisions.draw(f"act.{name}@{self.fired + 1}", value)

    def number_of_connection(self, client_id: str | None, connection_id: str | None) -> int:
        """Return the number of a connection among those of its client id, from 1."""
        known = self.connections.setdefault(client_id, {})
        return known.setdefault(connection_id, len(known) + 1)

    def wait_ended(self, result: None) -> None:
        """Count a request that waits no longer: a callback of its wait."""
        self.waiting -= 1
        return result

    def miss(self, fitted: int, text: str) -> None:
        """Note why the rule did not fire, if no miss was nearer."""
        if fitted > self._near:
            self._near, self.near_text = fitted, text
