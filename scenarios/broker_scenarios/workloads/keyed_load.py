"""A keyed load: who sends which key, how large, and when. Record i depends on (spec, seed, i) alone.

Keys are drawn by Zipf's law, sizes from a mix, producers evenly; the times are those of a steady rate over all
producers together. `KeyedLoad.rows` makes any part of the load, so that Spark's tasks and a plain run make
the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from broker_scenarios.errors import ScenarioError
from broker_scenarios.workloads.alias_table import AliasTable, zipf_weights
from broker_scenarios.workloads.splitmix import CounterStream
from broker_scenarios.workloads.values import VALUE_BYTES_MIN

__all__ = ["LOAD_SCHEMA", "KeyedLoad", "LoadSpec", "SizeShare", "build_load"]

LOAD_SCHEMA: Final = pa.schema(
    [
        pa.field("value_id", pa.int64(), nullable=False),
        pa.field("producer_id", pa.int32(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("size_bytes", pa.int32(), nullable=False),
        pa.field("due_us", pa.int64(), nullable=False),
    ]
)
"""One row a record; `due_us` counts from the start of the run."""

_PRODUCERS, _KEYS, _SIZES = 1, 2, 3
_KEYS_MAX: Final = 1_000_000
_RATE_UNIT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeShare:
    """A value size and its share of the records; shares are relative to each other."""

    size_bytes: int
    share: float = 1.0


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


class KeyedLoad:
    """Makes any part of a load."""

    def __init__(self, spec: LoadSpec, seed: int) -> None:
        self._spec = spec
        self._producers = CounterStream(seed, _PRODUCERS)
        self._key_draws = CounterStream(seed, _KEYS)
        self._size_draws = CounterStream(seed, _SIZES)
        self._key_choice = AliasTable(zipf_weights(spec.keys, spec.zipf)) if spec.keys else None
        width = len(str(max(spec.keys - 1, 0)))
        self._keys = pa.array([f"key-{rank:0{width}}".encode() for rank in range(spec.keys)], pa.binary())
        self._size_choice = AliasTable([each.share for each in spec.sizes])
        self._sizes = pa.array([each.size_bytes for each in spec.sizes], pa.int32())

    def rows(self, value_ids: pa.Array) -> pa.RecordBatch:
        """The load's rows of these records, as LOAD_SCHEMA."""
        spec, count = self._spec, len(value_ids)
        ids = value_ids.cast(pa.int64())
        producers, _ = self._producers.below_all(ids, spec.producers)
        if self._key_choice is None:
            keys = pa.nulls(count, pa.binary())
        else:
            keys = pc.take(self._keys, self._key_choice.draw(self._key_draws, ids))
        sizes = pc.take(self._sizes, self._size_choice.draw(self._size_draws, ids))
        topics = pa.repeat(pa.scalar(spec.topic, pa.string()), count)
        columns = [ids, producers.cast(pa.int32()), topics, keys, sizes, self._due(ids)]
        return pa.RecordBatch.from_arrays(columns, schema=LOAD_SCHEMA)

    def _due(self, ids: pa.Array) -> pa.Array:
        if self._spec.rate_per_s is None:
            return pc.multiply(ids, pa.scalar(0, pa.int64()))
        per_unit = pa.scalar(round(self._spec.rate_per_s * _RATE_UNIT), pa.int64())
        return pc.divide(pc.multiply(ids, pa.scalar(1_000_000 * _RATE_UNIT, pa.int64())), per_unit)


def build_load(spec: LoadSpec, seed: int) -> pa.Table:
    """The whole load, in the order of its records' times."""
    return pa.Table.from_batches([KeyedLoad(spec, seed).rows(pa.array(range(spec.records), pa.int64()))])


def _at_least(name: str, value: float, least: float) -> None:
    if value < least:
        raise ScenarioError(f"load: {name} is {value}, at least {least}")
