"""The output on the terminal: a progress bar on stderr while the load runs, then one table of results on stdout."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from broker_scenarios.text_forms import clock, partition_name
from broker_scenarios.verdict import COUNT_NAMES, FindingGroup, Validity
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_scenarios.run_record import RunRecord

__all__ = ["LoadProgress", "load_progress", "print_table", "run_notes"]

_PLAIN_WIDTH: Final = 120
_EXPLAINED_MAX: Final = 3
_ERRORS_MAX: Final = 3
_VALIDITY_STYLES: Final = {Validity.VALID: "green", Validity.BROKEN: "bold red", Validity.UNKNOWN: "yellow"}
_ALARMING: Final = ("lost", "duplicated", "reordered")


class LoadProgress:
    """The bar of one run's load."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def update(self, done: int, note: str = "") -> None:
        """Show how many records have an outcome by now, and a note on the state of the cluster."""
        self._progress.update(self._task, completed=done, note=note)


@contextmanager
def load_progress(name: str, total: int | None, console: Console | None = None) -> Iterator[LoadProgress]:
    """A progress bar while the body runs; where stderr is no terminal it is drawn once, at the end.

    `total` is None where scripts send: how many records they will have sent is not known before.
    """
    progress = Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=32),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
        console=console or Console(stderr=True),
    )
    with progress:
        yield LoadProgress(progress, progress.add_task(name, total=total, note=""))


def print_table(runs: Sequence[RunRecord], console: Console | None = None) -> None:
    """Print the runs, one per row; below them figures, losses with their causes, and missed expectations."""
    out = console or _stdout()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("scenario", overflow="fold")
    for name in COUNT_NAMES:
        table.add_column(name, justify="right")
    table.add_column("verdict")
    table.add_column("expected?")
    for run in runs:
        counts = run.verdict.counts.as_dict()
        table.add_row(
            run.name,
            *(_count(name, counts[name]) for name in COUNT_NAMES),
            Text(run.verdict.validity.value, style=_VALIDITY_STYLES[run.verdict.validity]),
            Text("yes", style="green") if run.judgement.met else Text("NO", style="bold red"),
        )
    out.print(table)
    for run in runs:
        for line in run_notes(run):
            out.print(line, soft_wrap=True)


def _stdout() -> Console:
    console = Console(highlight=False)
    # Where stdout is no terminal rich would squeeze the table into 80 columns.
    return console if console.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)


def _count(name: str, count: int) -> Text:
    return Text(f"{count:,}", style="red" if count and name in _ALARMING else "")


def run_notes(run: RunRecord) -> Iterator[Text]:
    """Yield what the row of a run does not show: its figures, findings with their causes, and missed expectations."""
    drawn = ", ".join(f"{name} {value}" for name, value in run.decisions.items() if not isinstance(value, dict))
    if drawn:
        yield Text.assemble((f"{run.name}: ", "bold"), f"drawn: {drawn}")
    for figure in _figures(run):
        yield Text.assemble((f"{run.name}: ", "bold"), figure)
    lost = [group for group in run.verdict.groups if group.why]
    for group in lost[:_EXPLAINED_MAX]:
        yield Text.assemble((f"{run.name}: ", "bold"), _loss(group))
    if len(lost) > _EXPLAINED_MAX:
        rest = sum(group.count for group in lost[_EXPLAINED_MAX:])
        yield Text(f"{run.name}: {rest:,} more lost in {len(lost) - _EXPLAINED_MAX} further ranges: see the report")
    others = [group for group in run.verdict.groups if not group.why]
    for permitted in (False, True):
        groups = [group for group in others if (group.permitted_because is not None) is permitted]
        for group in groups[:_EXPLAINED_MAX]:
            yield Text.assemble((f"{run.name}: ", "bold"), _finding(group))
        if len(groups) > _EXPLAINED_MAX:
            names = ", ".join(dict.fromkeys(group.kind.value for group in groups[_EXPLAINED_MAX:]))
            yield Text(
                f"{run.name}: more{' that is permitted' if permitted else ''}: {names}: see the report (--report)"
            )
    for miss in run.judgement.misses:
        yield Text.assemble((f"{run.name}: not as expected: ", "bold red"), miss)
    if run.judgement.misses and run.fired:
        fired = [f"{name} fired {plural(times, 'time')}" for name, times in run.fired.items()]
        yield Text(f"{run.name}: rules: {', '.join(fired)}")
    if run.judgement.misses and run.reproduce:
        yield Text(f"{run.name}: reproduce: {run.reproduce}")


def _figures(run: RunRecord) -> Iterator[str]:
    measured, start_us = run.measurements, run.verdict.start_us
    if measured.latency is not None:
        yield f"acknowledgement latency: {measured.latency}"
    for group in measured.errors[:_ERRORS_MAX]:
        yield (
            f"{group.count:,} {group.outcome.value} in {partition_name(group.topic, group.partition)} "
            f"with {group.name}, {clock(group.first_us - start_us)} to {clock(group.last_us - start_us)}, "
            f"such as {group.example}"
        )
    if len(measured.errors) > _ERRORS_MAX:
        rest = sum(group.count for group in measured.errors[_ERRORS_MAX:])
        yield f"{rest:,} more failed or unknown: see the report (--report)"
    for refusal in measured.refusals[:_ERRORS_MAX]:
        batches = plural(refusal.batches, "batch", "batches")
        yield f"brokers refused {batches} for {refusal.topic}-{refusal.partition} with {refusal.name}"
    yield from measured.throttled()[:_ERRORS_MAX]
    for pause in measured.pauses[:1]:
        yield (
            f"{partition_name(pause.topic, pause.partition)} acknowledged nothing for {clock(pause.duration_us)}, "
            f"from {clock(pause.start_us - start_us)} on"
        )


def _finding(group: FindingGroup) -> str:
    where = partition_name(group.topic, group.partition)
    excuse = "" if group.permitted_because is None else f" (permitted: {group.permitted_because})"
    return f"{group.kind.value} {group.count:,}{where and f' in {where}'}: {group.examples[0].detail}{excuse}"


def _loss(group: FindingGroup) -> str:
    excuse = "nothing permits it" if group.permitted_because is None else f"permitted: {group.permitted_because}"
    return f"{group.count:,} lost in {partition_name(group.topic, group.partition)}: {group.why} ({excuse})"
