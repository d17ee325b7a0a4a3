"""Results for other programs: one JSON object per run and line, JUnit XML for CI servers, and a Markdown summary."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from broker_scenarios.errors import ScenarioError
from broker_scenarios.shrinking.failure import wording_of_stop
from broker_scenarios.table import run_notes
from broker_scenarios.verdict import COUNT_NAMES, Counts, Validity
from sim_runtime.spelling import plural, reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from broker_scenarios.run_record import RunRecord

__all__ = ["ResultFiles", "RunResult", "read_decisions", "run_result", "write_text"]

_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 does not permit, not even escaped; an error text of a broker may have them."""
_ROWS_MAX: Final = 50
_FAILURES_MAX: Final = 10
"""The limits of a summary: a step summary of GitHub has at most 1 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of one run as other programs read it; small enough to pass between processes."""

    name: str
    """The name of the JUnit test case."""
    seconds: float
    misses: tuple[str, ...]
    reproduce: str
    explanation: tuple[str, ...]
    """The findings with their causes, the missed expectations and the command that reproduces the run, as lines."""
    values: dict[str, Any]
    """The JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFiles:
    """The result files that a command line requests; None for each that it does not."""

    json: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None
    """The summary is appended to it, as CI servers give each step one file for all of its commands."""

    @property
    def requested(self) -> bool:
        """True if there is one."""
        return any(path is not None for path in (self.json, self.junit, self.markdown))

    def write(self, results: Sequence[RunResult]) -> None:
        """Write the requested files.

        Raises:
            ScenarioError: a file cannot be written.
        """
        if self.json is not None:
            write_text(self.json, _json_lines(results), "--json")
        if self.junit is not None:
            write_text(self.junit, _junit_xml(results), "--junit")
        if self.markdown is not None:
            write_text(self.markdown, _markdown(results), "--markdown", append=True)


def _json_lines(results: Sequence[RunResult]) -> str:
    return "".join(f"{json.dumps(result.values)}\n" for result in results)


def read_decisions(path: Path) -> dict[str, Any]:
    """Read draws by name: the `decisions` of a result, or a result with them.

    Raises:
        ScenarioError: the file cannot be read, or has no JSON object.
    """
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScenarioError(f"cannot read {path} (--decisions): {reason_of(error)}") from error
    if not isinstance(given, dict):
        raise ScenarioError(f"{path} (--decisions): expected a JSON object of draws by name, not {given!r}")
    found: dict[str, Any] = given.get("decisions", given)
    return {name: _replayable(each) if isinstance(each, dict) else each for name, each in found.items()}


def _replayable(draws: dict[str, Any]) -> dict[str, Any]:
    """The draws of a rule: the numbers that a `share` selected are a tuple."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in draws.items()}


