"""The promises of a configuration, kept apart from the findings: a verdict is findings minus allowances.

Each allowance names a finding, the causes under which the configuration permits it, and the reason in a
sentence. A loss under acks=1 is permitted when a leader died with it, not when it vanished without a cause:
that would be a broker's bug under any configuration. Mirrors the contract of ProducerConfig (acks,
enable.idempotence, max.in.flight.requests.per.connection, retries) and TopicConfig (min.insync.replicas,
unclean.leader.election.enable).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Self

from broker_scenarios.errors import ScenarioError
from broker_scenarios.findings import Cause, Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.operations import Process

__all__ = ["ACKS_ALL", "Allowance", "ClientPromises", "Promises"]

ACKS_ALL: Final = -1
_RETRIES_DEFAULT: Final = 2**31 - 1
_IN_FLIGHT_DEFAULT: Final = 5
_IDEMPOTENT_IN_FLIGHT_MAX: Final = 5
_NEVER_FLUSHES: Final = 2**63 - 1
_ELECTION_CAUSES: Final = (Cause.TRUNCATED, Cause.LEADER_REPLACED, Cause.NOT_RECORDED)
_FAULT_CAUSES: Final = (*_ELECTION_CAUSES, Cause.LEADER_FAULT)
_LOSS_KINDS: Final = (
    FindingKind.LOST_WRITE,
    FindingKind.SET_LOSS,
    FindingKind.UNSEEN,
    FindingKind.TORN_TXN,
    FindingKind.GHOST_READ,
    FindingKind.INCONSISTENT_OFFSETS,
    FindingKind.POLL_SKIP,
    FindingKind.INT_POLL_SKIP,
    FindingKind.NONMONOTONIC_SEND,
)
"""A loss, and what follows from one: the offset that is assigned again, the gap that a consumer passes."""
_ALWAYS: Final = (
    (FindingKind.RECOVERED, "an outcome that the client does not know may be stored: a time-out is not a failure", ()),
    (FindingKind.ABORT_CLASS, "information: where the consumer read on", ()),
    (
        FindingKind.INT_SEND_SKIP,
        "Kafka does not isolate writes: those of others may stand between two of one client",
        (),
    ),
    (FindingKind.G0, "Kafka does not isolate writes", ()),
    (FindingKind.G0_PROCESS, "Kafka does not isolate writes", ()),
    (FindingKind.G0_REALTIME, "Kafka does not isolate writes", ()),
    (FindingKind.G1C, "Kafka does not isolate writes", (Cause.WRITE_ORDER,)),
    (FindingKind.G1C_PROCESS, "Kafka does not isolate writes", (Cause.WRITE_ORDER,)),
    (FindingKind.G1C_REALTIME, "Kafka does not isolate writes", (Cause.WRITE_ORDER,)),
    (FindingKind.POLL_SKIP, "a group may move the partitions of a subscribed process", (Cause.SUBSCRIBED,)),
    (FindingKind.NONMONOTONIC_POLL, "a group may move the partitions of a subscribed process", (Cause.SUBSCRIBED,)),
)
_UNCOMMITTED_READS: Final = (
    FindingKind.G1A,
    FindingKind.PRECOMMITTED_READ,
    FindingKind.GHOST_READ,
    FindingKind.POLL_SKIP,
    FindingKind.INT_POLL_SKIP,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """A finding that the configuration permits; without `causes` it is permitted for any cause."""

    kind: FindingKind
    reason: str
    causes: tuple[Cause, ...] = ()

    def covers(self, finding: Finding) -> bool:
        """Return True if this allowance permits the finding."""
        return finding.kind is self.kind and (not self.causes or finding.cause in self.causes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """The settings that decide what may be lost, doubled or reordered, already resolved to their values."""

    acks: int = ACKS_ALL
    min_insync_replicas: int = 1
    replication_factor: int = 1
    unclean_leader_election: bool = False
    enable_idempotence: bool = True
    max_in_flight: int = _IN_FLIGHT_DEFAULT
    retries: int = _RETRIES_DEFAULT
    flush_messages: int = _NEVER_FLUSHES
    read_committed: bool = True
    """The consumers read with isolation.level=read_committed."""
    exactly_once: bool = False
    """It is claimed that each record is processed once."""
    key_order: bool = False
    """It is claimed that records of one message key keep their order across partitions."""
    appends_are_known: bool = True
    """The logs prove when a record was appended: that a request was late, and not the record of a retry."""

    @classmethod
    def from_configs(
        cls,
        producer: Mapping[str, str],
        topic: Mapping[str, str] | None = None,
        broker: Mapping[str, str] | None = None,
        *,
        replication_factor: int,
        **claims: bool,
    ) -> Self:
        """Resolve Kafka's configuration names; a topic's own value takes precedence over the brokers'.

        `claims` are the other fields, such as `exactly_once`.
        """
        served = {**(broker or {}), **(topic or {})}
        acks = _acks(producer.get("acks", "all"))
        retries = _integer("retries", producer.get("retries", str(_RETRIES_DEFAULT)))
        in_flight_name = "max.in.flight.requests.per.connection"
        in_flight = _integer(in_flight_name, producer.get(in_flight_name, str(_IN_FLIGHT_DEFAULT)))
        # Without an explicit enable.idempotence=true a conflicting setting turns it off silently (KAFKA-13598).
        conflict = acks != ACKS_ALL or retries == 0 or in_flight > _IDEMPOTENT_IN_FLIGHT_MAX
        flush = served.get("flush.messages", served.get("log.flush.interval.messages", str(_NEVER_FLUSHES)))
        idempotence = _boolean("enable.idempotence", producer.get("enable.idempotence", str(not conflict)))
        unclean_name = "unclean.leader.election.enable"
        return cls(
            acks=acks,
            min_insync_replicas=_integer("min.insync.replicas", served.get("min.insync.replicas", "1")),
            replication_factor=replication_factor,
            unclean_leader_election=_boolean(unclean_name, served.get(unclean_name, "false")),
            enable_idempotence=idempotence,
            max_in_flight=in_flight,
            retries=retries,
            flush_messages=_integer("flush.messages", flush),
            **claims,
        )

    @property
    def effective_min_insync_replicas(self) -> int:
        """The replicas that hold a record when acks=all is acknowledged: the minimum is capped at the replica count."""
        return min(self.min_insync_replicas, self.replication_factor)

    @property
    def acks_name(self) -> str:
        """Acks as the configuration spells it."""
        return "all" if self.acks == ACKS_ALL else str(self.acks)

    def allowances(self) -> tuple[Allowance, ...]:
        """All that this configuration permits, with reasons; the most specific reason of a finding first."""
        return _allowances_of(self)

    def _allowances(self) -> tuple[Allowance, ...]:
        return (*self._loss(), *self._duplicates(), *self._order(), *self._reads(), *self._always())

    def allowance_for(self, finding: Finding) -> Allowance | None:
        """Return the first allowance that permits the finding; None if the finding breaks a promise."""
        return next((each for each in self.allowances() if each.covers(finding)), None)

    def acks_of(self, finding: Finding) -> int:  # noqa: ARG002 - the form of ClientPromises
        """The acks of the finding's producer: there is one configuration."""
        return self.acks

    def settings(self) -> dict[str, str]:
        """The settings under Kafka's names, for reports."""
        return {
            "acks": self.acks_name,
            "min.insync.replicas": str(self.min_insync_replicas),
            "replication factor": str(self.replication_factor),
            "unclean.leader.election.enable": str(self.unclean_leader_election).lower(),
            "enable.idempotence": str(self.enable_idempotence).lower(),
            "max.in.flight.requests.per.connection": str(self.max_in_flight),
            "retries": "2147483647" if self.retries == _RETRIES_DEFAULT else str(self.retries),
        }

    def _loss(self) -> list[Allowance]:
        reasons: list[tuple[str, tuple[Cause, ...]]] = []
        if self.acks == 0:
            reason = "acks=0: the producer counts a record as sent, no broker confirms it"
            reasons.append((reason, (*_FAULT_CAUSES, Cause.NEVER_CONFIRMED, Cause.POWER_LOST)))
        if self.acks == 1:
            reason = "acks=1: the leader confirms alone; what its followers had not fetched is lost with it"
            reasons.append((reason, _FAULT_CAUSES))
        if self.acks == ACKS_ALL and self.effective_min_insync_replicas < 2:
            reason = (
                f"acks=all with min.insync.replicas={self.min_insync_replicas} and replication factor "
                f"{self.replication_factor}: the ISR may shrink to the leader, which then confirms alone"
            )
            reasons.append((reason, _ELECTION_CAUSES))
        reasons.append(("retention has deleted it", (Cause.RETENTION,)))
        reasons.append(("compaction has removed it: its key has a later value", (Cause.COMPACTION,)))
        reasons.append(("its topic was deleted", (Cause.TOPIC_DELETED,)))
        if self.unclean_leader_election:
            reason = "unclean.leader.election.enable=true: a replica outside of the ISR may become leader"
            reasons.append((reason, (*_ELECTION_CAUSES, Cause.UNCLEAN_ELECTION)))
        if self.flush_messages > 1:
            never = self.flush_messages == _NEVER_FLUSHES
            when = "brokers never force a flush" if never else f"brokers flush every {self.flush_messages} records"
            reason = (
                f"flush.messages={self.flush_messages}: {when}; an acknowledged record that is only in page caches is "
                "lost when all brokers that hold it lose power"
            )
            reasons.append((reason, (Cause.POWER_LOST,)))
        return [
            Allowance(kind=kind, reason=reason, causes=causes) for reason, causes in reasons for kind in _LOSS_KINDS
        ]

    def _duplicates(self) -> list[Allowance]:
        kind = FindingKind.DUPLICATE
        allowed = [
            Allowance(
                kind=kind,
                reason="the application sent the record again itself",
                causes=(Cause.APPLICATION_RESEND,),
            )
        ]
        if not self.enable_idempotence and self.retries > 0:
            reason = "enable.idempotence=false: a retry of a batch whose response was lost is appended again"
            allowed.append(Allowance(kind=kind, reason=reason))
        return allowed

    def _order(self) -> list[Allowance]:
        if self.enable_idempotence:
            return []
        kind = FindingKind.NONMONOTONIC_SEND
        allowed: list[Allowance] = []
        if self.appends_are_known:
            late = "enable.idempotence=false: a broker may append a request after the producer has given it up"
            allowed.append(Allowance(kind=kind, reason=late, causes=(Cause.LATE_APPEND,)))
        if self.retries > 0 and self.max_in_flight > 1:
            reason = (
                f"enable.idempotence=false with {self.max_in_flight} requests in flight: a retried batch may be "
                "appended behind the next one"
            )
            on_the_way = (Cause.PIPELINED, Cause.LATE_APPEND)
            allowed.append(Allowance(kind=kind, reason=reason, causes=on_the_way))
            allowed.append(Allowance(kind=FindingKind.INT_NONMONOTONIC_SEND, reason=reason, causes=on_the_way))
        return allowed

    def _reads(self) -> list[Allowance]:
        allowed: list[Allowance] = []
        if not self.read_committed:
            reason = "isolation.level=read_uncommitted: consumers read records of open and aborted transactions"
            causes = (Cause.UNCOMMITTED,)
            allowed += (Allowance(kind=kind, reason=reason, causes=causes) for kind in _UNCOMMITTED_READS)
        if not self.exactly_once:
            reason = "exactly-once is not claimed: a group may read a record again"
            allowed.append(Allowance(kind=FindingKind.CONSUME_COUNTS, reason=reason))
        if not self.key_order:
            reason = "key-order is not claimed: Kafka keeps the order of a partition alone"
            allowed.append(Allowance(kind=FindingKind.KEY_ORDER, reason=reason))
        return allowed

    def _always(self) -> list[Allowance]:
        return [Allowance(kind=kind, reason=reason, causes=causes) for kind, reason, causes in _ALWAYS]


