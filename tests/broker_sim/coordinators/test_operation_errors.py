"""The errors of clients for the errors of logs."""

import pytest
from twisted.internet.defer import fail

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.operation_errors import client_error, refused
from protocol_specs.error_codes import ErrorCode


@pytest.mark.parametrize(
    ("of_the_log", "of_the_client"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_errors_of_logs_become_those_of_coordinators(of_the_log, of_the_client):
    assert client_error(of_the_log) is of_the_client


def test_a_refused_operation_becomes_a_response():
    got = []
    deferred = fail(CoordinatorError(ErrorCode.NOT_ENOUGH_REPLICAS, "too few"))
    deferred.addErrback(refused(lambda code, message: (code, message))).addCallback(got.append)
    assert got == [(ErrorCode.COORDINATOR_NOT_AVAILABLE, "too few")]
