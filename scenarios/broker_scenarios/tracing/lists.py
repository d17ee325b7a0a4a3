"""Requests and batches that can be traced, as tables: the command line takes the first column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.commands.text_columns import columns
from broker_scenarios.tracing.timeline_text import milliseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_scenarios.tracing.batch_lives import BatchLife
    from broker_scenarios.tracing.request_trace import TracedRequest

__all__ = ["batch_list", "request_list"]


def request_list(requests: Sequence[TracedRequest], start_us: int) -> list[str]:
    """Requests as a table: the first column is what --request takes, times count from `start_us`."""
    rows = [("request", "at", "broker", "api", "version", "client", "took")]
    rows += [
        (
            str(number),
            _seconds(request.time_us - start_us),
            str(request.broker_id),
            request.api,
            str(request.api_version),
            request.client_id or "-",
            "no response" if response is None else milliseconds(response.total_us),
        )
        for number, request, response in requests
    ]
    return columns(rows)


def batch_list(lives: Sequence[BatchLife], start_us: int) -> list[str]:
    """Batches as a table: the first column is what --batch takes, times count from `start_us`."""
    rows = [("batch", "at", "partition", "records", "sent", "offset", "took", "outcome")]
    rows += [
        (
            life.name,
            _seconds(life.start_us - start_us),
            life.key,
            str(life.records),
            str(life.attempts),
            "-" if life.base_offset < 0 else str(life.base_offset),
            "-" if life.took_us < 0 else milliseconds(life.took_us),
            life.outcome,
        )
        for life in lives
    ]
    return columns(rows)


def _seconds(time_us: int) -> str:
    return f"{time_us / 1e6:.6f} s"
