from __future__ import annotations

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.pending_writes import PendingWrite
from protocol_specs.error_codes import ErrorCode

REFUSED = CoordinatorError(ErrorCode.NOT_COORDINATOR)


def completed(error: CoordinatorError | None = None) -> PendingWrite:
    write = PendingWrite()
    write.response = 7
    write.complete(error)
    return write


def test_a_completed_write_is_responded_to_at_once() -> None:
    assert completed().then(lambda response: response + 1, str) == 8
    assert completed(REFUSED).then(str, lambda error: error.error_code) is ErrorCode.NOT_COORDINATOR


def test_a_write_that_waits_is_responded_to_when_it_completes() -> None:
    write, ended = PendingWrite(), []
    write.response = 7
    write.then(lambda response: response + 1, str).addCallback(ended.append)
    assert ended == []
    write.complete()
    write.complete(REFUSED)
    assert ended == [8]


def test_a_write_that_waits_is_refused_when_it_fails() -> None:
    write, ended = PendingWrite(), []
    write.then(str, lambda error: error.error_code).addCallback(ended.append)
    write.expire()
    assert ended == [ErrorCode.REQUEST_TIMED_OUT]


def test_the_deferred_of_a_completed_write_has_fired() -> None:
    ended: list[object] = []
    completed().deferred.addCallback(ended.append)
    completed(REFUSED).deferred.addErrback(lambda failure: ended.append(failure.value))
    assert ended == [7, REFUSED]


def test_the_state_is_finished_before_the_response() -> None:
    events: list[object] = []
    write = PendingWrite()
    write.on_committed = events.append
    write.then(lambda _: events.append("responded"), str)
    write.complete()
    assert events == [None, "responded"]


def test_the_error_of_a_write_is_reported_at_once_or_when_it_comes() -> None:
    errors: list[CoordinatorError] = []
    waiting = PendingWrite()
    for write in (completed(), completed(REFUSED), waiting):
        write.on_error(errors.append)
    assert errors == [REFUSED]
    waiting.expire()
    assert [error.error_code for error in errors[1:]] == [ErrorCode.REQUEST_TIMED_OUT]
