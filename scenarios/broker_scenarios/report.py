"""One self-contained report.html: the verdict of each run, the losses with their causes, and a timeline per partition.

The page loads no script, style, font or image, so that the file can be mailed and kept. Names and errors of a run are
escaped: they are text, never markup.
"""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

from broker_scenarios.findings import FindingKind
from broker_scenarios.report_chart import partition_chart
from broker_scenarios.text_forms import clock, partition_name
from broker_scenarios.timeline import is_internal
from broker_scenarios.verdict import COUNT_NAMES, FindingGroup, JudgedKind, Validity
from broker_sim.html_page import html_page, write_page
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from broker_scenarios.findings import Finding
    from broker_scenarios.measurements import ErrorGroup
    from broker_scenarios.run_record import RunRecord
    from broker_scenarios.timeline import PartitionTimeline, RunTimeline

__all__ = ["render_report", "write_report"]

_SCRIPT: Final = """
document.getElementById("theme").onclick = () => {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme || (dark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
};
"""
_GROUPS_MAX: Final = 12
_ERRORS_MAX: Final = 12
_PAUSES_MAX: Final = 6
_ISR_CHANGES_MAX: Final = 12
_CHARTS_MAX: Final = 24
_TONES: Final = {Validity.VALID: "good", Validity.BROKEN: "bad", Validity.UNKNOWN: "doubt"}
_ALARMING: Final = ("lost", "duplicated", "reordered")
_SHOWN_ALTHOUGH_PERMITTED: Final = (
    FindingKind.LOST_WRITE,
    FindingKind.SET_LOSS,
    FindingKind.DUPLICATE,
    FindingKind.NONMONOTONIC_SEND,
)
_LEGEND: Final = (
    ("acked", "acknowledged"),
    ("lost", "acknowledged, then lost"),
    ("not-acked", "failed or unknown; ISR below full"),
    ("hw", "high watermark"),
    ("isr", "replicas in sync"),
    ("kill", "broker killed"),
    ("cut", "log truncated"),
)


def write_report(path: Path, runs: Sequence[RunRecord]) -> Path:
    """Write the report of these runs; returns the path as it can be opened."""
    return write_page(path, render_report(runs), "--report")


def render_report(runs: Sequence[RunRecord]) -> str:
    """The whole page."""
    met = sum(run.judgement.met for run in runs)
    as_expected = f"{met} of {len(runs)} as expected"
    sections = "\n".join(_run(number, run) for number, run in enumerate(runs))
    body = f"""<header>
<h1>broker-sim</h1><span class="soft">{as_expected}</span><button id="theme" type="button">light / dark</button>
</header>
<section class="card">{_overview(runs)}</section>
{sections}"""
    return html_page(title=f"broker-sim: {as_expected}", body=body, script=_SCRIPT)


def _overview(runs: Sequence[RunRecord]) -> str:
    heads = "".join(f'<th class="number">{name}</th>' for name in COUNT_NAMES)
    rows = "".join(_overview_row(number, run) for number, run in enumerate(runs))
    return (
        f'<div class="scroll"><table><tr><th>scenario</th><th>verdict</th><th>expected?</th>{heads}</tr>'
        f"{rows}</table></div>"
        '<p class="soft">Verdict: <b>valid</b>: every finding is one that the configuration permits; <b>broken</b>: a '
        "finding breaks a promise; <b>unknown</b>: the evidence is incomplete. As expected: the run meets everything "
        "that the scenario file expects of it.</p>"
    )


def _overview_row(number: int, run: RunRecord) -> str:
    counts = run.verdict.counts.as_dict()
    cells = "".join(_number_cell(counts[name], alarm=name in _ALARMING) for name in COUNT_NAMES)
    return (
        f'<tr><td><a href="#run-{number}">{escape(run.name)}</a></td>'
        f"<td>{_validity(run)}</td><td>{_expected(run)}</td>{cells}</tr>"
    )


def _number_cell(count: int, *, alarm: bool = False) -> str:
    style = "zero" if not count else "alarm" if alarm else ""
    return f'<td class="number {style}">{count:,}</td>'


def _validity(run: RunRecord) -> str:
    validity = run.verdict.validity
    return f'<span class="pill {_TONES[validity]}">{validity.value}</span>'


def _expected(run: RunRecord) -> str:
    return _pill("good", "as expected") if run.judgement.met else _pill("bad", "not as expected")


def _pill(tone: str, text: str) -> str:
    return f'<span class="pill {tone}">{escape(text)}</span>'


