"""A request's trace for a terminal: a bar a stage, then what happened, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.text_columns import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_scenarios.request_trace import RequestTrace, Stage, TracedRequest

__all__ = ["request_list", "trace_lines"]

BAR_WIDTH: Final = 48


def trace_lines(trace: RequestTrace) -> Iterator[str]:
    """The whole trace."""
    yield trace.title
    yield trace.connection
    yield ""
    whole_us = max(1, trace.end_us)
    rows = [(stage.name, milliseconds(stage.duration_us), _bar(stage, whole_us)) for stage in trace.stages]
    if trace.traced.response is not None:
        rows.append(("total", milliseconds(trace.traced.total_us), ""))
    width = max((len(time) for _, time, _ in rows), default=0)
    for name, time, bar in rows:
        yield f"  {name:<16}{time:>{width}}  {bar}".rstrip()
    yield ""
    for moment in trace.moments:
        yield f"  +{milliseconds(moment.at_us)}  {moment.text if moment.own else f'(meanwhile) {moment.text}'}"
    if trace.left_out:
        yield f"  {trace.left_out:,} more things happened meanwhile"


def request_list(requests: Sequence[TracedRequest], start_us: int) -> list[str]:
    """Requests as a table: the first column is what --request takes, times count from `start_us`."""
    rows = [("request", "at", "broker", "api", "version", "client", "took")]
    rows += [
        (
            str(number),
            f"{(request.time_us - start_us) / 1e6:.6f} s",
            str(request.broker_id),
            request.api,
            str(request.api_version),
            request.client_id or "-",
            "no answer" if response is None else milliseconds(response.total_us),
        )
        for number, request, response in requests
    ]
    return columns(rows)


def milliseconds(duration_us: int) -> str:
    """A time as text."""
    return f"{duration_us / 1000:,.3f} ms"


def _bar(stage: Stage, whole_us: int) -> str:
    start = min(BAR_WIDTH - 1, stage.start_us * BAR_WIDTH // whole_us)
    length = max(1, round(stage.duration_us * BAR_WIDTH / whole_us)) if stage.duration_us else 0
    return f"{' ' * start}{'█' * min(length, BAR_WIDTH - start) or '▏'}"
