"""Results for other programs: one JSON object per run and line, and JUnit XML for CI servers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from broker_scenarios.run_record import RunRecord

__all__ = ["RunResult", "json_lines", "junit_xml", "read_decisions", "run_result", "write_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of one run as other programs read it; small enough to pass between processes."""

    name: str
    """The name of the JUnit test case."""
    seconds: float
    misses: tuple[str, ...]
    reproduce: str
    values: dict[str, Any]
    """The JSON object."""


def json_lines(results: Sequence[RunResult]) -> str:
    """Return one JSON object per run, each on a line of its own."""
    return "".join(f"{json.dumps(result.values)}\n" for result in results)


def read_decisions(path: Path) -> dict[str, Any]:
    """Read draws by name: the `decisions` of a result, or a result with them.

    Raises:
        ScenarioError: the file cannot be read, or has no JSON object.
    """
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScenarioError(f"cannot read {path} (--decisions): {error}") from error
    if not isinstance(given, dict):
        raise ScenarioError(f"{path} (--decisions): expected a JSON object of draws by name, not {given!r}")
    found: dict[str, Any] = given.get("decisions", given)
    return {name: _replayable(each) if isinstance(each, dict) else each for name, each in found.items()}


def _replayable(draws: dict[str, Any]) -> dict[str, Any]:
    """The draws of a rule: the numbers that a `share` selected are a tuple."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in draws.items()}


def junit_xml(results: Sequence[RunResult]) -> str:
    """Return one JUnit test case per run; a run that did not end as expected is a failure."""
    failures = sum(bool(result.misses) for result in results)
    suite = ET.Element("testsuite", name="broker-sim", tests=str(len(results)), failures=str(failures), errors="0")
    for result in results:
        case = ET.SubElement(suite, "testcase", classname="broker-sim", name=result.name, time=f"{result.seconds:.3f}")
        if result.misses:
            failure = ET.SubElement(case, "failure", message=result.misses[0])
            failure.text = "\n".join((*result.misses, f"reproduce: {result.reproduce}"))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def write_text(path: Path, text: str, option: str) -> None:
    """Write a result file.

    Raises:
        ScenarioError: the file that `option` names cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"cannot write {path} ({option}): {error.strerror}") from error


def run_result(run: RunRecord, *, name: str | None = None) -> RunResult:
    """Return the result of a run; `name` is that of its JUnit test case, by default the scenario's."""
    return RunResult(
        name=name or run.name,
        seconds=(run.verdict.end_us - run.verdict.start_us) / 1e6,
        misses=tuple(run.judgement.misses),
        reproduce=run.reproduce,
        values=_values(run),
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
