"""A history in the Arrow schema as operations of the neutral form. It has the sends of clients alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_scenarios.arrow.history_table import read_history
from broker_scenarios.errors import HistoryError
from broker_scenarios.histories.send_operations import send_operations
from broker_scenarios.history import EventType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from broker_scenarios.operations import Op

__all__ = ["table_operations"]


def table_operations(path: Path) -> Iterator[Op]:
    """Read a Parquet file, a folder of them, or an Arrow file; operations are in the order of their times.

    Raises:
        HistoryError: it cannot be read, or an event has an unknown type.
    """
    events = sorted(read_history(path), key=lambda event: event.time_us)
    for event in events:
        if event.type not in list(EventType):
            known = ", ".join(EventType)
            raise HistoryError(f"{path}: 'type': expected one of {known}, not {event.type!r}")
    begin_us = events[0].time_us if events else 0
    for index, (_, op) in enumerate(send_operations(events, begin_us)):
        yield replace(op, index=index)
