"""A fault rule: select -> trigger -> action. Python, YAML, the command line and HTTP share this one grammar.

A rule is open from `when` to `until`. While it is open, it fires its action `act` on every request that passes `phase`
and fits `select`. An action on the cluster (kill, restart, stop) fires when the rule opens. `grammar` reads the written
form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from broker_sim.errors import BrokerSimError, NotThere
from broker_sim.faults.selection import Select

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from broker_sim.faults.action import Action
    from broker_sim.faults.action_context import Resolver
    from broker_sim.faults.gates import Gate
    from broker_sim.faults.interception import Phase


class RuleError(BrokerSimError):
    """A rule that cannot be used: `path` leads from the rule to the key, `problem` names what was expected."""

    def __init__(self, path: Sequence[str | int], problem: str) -> None:
        super().__init__(tuple(path), problem)
        self.path = tuple(path)
        self.problem = problem

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path)) or 'rule'}: {self.problem}"


class Absent(RuleError, NotThere):
    """The node that an action is for is not there now: a problem of a rule that has to fire, not of an optional one."""


class NoEffect(BrokerSimError):
    """An action that would change nothing now: the rule does not count as fired."""


@dataclass(frozen=True, slots=True)
class LeaderOf:
    """The broker that leads a partition."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"leader of {self.topic}-{self.partition}"

    def resolve(self, resolver: Resolver, name: str) -> int:
        """Return the leader."""
        leader = resolver.cluster.leader_of(self.topic, self.partition)
        if leader is None:
            raise Absent((name,), f"{self.topic}-{self.partition} has no leader")
        return leader


@dataclass(frozen=True, slots=True)
class FollowerOf:
    """A running replica of a partition that does not lead it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"any follower of {self.topic}-{self.partition}"

    def resolve(self, resolver: Resolver, name: str) -> int:
        """Draw one of the followers."""
        leader = resolver.cluster.leader_of(self.topic, self.partition)
        replicas = resolver.cluster.admin.replicas_of(self.topic, self.partition)
        followers = [replica for replica in replicas if replica != leader]
        return resolver.draw_broker(followers, name, f"follower of {self.topic}-{self.partition}")


@dataclass(frozen=True, slots=True)
class CoordinatorOf:
    """The broker that coordinates a group or a transactional id."""

    kind: str
    key: str

    def __str__(self) -> str:
        return f"coordinator of {self.kind} {self.key}"

    def resolve(self, resolver: Resolver, name: str) -> int:
        """Return the coordinator."""
        topic, partition = resolver.cluster.admin.state_partition(self.kind, self.key)
        leader = resolver.cluster.leader_of(topic, partition) if partition >= 0 else None
        if leader is None:
            raise Absent((name,), f"{self.kind} {self.key} has no coordinator")
        return leader


@dataclass(frozen=True, slots=True)
class AnyBroker:
    """A running broker."""

    def __str__(self) -> str:
        return "any"

    def resolve(self, resolver: Resolver, name: str) -> int:
        """Draw one of the running brokers."""
        return resolver.draw_broker(resolver.cluster.broker_ids, name, "broker")


@dataclass(frozen=True, slots=True)
class KilledBy:
    """The broker that another rule has killed or stopped."""

    rule: str

    def __str__(self) -> str:
        return f"killed by {self.rule}"

    def resolve(self, resolver: Resolver, name: str) -> int:
        """Return the broker that was killed."""
        victim = resolver.victim_of(self.rule)
        if victim is None:
            raise Absent((name,), f"rule {self.rule!r} has killed no broker yet")
        return victim


@dataclass(frozen=True, slots=True)
class Self:
    """The broker that serves the request on which the rule fires."""

    def __str__(self) -> str:
        return "self"

    def resolve(self, resolver: Resolver, name: str) -> int:  # noqa: ARG002 - as every role
        """Return the broker of the request."""
        assert resolver.point is not None, "the grammar gives `self` to rules on requests alone"
        return resolver.point.broker_id


@dataclass(frozen=True, slots=True)
class ActiveController:
    """The active controller: a separate node where there are several."""

    def __str__(self) -> str:
        return "active controller"

    def resolve(self, resolver: Resolver, name: str) -> int:
        """Return the node of the active controller."""
        active = resolver.cluster.active_controller
        if active is None:
            raise Absent((name,), "no controller is active")
        return active


BrokerRef: TypeAlias = int | LeaderOf | FollowerOf | CoordinatorOf | AnyBroker | KilledBy | Self | ActiveController
"""A broker or controller by its id, or by its role at the moment when the rule opens or fires."""


@dataclass(frozen=True, slots=True)
class Range:
    """A number that is drawn from a uniform distribution between `low` and `high`."""

    low: float
    high: float
    whole: bool = False

    def drawn(self, random: Random) -> float:
        """Return a number from the range, both ends included where it is whole."""
        return random.randint(int(self.low), int(self.high)) if self.whole else random.uniform(self.low, self.high)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A number that is drawn from a list, each with the same probability."""

    choices: tuple[float, ...]

    def drawn(self, random: Random) -> float:
        """Return one of the numbers."""
        return random.choice(self.choices)


Drawable: TypeAlias = float | Range | OneOf
"""A number of a rule, or what it is drawn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One fault. `times` bounds how often it fires (None: always while open); `optional` allows that it never does.

    With a `phase` the action fires on requests. Without one it fires on the cluster, when the rule opens; then again
    after each `every_ms`, if there is one.
    """

    name: str
    act: Action
    phase: Phase | None = None
    select: Select = field(default_factory=Select)
    when: Gate | None = None
    until: Gate | None = None
    times: int | None = None
    every_ms: Drawable | None = None
    optional: bool = False
