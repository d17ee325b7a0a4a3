from __future__ import annotations

import pytest

from broker_sim.coordinators.transactions.transaction_errors import log_error
from protocol_specs.error_codes import ErrorCode


@pytest.mark.parametrize(
    ("of_log", "of_client"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
    ],
)
def test_an_error_of_the_log_becomes_one_of_a_coordinator(of_log: ErrorCode, of_client: ErrorCode) -> None:
    assert log_error(of_log) is of_client
