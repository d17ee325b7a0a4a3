"""ListTransactions, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.list_transactions import ListTransactionsRequest
from tests.differential.case import case
from tests.differential.cases.init_producer_id import await_transactions, init
from tests.differential.transaction_requests import list_own, of_every_state

if TYPE_CHECKING:
    from tests.differential.probe import Probe

OWN_CLUSTER: Final = (("transaction.max.timeout.ms", "800001"),)
"""The order depends on the ids of every case of a cluster."""


@case()
def transactions_that_pass_filters(probe: Probe) -> None:
    _, opened, committed, _ = of_every_state(probe)
    newest = 2 if probe.release == "4.3.1" else 0
    for version in range(newest + 1):
        list_own(probe, version, "all")
        for states in (
            ["Ongoing"],
            ["Empty", "CompleteCommit"],
            ["ongoing"],
            ["Ongoing", "nonsense", ""],
            ["nonsense"],
            ["PrepareEpochFence", "Dead", "PrepareCommit", "PrepareAbort"],
        ):
            list_own(probe, version, str(states), state_filters=states)
        # Producer ids differ between clusters: the request is not compared.
        list_own(probe, version, "ids", producer_id_filters=[opened.producer_id, committed.producer_id])
        list_own(probe, version, "ids and states", producer_id_filters=[opened.producer_id], state_filters=["Empty"])
        list_own(probe, version, "unknown ids", producer_id_filters=[-1, 987_654_321])
    for states in (
        ["b", "", "b", ""],
        list("qwertzuiopa"),
        ["x", "Ongoing", "x", *"abcde", "Empty", *"fghij"],
        ["\u00e9", " "],
    ):
        for version in range(newest + 1):
            list_own(probe, version, f"{states}", state_filters=states)
    if newest:
        for duration in (-2, -1, 0, 3_600_000, 10**15):
            list_own(probe, 1, f"{duration} ms", duration_filter=duration)
        for pattern in ("", ".*open", "open", ".*", "(", f"{probe.name}-(open|done)", "[a-"):
            list_own(probe, 2, f"pattern {pattern}", transactional_id_pattern=pattern)


@case(settings=OWN_CLUSTER)
def the_order_of_ids(probe: Probe) -> None:
    await_transactions(probe)
    for number in (*range(20), 7, 3):
        response: Any = probe.quiet(init(f"{probe.name}-id-{number * 7}"), 4)
        assert response.error_code == 0, response

    def own(response: Any) -> Any:
        ids = [each["transactionalId"] for each in response["transactionStates"]]
        return [each for each in ids if each.startswith(f"{probe.name}-id-")]

    probe.exchange(ListTransactionsRequest(state_filters=["Empty"]), 0, only=own)
