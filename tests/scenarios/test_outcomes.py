import pytest

from broker_scenarios.history import EventType
from broker_scenarios.outcomes import completion_of
from protocol_specs.error_codes import ErrorCode


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ],
)
def test_a_first_response_that_refuses_before_the_append_is_a_failure(code):
    assert completion_of(code, maybe_written=False, from_broker=True) is EventType.FAIL


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_an_error_that_can_follow_an_append_leaves_the_outcome_unknown(code):
    assert completion_of(code, maybe_written=False, from_broker=True) is EventType.INFO


def test_a_refusal_after_an_attempt_that_was_cut_off_leaves_the_outcome_unknown():
    assert completion_of(ErrorCode.NOT_ENOUGH_REPLICAS, maybe_written=True, from_broker=True) is EventType.INFO


def test_a_record_that_never_left_has_failed():
    assert completion_of(ErrorCode.REQUEST_TIMED_OUT, maybe_written=False, from_broker=False) is EventType.FAIL


def test_a_delivery_timeout_of_a_batch_once_written_proves_nothing():
    assert completion_of(ErrorCode.REQUEST_TIMED_OUT, maybe_written=True, from_broker=False) is EventType.INFO
