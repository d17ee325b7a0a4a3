"""The results of the seeds of a sweep as an Arrow table: one row per seed, with the fields of SeedResult."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from broker_scenarios.result_files import RunResult
from broker_scenarios.sweeps.seed_run import SeedResult
from broker_scenarios.verdict import COUNT_NAMES, Counts

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SEED_SCHEMA", "SweepIdentity", "seed_batch", "seed_result"]

_COUNTS: Final = ("sent", *COUNT_NAMES)
_REACHED: Final = pa.list_(pa.struct([pa.field("kind", pa.string()), pa.field("name", pa.string())]))

SEED_SCHEMA: Final = pa.schema(
    [
        pa.field("seed", pa.int64()),
        pa.field("scenario", pa.string()),
        pa.field("fingerprint", pa.string()),
        pa.field("version", pa.string()),
        pa.field("coverage", pa.bool_()),
        pa.field("as_expected", pa.bool_()),
        pa.field("verdict", pa.string()),
        *(pa.field(name, pa.int64()) for name in _COUNTS),
        pa.field("findings", pa.map_(pa.string(), pa.int64())),
        pa.field("misses", pa.list_(pa.string())),
        pa.field("signature", pa.string()),
        pa.field("digest", pa.string()),
        pa.field("reproduce", pa.string()),
        pa.field("explanation", pa.list_(pa.string())),
        pa.field("virtual_s", pa.float64()),
        pa.field("reached", _REACHED),
        pa.field("result", pa.string()),
    ]
)
"""`result` is the JSON object of `--json`; `virtual_s` is in seconds of virtual time. Spark reads all as nullable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepIdentity:
    """The facts on which the result of a seed depends: results of another identity are those of another sweep."""

    scenario: str
    fingerprint: str
    """Of the text of the scenario, and the number of records."""
    version: str
    """Of the code that runs it."""
    coverage: bool
    """True if the results have what the seed reached."""


def seed_batch(result: SeedResult, identity: SweepIdentity) -> pa.RecordBatch:
    """Return one row of SEED_SCHEMA."""
    values = result.result.values
    row = {
        "seed": result.seed,
        "scenario": identity.scenario,
        "fingerprint": identity.fingerprint,
        "version": identity.version,
        "coverage": identity.coverage,
        "as_expected": not result.misses,
        "verdict": values["verdict"],
        **result.counts.as_dict(),
        "findings": [*values["findings"].items()],
        "misses": result.misses,
        "signature": result.signature,
        "digest": result.digest,
        "reproduce": result.result.reproduce,
        "explanation": result.result.explanation,
        "virtual_s": result.result.seconds,
        "reached": [{"kind": kind, "name": name} for kind, name in result.reached],
        "result": json.dumps(values),
    }
    return pa.RecordBatch.from_pylist([row], schema=SEED_SCHEMA)


def seed_result(row: Mapping[str, Any]) -> SeedResult:
    """Return the result of a row."""
    values = json.loads(row["result"])
    return SeedResult(
        seed=row["seed"],
        counts=Counts(**{name: row[name] for name in _COUNTS}),
        digest=row["digest"],
        result=RunResult(
            name=f"{values['scenario']} seed {row['seed']}",
            seconds=row["virtual_s"],
            misses=tuple(row["misses"]),
            reproduce=row["reproduce"],
            explanation=tuple(row["explanation"]),
            values=values,
        ),
        signature=row["signature"],
        reached=tuple((each["kind"], each["name"]) for each in row["reached"]),
    )
