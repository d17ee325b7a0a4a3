"""Searches for planted defects with the swarms, shrinks what it finds, and writes docs/reference/planted-defects.md.

    python -m benchmarks.planted_defects --seeds 300

Each defect of the table is planted alone in the swarm beside it. The first seed that fails is shrunk; the shrunk file
fails with the defect, for the same reason, and ends as it expects without it. Results are kept per defect in
`scenarios/planted/`: a search that was interrupted goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.consumer.consumer_parts import CONSUMER_PARTS
from broker_client.core.producer.producer_parts import PRODUCER_PARTS
from broker_client.defects import DEFECTS as CLIENT_DEFECTS
from broker_scenarios.language.client_defects import defects_of
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.shrinking.shrink import shrink
from broker_scenarios.sweeps.seed_run import run_seed
from broker_sim.argument_types import positive
from broker_sim.defects import DEFECTS as BROKER_DEFECTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["FOLDER", "PAGE", "RESULTS", "SEARCHED", "code_of", "page"]

ROOT: Final = Path(__file__).parents[1]
SWARMS: Final = ROOT / "scenarios" / "swarms"
FOLDER: Final = ROOT / "scenarios" / "planted"
RESULTS: Final = FOLDER / "results.json"
PAGE: Final = ROOT / "docs" / "reference" / "planted-defects.md"

SEARCHED: Final[Mapping[str, str]] = {
    "dedup-returns-45": "idempotence",
    "dedup-none": "idempotence",
    "dedup-returns-offset-0": "idempotence",
    "offset-before-append": "replication",
    "high-watermark-ignores-newcomers": "replication",
    "high-watermark-stalls-after-reassignment": "controllers",
    "old-epochs-write": "transactions",
    "sequences-outlive-aborts": "transactions",
    "read-above-high-watermark": "readers",
    "read-committed-above-stable-offset": "transactions",
    "moved-coordinator-loses-a-marker": "transactions",
    "idempotence-not-applied": "idempotence",
    "in-flight-by-sequence-alone": "idempotence",
    "retry-splits-batch": "idempotence",
    "reuses-sequence-of-failed-batch": "idempotence",
    "retry-behind-newer": "replication",
    "unmutes-before-retry": "replication",
    "completes-a-batch-twice": "replication",
    "refused-commit-succeeds": "transactions",
    "failed-commit-stays-open": "transactions",
    "unknown-error-is-a-commit": "transactions",
    "commits-without-expired-records": "transactions",
    "failed-add-forgets-partitions": "transactions",
    "commits-the-latest-poll": "groups",
    "reads-from-batch-start": "groups",
    "reads-on-before-revocation": "handovers",
    "loading-group-has-no-offsets": "handovers",
}
"""The swarm in which each defect is planted."""
SEEDS_MAX: Final = 2_000
EVENTS_MAX: Final = 10
_TRANSACTION_PARTS: Final = "transaction_manager"


def main(arguments: Sequence[str] | None = None) -> int:
    """Search for the defects without a result; returns 1 if one was not found in its seeds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted_defects", description=__doc__)
    parser.add_argument(
        "--seeds", type=positive, default=SEEDS_MAX, help=f"how many seeds per defect (default {SEEDS_MAX})"
    )
    parser.add_argument(
        "--again", nargs="+", default=[], choices=SEARCHED, metavar="NAME", help="discard these results"
    )
    options = parser.parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results = {name: results[name] for name in SEARCHED if name in results and name not in options.again}
    for name in SEARCHED:
        result = results.get(name, {"swarm": SEARCHED[name], "searched": 0})
        if "seed" in result or result["searched"] >= options.seeds:
            continue
        for latest in _search(name, result, options.seeds):
            results[name] = latest
            RESULTS.write_text(
                json.dumps({each: results[each] for each in SEARCHED if each in results}, indent=1) + "\n"
            )
        print(name, results[name])
    PAGE.write_text(page({name: results[name] for name in SEARCHED}))
    missing = [name for name in SEARCHED if "seed" not in results[name]]
    for name in missing:
        print(f"not found: {name} in {results[name]['searched']} seeds of {SEARCHED[name]}")
    return 1 if missing else 0


