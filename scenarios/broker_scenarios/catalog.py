"""The catalogue of anomalies: pairs of runs, of which one shows the anomaly and the other, its flip, does not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ClusterGone, ScenarioError
from broker_scenarios.language.scenario import load_scenario
from broker_sim.html_page import html_page
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.run_record import RunRecord

__all__ = ["FOLDER", "PairResult", "catalog_page", "find", "load_catalog", "results_json", "run_pair"]

FOLDER: Final = Path("scenarios/catalog")


def load_catalog(folder: Path) -> list[Scenario]:
    """The pairs of a folder, by name. Raises ScenarioError: there is no such folder, or a file has mistakes."""
    if not folder.is_dir():
        raise ScenarioError(f"--folder {folder}: there is no such folder; the catalogue is {FOLDER} of the project")
    scenarios = [load_scenario(path) for path in sorted(folder.glob("*.yaml"))]
    pairs = [scenario for scenario in scenarios if scenario.flip is not None]
    if not pairs:
        raise ScenarioError(f"--folder {folder}: there is no pair in it: expected *.yaml with `flip`")
    return pairs


def find(pairs: Iterable[Scenario], words: Sequence[str]) -> list[Scenario]:
    """The pairs whose name, title, claim or expectation has every word, in any case."""
    wanted = [word.lower() for word in words]
    return [pair for pair in pairs if all(word in _text_of(pair) for word in wanted)]


def _text_of(pair: Scenario) -> str:
    expected = pair.expectation
    names = (*expected.counts, *expected.errors, *expected.outcome, *expected.transactions, *expected.calls)
    return " ".join((pair.name, pair.title, pair.claim, pair.why, *names)).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResult:
    """Both runs of a pair, or why they could not be made: the target cannot do it, or its cluster has failed."""

    scenario: Scenario
    runs: tuple[RunRecord, ...] = ()
    refused: str = ""
    failed: str = ""

    @property
    def is_shown(self) -> bool:
        """True if the anomaly is there on one side, and gone on the other."""
        return len(self.runs) == 2 and all(run.judgement.met for run in self.runs)

    @property
    def state(self) -> str:
        """The result in a word."""
        if self.failed:
            return "FAILED"
        return "refused" if self.refused else "shown" if self.is_shown else "MISSED"

    def misses(self) -> list[str]:
        """Return the differences from what the file expects, by side."""
        if self.refused or self.failed:
            return [self.refused or self.failed]
        misses = [f"{run.name}: {miss}" for run in self.runs for miss in run.judgement.misses]
        has = self.runs[0].facts.get("brokers") if misses else None
        if has is not None and has != str(self.scenario.brokers):
            made_for = plural(self.scenario.brokers, "broker")
            misses.append(
                f"{self.scenario.name} is made for {made_for}, the cluster has {has}: its rules and counts may not fit"
            )
        return misses


def run_pair(scenario: Scenario, run: Callable[[Scenario], RunRecord]) -> PairResult:
    """Run both sides; a target that cannot do what the file has refuses the pair, a cluster that is gone fails it."""
    runs: list[RunRecord] = []
    for side in scenario.sides():
        try:
            runs.append(run(side))
        except ClusterGone as error:
            return PairResult(scenario=scenario, runs=tuple(runs), failed=str(error))
        except ScenarioError as error:
            return PairResult(scenario=scenario, runs=tuple(runs), refused=str(error))
    return PairResult(scenario=scenario, runs=tuple(runs))


def results_json(results: Sequence[PairResult], where: str) -> str:
    """The results on a target as JSON: the totals, and for each anomaly both sides, or why it could not run."""
    return json.dumps(
        {
            "target": where,
            "pairs": len(results),
            "shown": sum(result.is_shown for result in results),
            "refused": sum(bool(result.refused) for result in results),
            "failed": sum(bool(result.failed) for result in results),
            "results": {
                result.scenario.name: {
                    "state": result.state.lower(),
                    "has_finding": [run.judgement.met for run in result.runs[:1]] == [True],
                    "is_gone_in_flip": [run.judgement.met for run in result.runs[1:]] == [True],
                    "reasons": result.misses(),
                }
                for result in results
            },
        },
        indent=1,
    )


def catalog_page(results: Sequence[PairResult], where: str) -> str:
    """An index of the anomalies with their verdicts, as a page."""
    shown = sum(result.is_shown for result in results)
    rows = "\n".join(_row(result) for result in results)
    body = f"""<header><h1>Catalogue of anomalies</h1>
<p class="soft">{plural(shown, "anomaly", "anomalies")} of {len(results)} shown and removed,
{escape(where)}</p></header>
<section class="card"><table><thead><tr><th>anomaly</th><th>shown</th><th>flip</th></tr></thead>
<tbody>
{rows}
</tbody></table></section>"""
    return html_page(title="Catalogue of anomalies", body=body, style=_STYLE)


_STYLE: Final = """td { vertical-align: top; padding: 10px 12px; border-top: 1px solid var(--line); }
th { text-align: left; padding: 6px 12px; color: var(--soft); font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
td p { max-width: 78ch; }
"""


def _row(result: PairResult) -> str:
    scenario = result.scenario
    cells = [_cell(result, side) for side in (0, 1)]
    misses = "".join(f'<p class="soft">{escape(miss)}</p>' for miss in result.misses())
    return (
        f"<tr><td><strong>{escape(scenario.name)}</strong><p>{escape(scenario.title)}</p>"
        f'<p class="soft">{escape(scenario.claim)}</p>{misses}</td>{"".join(cells)}</tr>'
    )


def _cell(result: PairResult, side: int) -> str:
    if side >= len(result.runs):
        return "<td>not run</td>"
    run = result.runs[side]
    found = ", ".join(f"{each.found} {each.kind.value}" for each in run.verdict.judged if each.found) or "no finding"
    state = "as expected" if run.judgement.met else "NOT as expected"
    why = "" if side == 0 or result.scenario.flip is None else f"<p>{escape(result.scenario.flip.why)}</p>"
    return f'<td>{state}<p class="soft">{escape(found)}; verdict {run.verdict.validity.value}</p>{why}</td>'