def _run(number: int, run: RunRecord) -> str:
    sections = [
        f'<div class="head"><h2>{escape(run.name)}</h2>{_validity(run)}{_expected(run)}</div>',
        *(f'<p class="soft">{escape(part)}</p>' for part in run.description.split("\n\n") if part),
        _tiles(run),
        _list("Not as expected", run.judgement.misses),
        _list("Why the verdict is so", () if run.verdict.validity is Validity.VALID else run.verdict.reasons),
        _why(run),
        _figures(run),
        _timelines(run.timeline) if run.timeline is not None else "",
        "<h3>What the configuration promises, and what was found</h3>",
        _findings(run.verdict.judged),
        "<h3>Configuration</h3>",
        _facts(run.verdict.promises.settings() | dict(run.facts)),
        _list("Fault rules", run.rules),
        f"<h3>Reproduce</h3><p><code>{escape(run.reproduce)}</code></p>" if run.reproduce else "",
    ]
    inner = "\n".join(section for section in sections if section)
    return f'<section class="card" id="run-{number}">\n{inner}\n</section>'


def _tiles(run: RunRecord) -> str:
    counts = run.verdict.counts.as_dict()
    tiles = "".join(
        f'<div class="tile{" hit" if counts[name] and name in _ALARMING else ""}"><b>{counts[name]:,}</b>'
        f"<span>{name}</span></div>"
        for name in ("sent", *COUNT_NAMES)
    )
    return f'<div class="tiles">{tiles}</div>'