def _search(name: str, result: Mapping[str, Any], seeds: int) -> Iterator[Mapping[str, Any]]:
    """Yield the result after each seed; the last one has what was found."""
    scenario = load_scenario(SWARMS / f"{result['swarm']}.yaml", defect=name)
    for seed in range(result["searched"], seeds):
        if not run_seed(scenario, seed).misses:
            yield {**result, "searched": seed + 1}
            continue
        shrunk = shrink(scenario, seed)
        (FOLDER / f"{name}.yaml").write_text(shrunk.text())
        yield {
            **result,
            "searched": seed + 1,
            "seed": seed,
            "reason": shrunk.reason,
            "events": [*shrunk.events],
            "records": [*shrunk.records],
            "runs": shrunk.runs,
        }
        return


def code_of(name: str) -> str:
    """Return the code in which a defect is planted: broker, producer, consumer, group or transaction, and the class."""
    if name in BROKER_DEFECTS:
        base = BROKER_DEFECTS[name].substitutes[0].__mro__[1]
        rooms = {"broker_sim.coordinators.groups": "group", "broker_sim.coordinators.transactions": "transaction"}
        code = next((code for room, code in rooms.items() if base.__module__.startswith(room)), "broker")
        return f"{code}: `{base.__name__}`"
    parts = CLIENT_DEFECTS[name].parts
    half = PRODUCER_PARTS if defects_of([name], PRODUCER_PARTS) else CONSUMER_PARTS
    classes = [getattr(half, part).__name__ for part in parts]
    if _TRANSACTION_PARTS in parts:
        code = "transaction"
    elif half is PRODUCER_PARTS:
        code = "producer"
    else:
        code = "group" if any("group" in part for part in parts) else "consumer"
    return f"{code}: {', '.join(f'`{each}`' for each in classes)}"


_PAGE: Final = """# Defects that the swarms find

One documented defect at a time is planted in the brokers or clients of [a swarm](../how-to/search-with-a-swarm.md).
The first seed that fails is [shrunk](../how-to/shrink-a-failing-seed.md) to a file in `scenarios/planted/`. The shrunk
file fails for the same reason, and ends as it expects without the defect. `python -m benchmarks.planted_defects` makes
the search and this page.

{summary} Events are rules, loads and steps of scripts.

| defect | planted in | swarm | first failing seed | fails with | events | records | runs of the shrinker |
|---|---|---|---|---|---|---|---|
{rows}"""


def page(results: Mapping[str, Any]) -> str:
    """Return the page of the documentation."""
    found = {name: result for name, result in results.items() if "seed" in result}
    rows = "".join(_row(name, result) for name, result in found.items())
    missing = "".join(
        f"- `{name}`: not found in {result['searched']} seeds of `{result['swarm']}`\n"
        for name, result in results.items()
        if name not in found
    )
    last, largest = (max(of(each) for each in found.values()) for of in (_seed_of, _events_of))
    summary = f"{len(found)} defects are found, the last at seed {last}; the largest shrunk file has {largest} events."
    return _PAGE.format(summary=summary, rows=rows) + (f"\nNot found yet:\n\n{missing}" if missing else "")


def _seed_of(result: Mapping[str, Any]) -> int:
    return int(result["seed"])


def _events_of(result: Mapping[str, Any]) -> int:
    return int(result["events"][1])


def _row(name: str, result: Mapping[str, Any]) -> str:
    reference = "defects" if name in BROKER_DEFECTS else "client-defects"
    events, records = (f"{before} → {after}" for before, after in (result["events"], result["records"]))
    if result["records"] == [0, 0]:
        records = "unknown"
    return (
        f"| [`{name}`]({reference}.md#{name}) | {code_of(name)} | `{result['swarm']}` | {result['seed']} |"
        f" {result['reason']} | {events} | {records} | {result['runs']} |\n"
    )


if __name__ == "__main__":
    sys.exit(main())
