from __future__ import annotations

from broker_sim.coordinators.transactions.producers import ProducerResult
from protocol_specs.error_codes import ErrorCode


def test_a_refused_producer_has_no_id() -> None:
    assert ProducerResult(ErrorCode.PRODUCER_FENCED)[1:] == (-1, -1)
