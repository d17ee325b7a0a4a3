"""AddOffsetsToTxn, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.case import case
from tests.differential.group_requests import NO_DELAY, group_of
from tests.differential.transaction_requests import Transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case(settings=NO_DELAY)
def groups_that_are_added_by_wrong_producers(probe: Probe) -> None:
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    for version in range(4):
        for fields in (
            {},
            {"transactional_id": ""},
            {"transactional_id": f"{transactions.id}-none"},
            {"producer_id": 1_000_000},
            {"producer_epoch": transactions.epoch + 1},
            {"producer_epoch": -1},
            {"group_id": ""},
        ):
            probe.exchange(transactions.add_offsets(group, **fields), version, note=str(list(fields)))
    transactions.ended(commit=True)
