"""The failure of an operation on a share partition. Mirrors the exceptions that SharePartition's futures end with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.default_messages import default_message
from broker_sim.errors import BrokerSimError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from twisted.python.failure import Failure

DEFAULT_TEXT: Final = ""

__all__ = ["BrokenAcknowledgement", "ShareError", "invalid_state", "persister_error", "share_error"]


class ShareError(BrokerSimError):
    """An operation fails with `error_code`; `text` is the one of the response, by default that of the error."""

    def __init__(self, error_code: ErrorCode, text: str | None = DEFAULT_TEXT) -> None:
        super().__init__(error_code, text)
        self.error_code = error_code
        self.text = default_message(error_code) if text == DEFAULT_TEXT else text


class BrokenAcknowledgement(BrokerSimError):
    """Kafka fails with an exception that it does not expect: the whole request ends with UNKNOWN_SERVER_ERROR."""


def invalid_state(message: str) -> ShareError:
    """Return the error for records that are not in the state that an acknowledgement needs."""
    return ShareError(ErrorCode.INVALID_RECORD_STATE, message)


_OF_PERSISTER = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}


def persister_error(error_code: int, message: str | None) -> ShareError:
    """Return the error of an operation whose state a share coordinator has refused. Mirrors fetchPersisterError."""
    mapped = _OF_PERSISTER.get(ErrorCode(error_code), ErrorCode.UNKNOWN_SERVER_ERROR)
    return ShareError(mapped, message or DEFAULT_TEXT)


def share_error(failure: Failure) -> ShareError:
    """Return the ShareError of a failure; any other failure propagates."""
    failure.trap(ShareError)
    error = failure.value
    assert isinstance(error, ShareError)
    return error
