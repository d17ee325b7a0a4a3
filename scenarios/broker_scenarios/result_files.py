"""Results for other programs: one JSON object per run and line, and JUnit XML for CI servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from broker_scenarios.run_record import RunRecord

__all__ = ["json_lines", "junit_xml", "write_text"]


def json_lines(runs: Sequence[RunRecord]) -> str:
    """Return one JSON object per run, each on a line of its own."""
    return "".join(f"{json.dumps(_values(run))}\n" for run in runs)


def junit_xml(runs: Sequence[RunRecord]) -> str:
    """Return one JUnit test case per run; a run that did not end as expected is a failure."""
    failures = sum(not run.judgement.met for run in runs)
    suite = ET.Element("testsuite", name="broker-sim", tests=str(len(runs)), failures=str(failures), errors="0")
    for run in runs:
        seconds = (run.verdict.end_us - run.verdict.start_us) / 1e6
        case = ET.SubElement(suite, "testcase", classname="broker-sim", name=run.name, time=f"{seconds:.3f}")
        if run.judgement.misses:
            failure = ET.SubElement(case, "failure", message=run.judgement.misses[0])
            failure.text = "\n".join((*run.judgement.misses, f"reproduce: {run.reproduce}"))
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


def _values(run: RunRecord) -> dict[str, object]:
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
        "facts": dict(run.facts),
        "reproduce": run.reproduce,
    }