def _list(title: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h3>{escape(title)}</h3><ul>{items}</ul>" if items else ""


def _why(run: RunRecord) -> str:
    groups = run.verdict.groups
    shown = [group for group in groups if group.permitted_because is None or group.kind in _SHOWN_ALTHOUGH_PERMITTED]
    if not shown:
        return ""
    parts = ["<h3>What went wrong, and why</h3>"]
    parts += [_group(group, run.verdict.start_us) for group in shown[:_GROUPS_MAX]]
    rest = shown[_GROUPS_MAX:]
    if rest:
        left_out, findings = plural(len(rest), "more group"), plural(sum(each.count for each in rest), "finding")
        parts.append(f'<p class="soft">{left_out} with {findings}.</p>')
    return "\n".join(parts)


def _group(group: FindingGroup, start_us: int) -> str:
    where = partition_name(group.topic, group.partition) or "the cluster"
    offsets = ""
    if group.first_offset >= 0:
        span = f"{group.first_offset:,}"
        if group.last_offset > group.first_offset:
            span = f"{group.first_offset:,} to {group.last_offset:,}"
        offsets = f", {'offset' if group.first_offset == group.last_offset else 'offsets'} {span}"
    tone = "why" if group.permitted_because is not None else "why breaks"
    excuse = (
        f'<p class="soft">Permitted: {escape(group.permitted_because)}.</p>'
        if group.permitted_because is not None
        else f"<p>{_pill('bad', 'breaks a promise')}</p>"
    )
    why = f"<p>{escape(_sentence(group.why))}</p>" if group.why else ""
    rows = "".join(_example(each, start_us) for each in group.examples)
    shown = f" ({len(group.examples)} of {group.count:,} shown)" if group.count > len(group.examples) else ""
    what = "lost" if group.kind in (FindingKind.LOST_WRITE, FindingKind.SET_LOSS) else group.kind.value
    head = f"<b>{group.count:,} {what} in {escape(where)}{offsets}</b>"
    return (
        f'<div class="{tone}">{head}{why}{excuse}<div class="scroll"><table><tr><th class="number">value</th>'
        f'<th class="number">producer</th><th class="number">completed at</th><th>observation{shown}</th></tr>'
        f"{rows}</table></div></div>"
    )


def _example(finding: Finding, start_us: int) -> str:
    completed = clock(finding.complete_us - start_us) if finding.complete_us >= 0 else "never"
    observed, _, _ = finding.detail.partition(": ")
    producer = str(finding.producer_id) if finding.producer_id >= 0 else "none"
    return (
        f'<tr><td class="number">{finding.value_id}</td><td class="number">{producer}</td>'
        f'<td class="number">{completed}</td><td>{escape(observed)}</td></tr>'
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _figures(run: RunRecord) -> str:
    measured, start_us = run.measurements, run.verdict.start_us
    parts = []
    if measured.latency is not None:
        parts.append(f"<p>From send to acknowledgement: {escape(str(measured.latency))}.</p>")
    for pause in measured.pauses[:_PAUSES_MAX]:
        where = escape(partition_name(pause.topic, pause.partition))
        begin = clock(pause.start_us - start_us)
        parts.append(f"<p>{where} acknowledged nothing for {clock(pause.duration_us)}, from {begin} on.</p>")
    if measured.errors:
        rows = "".join(_error_row(group, start_us) for group in measured.errors[:_ERRORS_MAX])
        parts.append(
            '<div class="scroll"><table><tr><th>partition</th><th>outcome</th><th>error</th>'
            '<th class="number">records</th><th>from</th><th>to</th><th>example</th></tr>'
            f"{rows}</table></div>"
        )
        rest = measured.errors[_ERRORS_MAX:]
        if rest:
            groups, records = plural(len(rest), "more group"), plural(sum(each.count for each in rest), "record")
            parts.append(f'<p class="soft">{groups} with {records}.</p>')
    parts += [
        f"<p>Brokers refused {plural(each.batches, 'batch', 'batches')} for "
        f"{escape(f'{each.topic}-{each.partition}')} with {escape(each.name)}.</p>"
        for each in measured.refusals[:_ERRORS_MAX]
    ]
    parts += [f"<p>{escape(each)}.</p>" for each in measured.throttled()[:_ERRORS_MAX]]
    return "\n".join(["<h3>Latency and errors</h3>", *parts]) if parts else ""


def _error_row(group: ErrorGroup, start_us: int) -> str:
    cells = (partition_name(group.topic, group.partition), group.outcome.value, group.name)
    times = (clock(group.first_us - start_us), clock(group.last_us - start_us))
    return (
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}{_number_cell(group.count)}"
        f"{''.join(f'<td>{time}</td>' for time in times)}<td>{escape(group.example)}</td></tr>"
    )


def _findings(judged: Sequence[JudgedKind]) -> str:
    rows = "".join(_promise_row(each) for each in judged if each.found)
    if not rows:
        return '<p class="soft">Nothing was found.</p>'
    return (
        '<div class="scroll"><table><tr><th>finding</th><th>what it is</th><th class="number">found</th>'
        '<th class="number">permitted</th><th class="number">breaking</th><th>why it is permitted</th></tr>'
        f"{rows}</table></div>"
    )


def _promise_row(judged: JudgedKind) -> str:
    return (
        f'<tr><td class="name">{judged.kind.value}</td>'
        f"<td>{escape(judged.meaning)}</td>{_number_cell(judged.found)}"
        f"{_number_cell(judged.permitted)}{_number_cell(judged.broken, alarm=True)}"
        f"<td>{escape('; '.join(judged.reasons))}</td></tr>"
    )


def _timelines(timeline: RunTimeline) -> str:
    legend = "".join(f'<span><i class="l-{name}"></i>{text}</span>' for name, text in _LEGEND)
    eventful = [each for each in timeline.partitions if each.eventful]
    quiet = [each for each in timeline.partitions if not each.eventful]
    parts = ["<h3>Timeline</h3>", f'<div class="legend">{legend}</div>', *_marks(timeline)]
    first = eventful or [each for each in quiet if not is_internal(each.topic)] or quiet
    parts += [_chart(timeline, each) for each in first[:_CHARTS_MAX]]
    rest = [each for each in quiet if each not in first]
    if rest:
        parts.append(
            f"<details><summary>{plural(len(rest), 'partition')} without change of leader or lost record</summary>"
        )
        parts += [_chart(timeline, each) for each in rest[:_CHARTS_MAX]]
        parts.append("</details>")
    left_out = max(len(first) - _CHARTS_MAX, 0) + max(len(rest) - _CHARTS_MAX, 0)
    if left_out:
        parts.append(f'<p class="soft">Not drawn: {plural(left_out, "more partition")}.</p>')
    return "\n".join(parts)


def _chart(timeline: RunTimeline, partition: PartitionTimeline) -> str:
    acked, lost = sum(partition.acked) + sum(partition.lost), sum(partition.lost)
    counts = f"{acked:,} acknowledged" + (f", {lost:,} of them lost" if lost else "")
    name = escape(f"{partition.topic}-{partition.partition}")
    return (
        f'<div class="partition"><h4>{name}<span>{counts}</span></h4>'
        f'<div class="scroll">{partition_chart(timeline, partition)}</div>{_isr_changes(timeline, partition)}</div>'
    )


def _isr_changes(timeline: RunTimeline, partition: PartitionTimeline) -> str:
    # An election and the change of the ISR that it causes are two events with one ISR.
    changes = [next(same) for _, same in groupby(partition.isr_changes, key=lambda change: change.isr)]
    if not changes:
        return ""
    listed = ", ".join(
        f"{clock(change.time_us - timeline.start_us)}: {' '.join(map(str, change.isr)) or 'none'}"
        for change in changes[:_ISR_CHANGES_MAX]
    )
    rest = f", {plural(len(changes) - _ISR_CHANGES_MAX, 'more change')}" if len(changes) > _ISR_CHANGES_MAX else ""
    return f'<p class="soft">ISR from {escape(listed)}{rest}</p>'


def _marks(timeline: RunTimeline) -> Iterator[str]:
    if not timeline.marks:
        return
    items = []
    for group in timeline.marks:
        at = f"{(group.mark.time_us - timeline.start_us) / 1e6:.3f} s"
        last = f"{(group.last_us - timeline.start_us) / 1e6:.3f} s"
        times = f" ({plural(group.count, 'time')}, until {last})" if group.count > 1 else ""
        items.append(f'<li><span class="clock">{at}</span>{escape(group.mark.label)}{times}</li>')
    yield f'<ol class="marks">{"".join(items)}</ol>'
    if timeline.marks_left_out:
        yield f'<p class="soft">Not listed: {plural(timeline.marks_left_out, "further event")}.</p>'


def _facts(facts: dict[str, str]) -> str:
    rows = []
    for name, value in facts.items():
        wide = ' class="wide"' if len(value) > 32 else ""
        rows.append(f"<div{wide}><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>")
    return f'<dl class="facts">{"".join(rows)}</dl>'
