"""duplicate: one value at two or more offsets of its partition.

Those are the offsets at which the log holds it, or those that acknowledgements and polls showed; one offset that is
read twice is no duplicate. The cause names the origin: an application that sends a value again itself gets two copies
under any configuration; one send with two copies was a retry (or a broker) that appended twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import Cause, Finding, FindingKind
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.operations import Value

__all__ = ["duplicates"]


def duplicates(analysis: Analysis) -> Iterator[Finding]:
    """Find every value with more than one offset; one finding per value."""
    several: dict[Value, set[int]] = {
        value: set(offsets) for value, offsets in analysis.observed.values_in_several_places().items()
    }
    for value, offsets in analysis.stored.items():
        if len(offsets) > 1:
            several.setdefault(value, set()).update(offsets)
    for value, sends in analysis.sends_of.items():
        if value not in several:
            continue
        places = sorted(several[value])
        finding = analysis.finding(
            FindingKind.DUPLICATE,
            next((send for send in sends if send.acked), sends[0]),
            f"at offsets {', '.join(map(str, places))}; sent by the application {plural(len(sends), 'time')}",
            offset=places[-1],
        )
        reader = analysis.readers.get(value)
        if reader is not None:
            finding.ops = (*finding.ops, reader.name_index)
        finding.cause = Cause.APPLICATION_RESEND if len(sends) >= len(places) else Cause.RETRY
        yield finding
