from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.transaction_requests import NewFencedError, responded
from broker_sim.control.events import TransactionRequestRefused
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.pending_writes import PendingWrite
from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.end_txn import EndTxnRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

NAMED = ("t", ProducerIdAndEpoch(7, 3))


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("error", [None, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_a_write_becomes_a_response_at_once_or_later(
    bench: Callable[..., ApiBench], error: ErrorCode | None, *, at_once: bool
) -> None:
    context = bench().context(EndTxnRequest(), 3)
    write = PendingWrite()
    write.response = "written"
    failure = None if error is None else CoordinatorError(error)
    if at_once:
        write.complete(failure)
    result: Any = responded(write, NAMED, context, str, lambda error_code: error_code.name)
    if not at_once:
        late: list[Any] = []
        result.addCallback(late.append)
        assert late == []
        write.complete(failure)
        [result] = late
    assert result == ("written" if error is None else "NOT_COORDINATOR")
    refused = [event for event in context.broker.journal.events if isinstance(event, TransactionRequestRefused)]
    expected = [] if error is None else [("t", 7, 3, "EndTxn", "NOT_COORDINATOR")]
    assert [(e.transactional_id, e.producer_id, e.producer_epoch, e.api, e.error) for e in refused] == expected


def test_older_clients_know_a_fenced_producer_by_its_epoch(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    errors = [
        NewFencedError(since=2).of(ErrorCode.PRODUCER_FENCED, api.context(EndTxnRequest(), version))
        for version in (1, 2)
    ]
    assert errors == [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED]
