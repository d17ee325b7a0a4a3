"""The errors that the clients of a coordinator get for its log's errors. Mirrors handleOperationException."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.python.failure import Failure

__all__ = ["client_error", "refusal", "refused"]

T = TypeVar("T")

_OF_LOGS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


def client_error(error_code: ErrorCode) -> ErrorCode:
    """Return the error of a response for an operation that failed with `error_code`."""
    return _OF_LOGS.get(error_code, error_code)


def refusal(response_of: Callable[[ErrorCode, str | None], T]) -> Callable[[CoordinatorError], T]:
    """Return a function that makes the response of a refused operation from its error and message."""
    return lambda error: response_of(client_error(error.error_code), error.message)


def refused(response_of: Callable[[ErrorCode, str | None], T]) -> Callable[[Failure], T]:
    """Return `refusal` as an errback."""

    def respond(failure: Failure) -> T:
        failure.trap(CoordinatorError)
        error = failure.value
        assert isinstance(error, CoordinatorError)
        return refusal(response_of)(error)

    return respond
