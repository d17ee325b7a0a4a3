"""A fault rule: select -> trigger -> act, the one grammar of Python, YAML, the command line and HTTP.

A rule is open from `when` to `until`. While it is open, every request that passes `phase` and fits `select` is
struck by `act`; an act on the cluster (kill, restart, stop) strikes once, when the rule opens. Gates count what the
cluster has seen, never time alone unless asked for, so that a slow machine changes nothing. `grammar` reads the form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from random import Random
    from typing import ClassVar

    from broker_sim.faults.action_context import Strike
    from broker_sim.faults.interception import FaultPoint, Interception, Phase


@dataclass(frozen=True, slots=True)
class LeaderOf:
    """The broker that leads a partition when the rule opens."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"leader of {self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class KilledBy:
    """The broker that another rule has killed or stopped."""

    rule: str

    def __str__(self) -> str:
        return f"killed by {self.rule}"


@dataclass(frozen=True, slots=True)
class Self:
    """The broker at which a request is struck."""

    def __str__(self) -> str:
        return "self"


@dataclass(frozen=True, slots=True)
class ActiveController:
    """The controller that decides when the rule opens: a node of its own where there are several."""

    def __str__(self) -> str:
        return "active controller"


BrokerRef: TypeAlias = int | LeaderOf | KilledBy | Self | ActiveController
"""A broker or controller by its id, or by what it is when the rule opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """Which requests a rule means; None means any. `client` is a pattern (`producer-*`).

    `replica` is a follower's id (-1: any follower): such a rule means the Fetches of followers, and a rule without it
    means clients alone. `nth` counts the requests that fit, from 1; `share` strikes that part of them, drawn from the
    rule's own random stream.
    """

    broker: BrokerRef | None = None
    api: str | None = None
    topic: str | None = None
    partitions: tuple[int, ...] | None = None
    client: str | None = None
    replica: int | None = None
    nth: tuple[int, ...] | None = None
    share: float | None = None

    def mismatch(self, point: FaultPoint, api: str, broker_id: int | None) -> tuple[int, str] | None:
        """None when the request fits, else how many criteria fitted and what did not, for "nearest miss".

        `broker_id` is the broker that `broker` has been resolved to.
        """
        fitted = 0
        for asked, fits, text in (
            (self.api, api == self.api, f"API {api} is not {self.api}"),
            (True, self._fits_replica(point), self._replica_text(point)),
            (broker_id, point.broker_id == broker_id, f"broker {point.broker_id} is not {broker_id}"),
            (self.topic, point.topic == self.topic, f'topic "{point.topic}" is not "{self.topic}"'),
            (
                self.partitions,
                self.partitions is not None and point.partition in self.partitions,
                f"partition {point.partition} is not in {list(self.partitions or ())}",
            ),
            (
                self.client,
                fnmatchcase(point.client_id or "", self.client or ""),
                f'client "{point.client_id}" is not "{self.client}"',
            ),
        ):
            if asked is None:
                continue
            if not fits:
                return fitted, text
            fitted += 1
        return None

    def _fits_replica(self, point: FaultPoint) -> bool:
        if self.replica is None:
            return point.replica_id < 0
        return point.replica_id >= 0 if self.replica < 0 else point.replica_id == self.replica

    def _replica_text(self, point: FaultPoint) -> str:
        if self.replica is None:
            return f"follower {point.replica_id} is no client (a rule on followers says `replica`)"
        wanted = "a follower" if self.replica < 0 else f"follower {self.replica}"
        return f"replica {point.replica_id} is not {wanted}"


@dataclass(frozen=True, slots=True)
class Range:
    """A number that is drawn, evenly, between two others."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """When a rule opens or closes: every condition that is given must hold, then `delay_ms` more pass.

    `acked_share` is a part of the records that the run expects; `after` is the name of a rule that has struck. A number
    may be a range: the rule's own random stream draws from it once, so that each seed has its own moment.
    """

    acked_share: float | Range | None = None
    acked_records: float | Range | None = None
    appended_records: float | Range | None = None
    appended_batches: float | Range | None = None
    after: str | None = None
    delay_ms: float | Range = 0

    def drawn(self, random: Random) -> DrawnGate:
        """The gate with a number drawn from each range, in the order of the fields."""
        return DrawnGate(
            acked_share=_drawn(self.acked_share, random),
            acked_records=_drawn(self.acked_records, random),
            appended_records=_drawn(self.appended_records, random),
            appended_batches=_drawn(self.appended_batches, random),
            after=self.after,
            delay_ms=_drawn(self.delay_ms, random) or 0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnGate:
    """A gate of one run: numbers, no ranges."""

    acked_share: float | None
    acked_records: float | None
    appended_records: float | None
    appended_batches: float | None
    after: str | None
    delay_ms: float


def _drawn(value: float | Range | None, random: Random) -> float | None:
    return random.uniform(value.low, value.high) if isinstance(value, Range) else value


class Act(Protocol):
    """What a rule does. `on_cluster` acts need no request; the others need one and a phase."""

    name: ClassVar[str]
    on_cluster: ClassVar[bool]

    def strike(self, strike: Strike) -> Interception | None:
        """Do it; answer what becomes of the request, when there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One fault. `times` bounds how often it strikes (None: always while open); `optional` allows that it never does.

    Without a `phase` the act strikes the cluster once, when the rule opens; with one it strikes requests.
    """

    name: str
    act: Act
    phase: Phase | None = None
    select: Select = field(default_factory=Select)
    when: Gate | None = None
    until: Gate | None = None
    times: int | None = None
    optional: bool = False
