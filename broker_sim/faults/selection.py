"""The selection of a rule: the requests that it fires on."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, TypeAlias

from protocol_specs.entities import groups_of, members_of
from protocol_specs.named_producers import NamedPartition, producers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_sim.faults.interception import FaultPoint
    from broker_sim.faults.rule import BrokerRef
    from protocol_specs.named_producers import NamedProducer

__all__ = ["HIGHEST", "Numbers", "Select", "condition_text"]

Numbers: TypeAlias = "tuple[int, ...] | range"
"""The numbers that fit."""
HIGHEST: Final = 2**63
"""The end of a range without an upper bound: such a range is compared and never listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """The requests that a rule fires on; None means any. `client`, `group`, `member` and `transaction` are patterns
    (`producer-*`).

    `topic` and `partitions` fit the partition of the phase; in a phase of whole requests one partition that the body
    names, or that a follower's fetch session has. One producer that the request names must fit `transaction` (a
    transactional id), `producer_ids`, `producer_epochs` and `sequences` (the first one of a batch); in the phases of a
    partition it is the producer of its batch. `replica` is a broker's id (-1: any broker): such a rule fires on the
    requests of brokers alone, as the Fetches of followers, and a rule without it on those of clients alone.

    `versions` are API versions. `connections` counts the connections of each client id among those whose requests fit,
    from 1, and `nth` the requests that fit; `share` selects that part of them, drawn from the rule's random stream.
    """

    broker: BrokerRef | None = None
    api: str | None = None
    topic: str | None = None
    partitions: Numbers | None = None
    client: str | None = None
    group: str | None = None
    member: str | None = None
    transaction: str | None = None
    producer_ids: Numbers | None = None
    producer_epochs: Numbers | None = None
    sequences: Numbers | None = None
    replica: int | None = None
    versions: Numbers | None = None
    connections: Numbers | None = None
    nth: Numbers | None = None
    share: float | None = None

    @property
    def keys_of_the_body(self) -> list[str]:
        """The given keys whose values are in the body of a request, not of one partition alone."""
        given = {"group": self.group, "member": self.member, **self._of_producers}
        return [key for key, value in given.items() if value is not None]

    @property
    def _of_producers(self) -> dict[str, str | Numbers | None]:
        return {
            "transaction": self.transaction,
            "producer_id": self.producer_ids,
            "producer_epoch": self.producer_epochs,
            "sequence": self.sequences,
        }

    @property
    def names_partitions(self) -> bool:
        """True if a topic or a partition is given."""
        return self.topic is not None or self.partitions is not None

    def mismatch(self, point: FaultPoint, api: str, broker_id: int | None) -> tuple[int, str] | None:
        """Return None when the request fits, else the number of criteria that fit and the first that does not.

        `broker_id` is the broker that `broker` was resolved to. The report of a rule shows its nearest miss.
        """
        for fitted, miss in enumerate(self._misses(point, api, broker_id)):
            if miss is not None:
                return fitted, miss
        return None

    def _misses(self, point: FaultPoint, api: str, broker_id: int | None) -> Iterator[str | None]:
        """Compare each given criterion, those of the body last: None for one that fits, else the difference."""
        if self.api is not None:
            yield None if api == self.api else f"no {self.api} arrived, but others did, such as {api}"
        if self.versions is not None:
            known = point.api_version in self.versions
            yield None if known else f"version {point.api_version} is not {condition_text(self.versions)}"
        yield None if self._fits_replica(point) else self._replica_text(point)
        if broker_id is not None:
            yield None if point.broker_id == broker_id else f"broker {point.broker_id} is not {broker_id}"
        if self.client is not None:
            known = fnmatchcase(point.client_id or "", self.client)
            yield None if known else f'client "{point.client_id}" is not "{self.client}"'
        if self.names_partitions:
            yield self._partition_miss(point)
        if self.group is not None:
            groups = groups_of(point.message())
            fits = _fits_any(groups, self.group)
            yield None if fits else f'the groups {groups} of the request do not fit "{self.group}"'
        if self.member is not None:
            members = members_of(point.message())
            fits = _fits_any(members, self.member)
            yield None if fits else f'the members {members} of the request do not fit "{self.member}"'
        if any(wanted is not None for wanted in self._of_producers.values()):
            yield self._producer_miss(point)

    def _partition_miss(self, point: FaultPoint) -> str | None:
        if point.topic is not None:
            if self.topic is not None and point.topic != self.topic:
                return f'topic "{point.topic}" is not "{self.topic}"'
            fits = _is_one_of(point.partition, self.partitions)
            return None if fits else f"partition {point.partition} is not {condition_text(self.partitions)}"
        named = list(dict.fromkeys(point.places()))
        for topic, partition in named:
            if self.topic in (None, topic) and _is_one_of(partition, self.partitions):
                return None
        wanted = f'"{self.topic or "any topic"}"' + (f" {condition_text(self.partitions)}" if self.partitions else "")
        return f"the partitions {named[:10]} of the request do not fit {wanted}"

    def _producer_miss(self, point: FaultPoint) -> str | None:
        place = None
        if point.topic is not None and point.partition is not None:
            place = NamedPartition(point.topic, point.topic_id, point.partition)
        producers = producers_of(point.message(), place)
        if any(map(self._fits_producer, producers)):
            return None
        wanted = ", ".join(
            f"{key} {condition_text(value)}" for key, value in self._of_producers.items() if value is not None
        )
        return f"the producers {[tuple(each) for each in producers]} of the request do not fit {wanted}"

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


def _is_one_of(number: int | None, wanted: Numbers | None) -> bool:
    # A range compares None with each of its numbers, up to 2**63 of them.
    return wanted is None or (number is not None and number in wanted)


def condition_text(wanted: str | Numbers | None) -> str:
    """Return what a condition requires, for messages."""
    if isinstance(wanted, range):
        if wanted.stop > HIGHEST:
            return f"{wanted.start} or higher"
        return f"{wanted.start} to {wanted.stop - 1}"
    return f"one of {list(wanted)}" if isinstance(wanted, tuple) else str(wanted)
