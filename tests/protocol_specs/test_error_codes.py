from __future__ import annotations

import pickle

import pytest

from protocol_specs.error_codes import EARLIER_NAMES, ErrorCode, ErrorFamily, error_named


def test_every_code_from_minus_one_to_133_has_one_name() -> None:
    assert [int(code) for code in ErrorCode] == list(range(-1, 134))
    assert len({code.name for code in ErrorCode}) == 135


def test_numbers_that_every_client_knows() -> None:
    assert ErrorCode.NONE == 0
    assert ErrorCode.CORRUPT_MESSAGE == 2
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER == 6
    assert ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER == 45
    assert ErrorCode.INVALID_PRODUCER_EPOCH == 47
    assert ErrorCode.FENCED_LEADER_EPOCH == 74
    assert ErrorCode.INVALID_RECORD == 87
    assert ErrorCode.PRODUCER_FENCED == 90
    assert ErrorCode.TRANSACTION_ABORTABLE == 120


def test_retriable_follows_from_the_family() -> None:
    assert ErrorCode.REQUEST_TIMED_OUT.retriable
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert ErrorCode.NOT_COORDINATOR.retriable
    assert not ErrorCode.NONE.retriable
    assert not ErrorCode.MESSAGE_TOO_LARGE.retriable
    assert sum(code.retriable for code in ErrorCode) == 32


def test_stale_metadata_differs_from_other_lookups() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.invalid_metadata
    assert ErrorCode.NOT_COORDINATOR.refreshes
    assert not ErrorCode.NOT_COORDINATOR.invalid_metadata
    assert not ErrorCode.REQUEST_TIMED_OUT.refreshes
    assert ErrorCode.INVALID_PRODUCER_EPOCH.family is ErrorFamily.APPLICATION_RECOVERABLE


def test_an_unknown_code_of_a_peer_is_an_unknown_server_error() -> None:
    assert ErrorCode.for_code(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ErrorCode.for_code(31_000) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_java_names_are_kept() -> None:
    assert ErrorCode.CORRUPT_MESSAGE.exception == "CorruptRecordException"
    assert ErrorCode.NONE.exception == ""


def test_earlier_names_are_understood_and_wrong_names_are_corrected() -> None:
    assert error_named("NOT_LEADER_FOR_PARTITION") is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert error_named("NONE") is ErrorCode.NONE
    assert len(EARLIER_NAMES) == 5
    with pytest.raises(ValueError, match="did you mean NOT_ENOUGH_REPLICAS"):
        error_named("not_enough_replica")
    with pytest.raises(ValueError, match="no Kafka error is named 'x'"):
        error_named("x")


def test_codes_pickle_as_themselves() -> None:
    assert pickle.loads(pickle.dumps(ErrorCode.NOT_COORDINATOR)) is ErrorCode.NOT_COORDINATOR