def _junit_xml(results: Sequence[RunResult]) -> str:
    """Return one JUnit test case per run; a run that did not end as expected is a failure."""
    counts = {
        "tests": str(len(results)),
        "failures": str(sum(bool(result.misses) for result in results)),
        "errors": "0",
        "skipped": "0",
        "time": f"{sum(result.seconds for result in results):.3f}",
    }
    root = ET.Element("testsuites", {"name": "broker-sim", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": "broker-sim", **counts})
    for result in results:
        case = ET.SubElement(
            suite, "testcase", classname="broker-sim", name=_xml(result.name), time=f"{result.seconds:.3f}"
        )
        if result.misses:
            failure = ET.SubElement(case, "failure", message=_xml(result.misses[0]), type="not-as-expected")
            failure.text = _xml("\n".join(result.explanation))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _markdown(results: Sequence[RunResult]) -> str:
    """Return a summary: a table of the runs, failures first, and the explanations of the first failures."""
    failed = [result for result in results if result.misses]
    met = [result for result in results if not result.misses]
    lines = [f"## broker-sim: {len(met)} of {plural(len(results), 'run')} as expected", ""]
    lines += [f"| run | {' | '.join(COUNT_NAMES)} | verdict | as expected |"]
    lines += [f"|---|{'---:|' * len(COUNT_NAMES)}---|---|"]
    shown = [*failed, *met][:_ROWS_MAX]
    for result in shown:
        counts = [f"{result.values['counts'][name]:,}" for name in COUNT_NAMES]
        cells = [result.name.replace("|", "\\|"), *counts, result.values["verdict"], "NO" if result.misses else "yes"]
        lines.append(f"| {' | '.join(cells)} |")
    if len(results) > len(shown):
        lines += ["", f"{plural(len(results) - len(shown), 'more run')}: `--json` has all."]
    for result in failed[:_FAILURES_MAX]:
        lines += ["", f"### {result.name}", "", *(f"    {line}" for line in result.explanation)]
    if len(failed) > _FAILURES_MAX:
        lines += ["", f"{plural(len(failed) - _FAILURES_MAX, 'more failure')}: `--junit` has all."]
    return "\n".join(lines) + "\n\n"


def write_text(path: Path, text: str, option: str, *, append: bool = False) -> None:
    """Write a result file; `append` keeps what it has.

    Raises:
        ScenarioError: the file that `option` names cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ScenarioError(f"cannot write {path} ({option}): {reason_of(error)}") from error


def run_result(run: RunRecord) -> RunResult:
    """Return the result of a run."""
    return RunResult(
        name=f"{run.name} seed {run.facts['seed']}",
        seconds=(run.verdict.end_us - run.verdict.start_us) / 1e6,
        misses=tuple(run.judgement.misses),
        reproduce=run.reproduce,
        explanation=tuple(line.plain for line in run_notes(run)),
        values=_values(run),
    )


def stopped_result(name: str, seed: int, error: Exception | str, reproduce: str) -> RunResult:
    """Return the result of a run that an error has stopped: its verdict is unknown, and the error its miss."""
    miss = wording_of_stop(error)
    return RunResult(
        name=f"{name} seed {seed}",
        seconds=0,
        misses=(miss,),
        reproduce=reproduce,
        explanation=(miss, f"reproduce: {reproduce}"),
        values={
            "scenario": name,
            "as_expected": False,
            "misses": [miss],
            "verdict": Validity.UNKNOWN.value,
            "reasons": [miss],
            "counts": Counts().as_dict(),
            "findings": {},
            "latency_ms": None,
            "errors": [],
            "refusals": [],
            "pauses": [],
            "rules": [],
            "decisions": {},
            "facts": {"seed": str(seed)},
            "reproduce": reproduce,
        },
    )


def _values(run: RunRecord) -> dict[str, Any]:
    verdict, measured = run.verdict, run.measurements
    return {
        "scenario": run.name,
        "as_expected": run.judgement.met,
        "misses": list(run.judgement.misses),
        "verdict": verdict.validity.value,
        "reasons": list(verdict.reasons),
        "counts": verdict.counts.as_dict(),
        "findings": {each.kind.value: each.found for each in verdict.judged if each.found},
        "latency_ms": None
        if measured.latency is None
        else {"p50": measured.latency.p50_ms, "p99": measured.latency.p99_ms, "max": measured.latency.max_ms},
        "errors": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "outcome": each.outcome.value,
                "error": each.name,
                "records": each.count,
                "example": each.example,
            }
            for each in measured.errors
        ],
        "refusals": [
            {"topic": each.topic, "partition": each.partition, "error": each.name, "batches": each.batches}
            for each in measured.refusals
        ],
        "pauses": [
            {"topic": each.topic, "partition": each.partition, "seconds": each.duration_us / 1e6}
            for each in measured.pauses
        ],
        "rules": list(run.rules),
        "decisions": dict(run.decisions),
        "facts": dict(run.facts),
        "reproduce": run.reproduce,
    }
