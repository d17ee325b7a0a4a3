"""DescribeTransactions, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.case import case
from tests.differential.transaction_requests import describe, of_every_state

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case()
def transactions_of_every_state(probe: Probe) -> None:
    found = of_every_state(probe)
    for each in found:
        each.describe()
    ids = [each.id for each in found]
    probe.exchange(describe(*ids, f"{probe.name}-none", "", ids[0]), 0, note="all")
    probe.exchange(describe(), 0, note="none")
