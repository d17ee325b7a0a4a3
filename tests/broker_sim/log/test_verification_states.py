"""Verifications of transactions in a log (KIP-890)."""

from __future__ import annotations

from typing import Any

import pytest

from broker_sim.log.append_results import AppendOrigin, RecordsRefused
from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.log.transactional_log import NOW_MS, TransactionalLog

DAY_MS = 24 * 60 * 60 * 1000
UNVERIFIED = ErrorCode.INVALID_TXN_STATE
SEQUENCE = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
OLD_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH
LATEST = "4.3"


def verified_log(release: str = LATEST) -> TransactionalLog:
    return TransactionalLog(release=release, unverified=False)


@pytest.mark.parametrize("release", ["3.6", "3.7", "4.0", "4.3"])
def test_a_transaction_begins_with_the_guard_of_its_verification(release: str) -> None:
    log = verified_log(release)
    assert log.refusal(0) is UNVERIFIED
    guard = log.verify(0)
    assert guard is not None
    assert log.verify(0) is guard
    assert log.refusal(0) is UNVERIFIED
    assert log.refusal(0, guard=object()) is UNVERIFIED
    log.append(0, guard=guard)
    assert log.verify(1) is None, "the transaction is open"
    log.append(1)
    log.end()
    assert log.refusal(2, guard=guard) is UNVERIFIED, "the guard of an earlier transaction"


@pytest.mark.parametrize("release", ["0.11", "2.8", "3.5"])
def test_before_3_6_nothing_is_verified(release: str) -> None:
    verified_log(release).append(0)


def test_a_disabled_verification_needs_no_guard() -> None:
    TransactionalLog().append(0)


@pytest.mark.parametrize(("release", "verified"), [("3.6", False), ("3.7", True), ("4.3", True)])
def test_since_3_7_group_coordinators_are_verified_too(release: str, verified: bool) -> None:
    log = verified_log(release)
    options: dict[str, Any] = {"origin": AppendOrigin.COORDINATOR}
    if verified:
        assert log.refusal(-1, **options) is UNVERIFIED
        options["guard"] = log.verify(-1)
    log.append(-1, **options)


def test_a_marker_removes_the_guard_so_that_a_late_batch_opens_nothing() -> None:
    log = verified_log()
    guard = log.verify(0)
    log.end()
    assert log.refusal(0, guard=guard) is UNVERIFIED
    assert log.verify(0) is not guard


@pytest.mark.parametrize(
    ("release", "version", "stays"), [("4.0", 2, False), ("4.1", 2, True), ("4.3", 2, True), ("4.3", 1, False)]
)
def test_the_marker_before_a_transaction_of_version_2_leaves_its_guard(release: str, version: int, stays: bool) -> None:
    log = verified_log(release)
    log.append(0, guard=log.verify(0, version=version))
    guard = log.verify(0, epoch=1, version=version)
    assert guard is not None, "the open transaction has an older epoch"
    log.end(epoch=1, transaction_version=version)
    if stays:
        log.append(0, epoch=1, guard=guard)
    else:
        assert log.refusal(0, epoch=1, guard=guard) is UNVERIFIED


def test_before_4_0_the_open_transaction_of_another_epoch_counts() -> None:
    log = verified_log("3.9")
    log.append(0, guard=log.verify(0))
    assert log.verify(0, epoch=1) is None


@pytest.mark.parametrize(("release", "checked"), [("4.0", False), ("4.1", True), ("4.3", True)])
def test_since_4_1_an_old_epoch_fails_before_its_verification(release: str, checked: bool) -> None:
    log = verified_log(release)
    log.end(epoch=3)
    if checked:
        with pytest.raises(RecordsRefused) as refused:
            log.verify(0, epoch=2)
        assert refused.value.error_code is OLD_EPOCH
        assert log.refusal(0, epoch=2, guard=object()) is OLD_EPOCH
    else:
        assert log.refusal(0, epoch=2) is UNVERIFIED
        assert log.refusal(0, epoch=2, guard=log.verify(0, epoch=2)) is OLD_EPOCH


def test_no_batch_overtakes_a_lower_sequence_whose_verification_is_retried() -> None:
    log = verified_log()
    guard = log.verify(5)
    assert log.verify(3) is guard
    assert log.refusal(5, guard=guard) is SEQUENCE
    log.append(3, count=2, guard=guard)
    log.append(5)


def test_a_newer_epoch_begins_with_its_own_sequence() -> None:
    log = verified_log()
    guard = log.verify(0)
    log.verify(4, epoch=1)
    log.verify(2, epoch=0)
    assert log.refusal(5, epoch=1, guard=guard) is SEQUENCE
    log.append(4, epoch=1, guard=guard)


@pytest.mark.parametrize(("release", "version", "refused"), [("4.3", 2, True), ("4.3", 1, False), ("4.0", 2, False)])
def test_with_version_2_a_producer_without_state_starts_at_0(release: str, version: int, refused: bool) -> None:
    log = verified_log(release)
    guard = log.verify(3, version=version)
    if refused:
        assert log.refusal(3, guard=guard) is SEQUENCE
        log.verify(0, version=version)
        log.append(0, guard=guard)
    else:
        log.append(3, guard=guard)


def test_plain_batches_and_retries_need_no_guard() -> None:
    log = verified_log()
    log.append(0, transactional=False)
    log.append(1, guard=log.verify(1))
    log.end()
    assert log.append(1).duplicate


def test_a_verification_without_an_append_expires() -> None:
    log = verified_log()
    guard = log.verify(0)
    log.log.producers.remove_expired(NOW_MS + DAY_MS + 600_000)
    assert log.verify(0) is not guard
