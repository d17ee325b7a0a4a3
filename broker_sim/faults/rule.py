"""A fault rule: select -> trigger -> action. Python, YAML, the command line and HTTP share this one grammar.

A rule is open from `when` to `until`. While it is open, it fires its action `act` on every request that passes `phase`
and fits `select`. An action on the cluster (kill, restart, stop) fires once, when the rule opens. Gates count records,
batches and rules; a time alone opens a rule only with `delay_ms`, so that a slow machine changes nothing. `grammar`
reads the written form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias

from broker_sim.errors import BrokerSimError
from protocol_specs.entities import groups_of, members_of
from protocol_specs.named_producers import NamedPartition, producers_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from broker_sim.faults.action import Action
    from broker_sim.faults.interception import FaultPoint, Phase
    from protocol_specs.named_producers import NamedProducer


class RuleError(BrokerSimError):
    """A rule that cannot be used: `path` leads from the rule to the key, `problem` names what was expected."""

    def __init__(self, path: Sequence[str | int], problem: str) -> None:
        super().__init__(tuple(path), problem)
        self.path = tuple(path)
        self.problem = problem

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path)) or 'rule'}: {self.problem}"


class NoEffect(BrokerSimError):
    """An action that would change nothing now: the rule does not count as fired."""


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
    """The broker that serves the request on which the rule fires."""

    def __str__(self) -> str:
        return "self"


@dataclass(frozen=True, slots=True)
class ActiveController:
    """The active controller at the moment when the rule opens: a separate node where there are several."""

    def __str__(self) -> str:
        return "active controller"


BrokerRef: TypeAlias = int | LeaderOf | KilledBy | Self | ActiveController
"""A broker or controller by its id, or by its role at the moment when the rule opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """The requests that a rule fires on; None means any. `client`, `group`, `member` and `transaction` are patterns
    (`producer-*`).

    One producer that the request names must fit `transaction` (a transactional id), `producer_ids`, `producer_epochs`
    and `sequences` (the first one of a batch); in the phases of a partition it is the producer of its batch.
    `replica` is a broker's id (-1: any broker): such a rule fires on the requests of brokers alone, as the Fetches of
    followers, and a rule without it on those of clients alone. `nth` counts the requests that fit, from 1; `share`
    selects that part of them, drawn from the random stream of the rule.
    """

    broker: BrokerRef | None = None
    api: str | None = None
    topic: str | None = None
    partitions: tuple[int, ...] | None = None
    client: str | None = None
    group: str | None = None
    member: str | None = None
    transaction: str | None = None
    producer_ids: tuple[int, ...] | None = None
    producer_epochs: tuple[int, ...] | None = None
    sequences: tuple[int, ...] | None = None
    replica: int | None = None
    nth: tuple[int, ...] | None = None
    share: float | None = None

    @property
    def keys_of_the_body(self) -> list[str]:
        """The given keys whose values are in the body of a request, not of one partition alone."""
        given = {"group": self.group, "member": self.member, **self._of_producers}
        return [key for key, value in given.items() if value is not None]

    @property
    def _of_producers(self) -> dict[str, str | tuple[int, ...] | None]:
        return {
            "transaction": self.transaction,
            "producer_id": self.producer_ids,
            "producer_epoch": self.producer_epochs,
            "sequence": self.sequences,
        }

    def mismatch(self, point: FaultPoint, api: str, broker_id: int | None) -> tuple[int, str] | None:
        """Return None when the request fits, else the number of criteria that fit and the first that does not.

        `broker_id` is the broker that `broker` was resolved to. The report of a rule shows its nearest miss.
        """
        fitted = 0
        for wanted, fits, text in (
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
            if wanted is None:
                continue
            if not fits:
                return fitted, text
            fitted += 1
        return self._group_mismatch(point, fitted)

    def _group_mismatch(self, point: FaultPoint, fitted: int) -> tuple[int, str] | None:
        if self.group is not None:
            groups = groups_of(point.request)
            if not _fits_any(groups, self.group):
                return fitted, f'the groups {groups} of the request do not fit "{self.group}"'
            fitted += 1
        if self.member is not None:
            members = members_of(point.request)
            if not _fits_any(members, self.member):
                return fitted, f'the members {members} of the request do not fit "{self.member}"'
            fitted += 1
        return self._producer_mismatch(point, fitted)

    def _producer_mismatch(self, point: FaultPoint, fitted: int) -> tuple[int, str] | None:
        if all(
            wanted is None for wanted in (self.transaction, self.producer_ids, self.producer_epochs, self.sequences)
        ):
            return None
        place = None
        if point.topic is not None and point.partition is not None:
            place = NamedPartition(point.topic, point.topic_id, point.partition)
        producers = producers_of(point.request, place)
        if any(map(self._fits_producer, producers)):
            return None
        wanted = ", ".join(f"{key} {value}" for key, value in self._of_producers.items() if value is not None)
        return fitted, f"the producers {[tuple(each) for each in producers]} of the request do not fit {wanted}"

    def _fits_producer(self, producer: NamedProducer) -> bool:
        transactional_id = producer.transactional_id
        return (
            (
                self.transaction is None
                or (transactional_id is not None and fnmatchcase(transactional_id, self.transaction))
            )
            and _is_one_of(producer.producer_id, self.producer_ids)
            and _is_one_of(producer.producer_epoch, self.producer_epochs)
            and _is_one_of(producer.base_sequence, self.sequences)
        )

    def _fits_replica(self, point: FaultPoint) -> bool:
        if self.replica is None:
            return point.replica_id < 0
        return point.replica_id >= 0 if self.replica < 0 else point.replica_id == self.replica

    def _replica_text(self, point: FaultPoint) -> str:
        if self.replica is None:
            return f"broker {point.replica_id} is no client (a rule on requests of brokers has `replica`)"
        wanted = "a broker" if self.replica < 0 else f"broker {self.replica}"
        return f"the sender {point.replica_id} is not {wanted}"


def _fits_any(names: Sequence[str], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)


def _is_one_of(number: int | None, wanted: tuple[int, ...] | None) -> bool:
    return wanted is None or number in wanted


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
class Gate:
    """When a rule opens or closes: every condition that is given must hold, then `delay_ms` more pass.

    `acked_share` is a share of the records that the run expects; `after` is the name of a rule that has fired. A number
    may be a range: the rule's own random stream draws from it once, so that each seed has its own moment.
    """

    acked_share: Drawable | None = None
    acked_records: Drawable | None = None
    appended_records: Drawable | None = None
    appended_batches: Drawable | None = None
    after: str | None = None
    delay_ms: Drawable = 0

    @property
    def counts_batches(self) -> bool:
        """True if a condition counts records or batches, which a journal of cluster events alone does not."""
        counts = (self.acked_share, self.acked_records, self.appended_records, self.appended_batches)
        return any(count is not None for count in counts)

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


def _drawn(value: Drawable | None, random: Random) -> float | None:
    return value.drawn(random) if isinstance(value, Range | OneOf) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One fault. `times` bounds how often it fires (None: always while open); `optional` allows that it never does.

    Without a `phase` the action fires once on the cluster, when the rule opens; with one it fires on requests.
    """

    name: str
    act: Action
    phase: Phase | None = None
    select: Select = field(default_factory=Select)
    when: Gate | None = None
    until: Gate | None = None
    times: int | None = None
    optional: bool = False
