"""A keyed load: the producer, key, size and time of each record. Record i depends on (spec, seed, i) alone.

Keys follow Zipf's law, sizes a weighted mix, and producers get even shares; the times are those of a steady rate over
all producers together. `KeyedLoad.rows` computes any part of the load, so that Spark's tasks and a run in one process
send the same records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.errors import ScenarioError
from broker_scenarios.workloads.alias_table import AliasTable, zipf_weights
from broker_scenarios.workloads.splitmix import CounterStream
from broker_scenarios.workloads.values import VALUE_BYTES_MIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["KeyedLoad", "LoadRow", "LoadSpec", "SizeShare", "build_load", "shares_of"]


class LoadRow(NamedTuple):
    """One record of a load; `due_us` counts from the start of the run."""

    value_id: int
    producer_id: int
    topic: str
    key: bytes | None
    size_bytes: int
    due_us: int


_PRODUCERS, _KEYS, _SIZES = 1, 2, 3
_KEYS_MAX: Final = 1_000_000
_RATE_UNIT: Final = 1_000
US_PER_UNIT: Final = 1_000_000 * _RATE_UNIT
BULK_RATE_PER_S: Final = 20_000
"""The records per second of one producer from which a load is sent by the column: more than calls of `send` reach."""
RECORDS_MAX: Final = 2**63 // US_PER_UNIT
"""The times of more records would not fit into 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeShare:
    """A value size and its share of the records; shares are relative to each other."""

    size_bytes: int
    share: float = 1.0


_CHOICES_KEPT: Final = 2
"""The keys of a load depend on its specification alone: the seeds of a sweep share them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSpec:
    """A keyed load as a scenario declares it. No keys: null keys. No rate: as fast as the producers can."""

    topic: str
    records: int
    producers: int = 1
    keys: int = 1_000
    zipf: float = 1.0
    sizes: tuple[SizeShare, ...] = (SizeShare(size_bytes=100),)
    rate_per_s: float | None = None

    def __post_init__(self) -> None:
        _at_least("records", self.records, 1)
        if self.records > RECORDS_MAX:
            raise ScenarioError(f"load: records is {self.records}, at most {RECORDS_MAX}")
        _at_least("producers", self.producers, 1)
        _at_least("keys", self.keys, 0)
        if self.keys > _KEYS_MAX:
            raise ScenarioError(f"load: keys is {self.keys}, at most {_KEYS_MAX}")
        _at_least("zipf", self.zipf, 0)
        if not self.sizes or sum(each.share for each in self.sizes) <= 0:
            raise ScenarioError("load: sizes needs at least one size with a share above 0")
        for each in self.sizes:
            _at_least("sizes.size_bytes", each.size_bytes, VALUE_BYTES_MIN)
            _at_least("sizes.share", each.share, 0)
        if self.rate_per_s is not None:
            _at_least("rate_per_s", self.rate_per_s, 1 / _RATE_UNIT)

    @property
    def is_bulk(self) -> bool:
        """True if so many records are due in a short time that tables of them are sent."""
        return self.rate_per_s is None or self.rate_per_s / self.producers >= BULK_RATE_PER_S


class KeyedLoad:
    """Computes any part of a load."""

    def __init__(self, spec: LoadSpec, seed: int) -> None:
        self.spec = spec
        self.producer_draws = CounterStream(seed, _PRODUCERS)
        self.key_draws = CounterStream(seed, _KEYS)
        self.size_draws = CounterStream(seed, _SIZES)
        self.key_choice = _key_choice(spec.keys, spec.zipf) if spec.keys else None
        self.keys = _keys(spec.keys)
        self.size_choice = AliasTable([each.share for each in spec.sizes])
        self.rate_per_unit = None if spec.rate_per_s is None else round(spec.rate_per_s * _RATE_UNIT)

    def rows(self, value_ids: Iterable[int]) -> Iterator[LoadRow]:
        """Return the rows of these records."""
        spec, choice, per_unit = self.spec, self.key_choice, self.rate_per_unit
        for value_id in value_ids:
            producer_id, _ = self.producer_draws.below(value_id, spec.producers)
            yield LoadRow(
                value_id=value_id,
                producer_id=producer_id,
                topic=spec.topic,
                key=None if choice is None else self.keys[choice.draw(self.key_draws, value_id)],
                size_bytes=spec.sizes[self.size_choice.draw(self.size_draws, value_id)].size_bytes,
                due_us=0 if per_unit is None else value_id * US_PER_UNIT // per_unit,
            )


def build_load(spec: LoadSpec, seed: int) -> list[LoadRow]:
    """Return the whole load, in the order in which its records are due."""
    return list(KeyedLoad(spec, seed).rows(range(spec.records)))


def shares_of(load: Iterable[LoadRow], producers: int) -> list[list[LoadRow]]:
    """Return the rows of each producer, in the order of the load."""
    shares: list[list[LoadRow]] = [[] for _ in range(producers)]
    for row in load:
        shares[row.producer_id].append(row)
    return shares


@lru_cache(_CHOICES_KEPT)
def _key_choice(keys: int, zipf: float) -> AliasTable:
    return AliasTable(zipf_weights(keys, zipf))


@lru_cache(_CHOICES_KEPT)
def _keys(count: int) -> tuple[bytes, ...]:
    width = len(str(max(count - 1, 0)))
    return tuple(f"key-{rank:0{width}}".encode() for rank in range(count))


def _at_least(name: str, value: float, least: float) -> None:
    if value < least:
        raise ScenarioError(f"load: {name} is {value}, at least {least}")