@lru_cache(maxsize=64)
def _allowances_of(promises: Promises) -> tuple[Allowance, ...]:
    return promises._allowances()  # noqa: SLF001 - once per promises, and not once per finding


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPromises:
    """The promises of a run whose clients and topics have configurations of their own.

    A finding is judged by the promises of its process and topic; one that names no process, by those of every client
    that wrote to the topic: what one of them permits is permitted.
    """

    by_process: Mapping[Process, Mapping[str, Promises]]
    """Process -> topic -> promises. A process that wrote nowhere has no entry."""
    otherwise: Promises = field(default_factory=Promises)

    def of(self, process: Process, topic: str) -> tuple[Promises, ...]:
        """The promises that a finding of this process and topic may rest on."""
        own = self.by_process.get(process, {}).get(topic)
        if own is not None:
            return (own,)
        all_of_topic = (topics[topic] for topics in self.by_process.values() if topic in topics)
        return tuple(dict.fromkeys(all_of_topic)) or (self.otherwise,)

    def allowance_for(self, finding: Finding) -> Allowance | None:
        """Return the first allowance that permits the finding; None if the finding breaks a promise."""
        for promises in self.of(finding.process, finding.topic):
            allowance = promises.allowance_for(finding)
            if allowance is not None:
                return allowance
        return None

    def acks_of(self, finding: Finding) -> int:
        """The acks of the finding's producer."""
        return self.of(finding.process, finding.topic)[0].acks

    @property
    def replication_factor(self) -> int:
        """The largest replication factor."""
        return max(promises.replication_factor for promises in self._all())

    def settings(self) -> dict[str, str]:
        """The settings under Kafka's names, for reports; several values of one are joined."""
        found: dict[str, dict[str, None]] = {}
        for promises in self._all():
            for name, value in promises.settings().items():
                found.setdefault(name, {})[value] = None
        return {name: ", ".join(values) for name, values in found.items()}

    def _all(self) -> tuple[Promises, ...]:
        given = (promises for topics in self.by_process.values() for promises in topics.values())
        return tuple(dict.fromkeys(given)) or (self.otherwise,)


def _acks(text: str) -> int:
    value = {"all": ACKS_ALL, "-1": ACKS_ALL, "0": 0, "1": 1}.get(text.strip().lower())
    if value is None:
        raise ScenarioError(f"acks={text!r}: expected all, -1, 0 or 1")
    return value


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ScenarioError(f"{name}={text!r}: expected a whole number") from None


def _boolean(name: str, text: str) -> bool:
    value = {"true": True, "false": False}.get(text.strip().lower())
    if value is None:
        raise ScenarioError(f"{name}={text!r}: expected true or false")
    return value
