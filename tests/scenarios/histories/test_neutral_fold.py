"""The rules of the neutral form that concern several lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios import check_history
from broker_scenarios.errors import HistoryError
from broker_scenarios.histories.neutral_fold import NeutralFold
from broker_scenarios.history import EventType
from broker_scenarios.operations import Assign, Commit, Function, Poll, Seek, Send, Subscribe
from tests.scenarios.checks.neutral_histories import PROMISES, Book, X, Y, counts, found, offsets

if TYPE_CHECKING:
    from collections.abc import Callable

INVOKE, OK = EventType.INVOKE, EventType.OK


def two_polls(book: Book) -> None:
    book.line(0, INVOKE, Function.POLL, Poll()).line(0, INVOKE, Function.POLL, Poll())


def poll_during_a_send(book: Book) -> None:
    book.send(0, (X, 1), end=None).line(0, INVOKE, Function.POLL, Poll())


def send_during_a_transaction(book: Book) -> None:
    book.begin(0, (X, 1)).send(0, (X, 2), end=None)


def commit_by_hand_during_a_poll(book: Book) -> None:
    book.line(0, INVOKE, Function.POLL, Poll()).line(0, INVOKE, Function.COMMIT, Commit({X: 1}))


def completion_without_invocation(book: Book) -> None:
    book.line(0, OK, Function.POLL, Poll({}))


def completion_of_another_function(book: Book) -> None:
    book.send(0, (X, 1), end=None).line(0, OK, Function.POLL, Poll({}))


def completion_of_other_values(book: Book) -> None:
    book.send(0, (X, 1), end=None).line(0, OK, Function.SEND, Send(X, 2, 0))


def completion_of_another_process(book: Book) -> None:
    book.send(0, (X, 1), end=None).line(1, OK, Function.SEND, Send(X, 1, 0))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (two_polls, "i=1: 'f': process 0 invokes poll while its poll of i=0 is open"),
        (poll_during_a_send, "i=1: 'f': process 0 invokes poll while its send of i=0 is open"),
        (send_during_a_transaction, "i=1: 'f': process 0 invokes send while its txn of i=0 is open"),
        (commit_by_hand_during_a_poll, "i=1: 'f': process 0 invokes commit while its poll of i=0 is open"),
        (completion_without_invocation, "i=0: 'type': process 0 has no open poll to complete"),
        (completion_of_another_function, "i=1: 'type': process 0 has no open poll to complete"),
        (
            completion_of_other_values,
            "i=1: 'type': process 0 has no open send to complete with 2 to x-0: that of i=0 is of 1 to x-0",
        ),
        (completion_of_another_process, "i=1: 'type': process 1 has no open send to complete"),
    ],
)
def test_operations_that_do_not_fit_are_refused(write: Callable[[Book], None], message: str) -> None:
    book = Book()
    write(book)
    with pytest.raises(HistoryError) as raised:
        book.judge()
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "write",
    [
        lambda book: book.send(0, ("z-0", 1)),
        lambda book: book.send(0, ("x-1", 1)),
        lambda book: book.poll(0, {"z-0": []}),
        lambda book: book.poll(0, {}, assigned=("z-0",)),
        lambda book: book.call(0, Function.ASSIGN, Assign(("z-0",))),
        lambda book: book.call(0, Function.ASSIGN, Assign((X,)), Seek({"z-0": 1})),
        lambda book: book.call(0, Function.SUBSCRIBE, Subscribe(("z",))),
        lambda book: book.commit(0, {"z-0": 1}),
    ],
)
def test_a_partition_that_was_not_promised_is_refused(write: Callable[[Book], None]) -> None:
    book = Book()
    write(book)
    with pytest.raises(HistoryError, match=r"is not among the promised topics: x"):
        book.judge()
    check_history(book.ops, {name: value for name, value in PROMISES.items() if name != "topics"})


def test_flush_close_and_crash_may_begin_while_sends_are_open() -> None:
    book = Book().send(0, (X, 1), end=None).send(0, (X, 2), end=None).flush(0).close(0).crash(0)
    book.line(0, OK, Function.SEND, Send(X, 2, 0)).line(0, OK, Function.SEND, Send(X, 1, 1))
    assert found(book.finally_poll(1, {X: [(0, 2), (1, 1)]}).judge(enable_idempotence=False)) == {
        "nonmonotonic-send": []
    }


def test_the_client_may_commit_during_a_poll() -> None:
    book = (
        Book().line(0, INVOKE, Function.POLL, Poll()).commit(0, {X: 1}, auto=True).line(0, OK, Function.POLL, Poll({}))
    )
    assert counts(book.judge()) == {}


def test_a_second_completion_is_a_finding_and_no_malformed_line() -> None:
    book = Book().send(0, (X, 1, 0)).send(0, (X, 2, 1)).line(0, EventType.FAIL, Function.SEND, Send(X, 1))
    verdict = book.finally_poll(1, {X: [(0, 1), (1, 2)]}).judge()
    assert found(verdict) == {"double-completion": [1]}


def test_a_process_may_go_on_after_an_unknown_outcome() -> None:
    book = Book().send(0, (X, 1), end="info").send(0, (Y, 2, 0)).finally_poll(1, {X: [], Y: [(0, 2)]})
    assert counts(book.judge()) == {}


def test_both_lines_of_an_operation_may_have_its_details() -> None:
    final = {"final": True, "assigned": (X,)}
    for invoked, completed in ((final, {}), ({}, final), (final, final)):
        book = Book().send(0, (X, 1, 0)).line(1, INVOKE, Function.POLL, Poll(), **invoked)
        assert found(book.line(1, OK, Function.POLL, Poll({}), **completed).judge()) == {"unseen": [1]}
    book = Book().send(0, (X, 1, 0)).poll(1, {X: [(0, 1)]}).line(1, INVOKE, Function.ASSIGN, Assign((X,)), Seek({X: 0}))
    book.line(1, OK, Function.ASSIGN).poll(1, {X: [(0, 1)]})
    assert counts(book.judge()) == {}
    book = Book().send(0, (X, 1, 0)).poll(1, {X: [(0, 1)]}).line(1, INVOKE, Function.COMMIT, Commit({X: 1}), auto=True)
    assert found(book.line(1, OK, Function.COMMIT).judge()) == {"auto-commit": [1]}


def test_a_completion_without_its_sends_is_that_of_the_open_send() -> None:
    book = Book().send(0, (X, 1), end=None).line(0, EventType.INFO, Function.SEND)
    assert found(book.finally_poll(1, {X: [(0, 1)]}).judge()) == {"recovered": [1]}


def folded(book: Book, *, one_at_a_time: bool = True) -> NeutralFold:
    fold = NeutralFold(one_at_a_time=one_at_a_time)
    for op in book.ops:
        fold.add(op, "here")
    return fold


def test_a_completion_is_that_of_the_open_send_before_a_late_one() -> None:
    book = Book().send(0, (X, 1), end=None).flush(0).send(0, (X, 1), end=None).line(0, OK, Function.SEND, Send(X, 1, 5))
    first, _, second = folded(book).calls
    assert (first.type, first.overdue, second.type) == (INVOKE, True, OK)


def test_a_record_that_is_sent_twice_has_two_completions() -> None:
    book = Book().send(0, (X, 1), end=None).send(0, (X, 1), end=None)
    book.line(0, OK, Function.SEND, Send(X, 1, 0)).line(0, EventType.INFO, Function.SEND, Send(X, 1))
    first, second = folded(book).calls
    assert (first.type, second.type) == (OK, EventType.INFO)
    assert [send.completions for call in (first, second) for send in call.sends] == [(OK,), (EventType.INFO,)]


def test_the_calls_of_an_asynchronous_client_overlap() -> None:
    book = Book().line(0, INVOKE, Function.POLL, Poll()).line(0, INVOKE, Function.POLL, Poll())
    assert len(folded(book, one_at_a_time=False).calls) == 2


def test_the_details_of_a_completion_are_joined_with_those_of_its_invocation() -> None:
    known = {"rebalanced": (Y,), "offsets": offsets(1, 2), "assigned": (X,), "auto": True, "final": True}
    for invoked, completed in (({"assigned": (X,)}, known), (known, {"assigned": (X,)})):
        book = (
            Book().line(0, INVOKE, Function.POLL, Poll(), **invoked).line(0, OK, Function.POLL, Poll({}), **completed)
        )
        [call] = folded(book).calls
        assert call.details is not None
        assert {name: getattr(call.details, name) for name in known} == known


def test_the_records_of_a_transaction_are_known_by_partition_and_value() -> None:
    book = Book().begin(0, (Y, 1), (X, 1), (X, 2)).end(0, (X, 2, 7), (X, 1, 0), (Y, 1, 5))
    [call] = folded(book).calls
    assert [(send.key, send.value_id, send.ack_offset) for send in call.sends] == [(Y, 1, 5), (X, 1, 0), (X, 2, 7)]
