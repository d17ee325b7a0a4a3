"""The cases of Jepsen's tests of its Kafka checker, as histories of the neutral form, with the findings there."""

from __future__ import annotations

import pytest

from broker_scenarios.history import EventType
from broker_scenarios.operations import Function, Send
from broker_scenarios.verdict import Validity
from tests.scenarios.checks.neutral_histories import Book, X, Y, broken, counts, found


def test_a_send_of_unknown_outcome_conflicts_only_when_a_read_proves_it() -> None:
    book = Book().send(0, (X, 1, 0), (Y, 1), end="info").send(1, (X, 2, 0))
    assert "inconsistent-offsets" not in counts(book.judge())
    verdict = book.poll(2, {Y: [(5, 1)]}).judge()
    assert found(verdict)["inconsistent-offsets"] == [1, 2]
    assert verdict.validity is Validity.BROKEN


def test_two_acknowledged_values_at_one_offset_conflict() -> None:
    verdict = Book().send(379, (X, 641, 537)).send(363, (X, 645, 537)).judge()
    assert found(verdict)["inconsistent-offsets"] == [641, 645]


def test_an_ok_poll_of_a_failed_write_is_an_aborted_read() -> None:
    book = Book().send(0, (X, 2), (Y, 3), end="fail").poll(1, {X: [(0, 2)]})
    assert found(book.judge())["G1a"] == [2]
    assert broken(book.judge()) == {"G1a"}


def test_what_stands_before_a_read_record_has_to_be_read() -> None:
    book = Book().send(0, (X, "a", 0)).send(0, (X, "b", 1), (X, "d", 3)).send(1, (X, "c"), end="info")
    assert found(book.poll(2, {X: [(2, "c")]}).judge())["lost-write"] == ["a", "b"]


def test_a_value_whose_offset_another_took_is_lost() -> None:
    book = Book().send(0, (X, "a", 0)).send(0, (X, "b", 0), (X, "c", 2)).poll(1, {X: [(0, "b"), (2, "c")]})
    assert found(book.judge())["lost-write"] == ["a"]


def test_a_read_of_one_write_commits_the_others_of_its_operation() -> None:
    book = Book().send(0, (X, "a"), (Y, "b", 0), end="info").send(1, (Y, "c"), end="info")
    without = Book()
    without.ops = list(book.ops)
    assert "lost-write" not in counts(without.poll(3, {Y: [(1, "c")]}).judge())
    verdict = book.poll(2, {X: [(0, "a")]}).poll(3, {Y: [(1, "c")]}).judge()
    assert found(verdict)["lost-write"] == ["b"]


def skipping(*between_first: str, topics: bool = False, second: tuple[str, ...] = ()) -> Book:
    book = Book().poll(0, {X: [(1, "a"), (2, "b")]}).poll(1, {X: [(3, "c")]})
    if between_first:
        book.subscribe(0, *(key[0] for key in between_first)) if topics else book.assign(0, *between_first)
    book.poll(0, {X: [(4, "d")]})
    if second:
        book.assign(0, *second, end="info")
    book.send(2, (X, "f", 6)).poll(0, {X: [(7, "g")]})
    return book.send(3, (X, "a"), (X, "b"), (X, "c"), (X, "d"), (X, "g"), end="info")


def test_a_process_that_passes_known_records_skips_them() -> None:
    assert [each.values for each in skipping().judge().found("poll-skip")] == [("c",), ("f",)]
    assert [each.values for each in skipping(X, Y, second=(X, Y)).judge().found("poll-skip")] == [("c",), ("f",)]


@pytest.mark.parametrize("topics", [True, False])
def test_a_partition_that_was_given_up_may_be_resumed_anywhere(topics: bool) -> None:
    assert skipping(Y, topics=topics, second=(Y,)).judge().found("poll-skip") == []


def test_a_subscribed_process_skips_with_permission() -> None:
    verdict = skipping(X, topics=True).judge()
    assert (counts(verdict)["poll-skip"], broken(verdict)) == (2, {"lost-write"})


def six(book: Book | None = None) -> Book:
    return (book or Book()).send(0, *((X, n, n) for n in range(6))).txn(1, {X: [(0, 0)]})


def test_aborted_transactions_that_rewind_are_right() -> None:
    book = Book().send(0, *((X, n, n) for n in range(3))).txn(1, {X: [(0, 0)]})
    for end in ("fail", "info", "ok"):
        book.txn(1, {X: [(1, 1), (2, 2)]}, end=end)
    verdict = book.judge()
    assert broken(verdict) == set()
    assert found(verdict) == {"abort-class": ["rewound", "rewound"]}


def test_an_abort_that_does_not_rewind_skips() -> None:
    book = six().txn(1, {X: [(1, 1), (2, 2)]}, end="fail").txn(1, {X: [(3, 3), (4, 4)]}, end="fail")
    verdict = book.txn(1, {X: [(5, 5)]}).judge()
    assert [each.values for each in verdict.found("poll-skip")] == [(1, 2), (1, 2, 3, 4)]
    assert found(verdict)["abort-class"] == ["unchanged", "unchanged"]


def test_an_operation_of_unknown_outcome_can_skip() -> None:
    book = six().txn(1, {X: [(1, 1), (2, 2)]}, end="fail").txn(1, {X: [(3, 3), (4, 4)]}, end="info")
    assert [each.values for each in book.judge().found("poll-skip")] == [(1, 2)]


def going_back(*keys: str, topics: bool = False) -> Book:
    book = Book().send(0, *((X, value) for value in "abcd")).poll(0, {X: [(1, "a"), (2, "b"), (3, "c")]})
    if keys:
        book.subscribe(0, *(key[0] for key in keys)) if topics else book.assign(0, *keys)
    return book.poll(0, {X: [(2, "b"), (3, "c"), (4, "d")]})


def test_a_process_that_reads_a_record_again_is_nonmonotonic() -> None:
    for book in (going_back(), going_back(X, Y)):
        verdict = book.judge()
        assert counts(verdict) == {"nonmonotonic-poll": 1}
        assert broken(verdict) == {"nonmonotonic-poll"}
    verdict = going_back(X, Y, topics=True).judge()
    assert (counts(verdict), broken(verdict)) == ({"nonmonotonic-poll": 1}, set())


@pytest.mark.parametrize("topics", [True, False])
def test_after_another_assignment_it_may_begin_again(topics: bool) -> None:
    assert counts(going_back(Y, topics=topics).judge()) == {}


def test_a_later_send_at_a_lower_offset_is_nonmonotonic() -> None:
    book = Book().send(0, (X, "c", 3), (X, "d", 4)).send(0, (X, "a", 1), (X, "b", 2))
    assert counts(book.judge()) == {"nonmonotonic-send": 1, "G0-process": 1}
    # Jepsen forgets the sends of partitions that an assign leaves out; for a producer that makes no difference.
    assert book.judge().validity is Validity.BROKEN


def test_one_operation_skips_within_a_poll_and_between_polls() -> None:
    book = Book().send(1, (X, "a"), (X, "b"), (X, "d"), end="info").poll(0, {X: [(1, "a"), (4, "d")]})
    book.poll(3, {X: [(1, "a")]}, {X: [(4, "d")]}).poll(4, {X: [(2, "b")]})
    verdict = book.judge()
    assert [each.values for each in verdict.found("int-poll-skip")] == [("b",), ("b",)]


def test_records_of_others_between_two_of_one_operation_are_legal() -> None:
    book = Book().send(0, (X, "a", 1), (X, "c")).send(1, (X, "b"), end="info").poll(2, {X: [(2, "b"), (3, "c")]})
    verdict = book.poll(3, {X: [(1, "a")]}).judge()
    assert found(verdict)["int-send-skip"] == ["b"]
    assert broken(verdict) == set()


def test_one_operation_that_reads_backwards_is_nonmonotonic() -> None:
    book = Book().send(0, (X, "a"), (X, "b"), (X, "c"), end="info").poll(1, {X: [(3, "c"), (1, "a")]})
    book.poll(2, {X: [(2, "b"), (3, "c")]}, {X: [(3, "c")]})
    assert counts(book.judge())["int-nonmonotonic-poll"] == 2


def test_one_operation_whose_records_are_stored_backwards_is_nonmonotonic() -> None:
    book = (
        Book().send(0, (X, "c", 3), (X, "a", 1)).send(2, (Y, "d"), (Y, "b"), end="info").send(3, (Y, "c"), end="info")
    )
    verdict = book.poll(4, {Y: [(2, "b"), (3, "c"), (4, "d")]}).judge()
    assert counts(verdict)["int-nonmonotonic-send"] == 2


def test_a_value_at_two_offsets_is_a_duplicate() -> None:
    book = Book().send(0, (X, "a", 1)).send(1, (X, "b"), end="info").poll(2, {X: [(2, "b"), (3, "a")]})
    assert found(book.judge())["duplicate"] == ["a"]


def test_every_value_of_a_crowded_offset_is_found() -> None:
    book = Book()
    for value in range(10):
        book.send(0, (X, value, 0)).poll(1, {X: [(1, value)]})
    verdict = book.judge()
    assert sorted(verdict.values("duplicate")) == list(range(10))
    assert [sorted(each.values) for each in verdict.found("inconsistent-offsets")] == [list(range(10))] * 2


def test_aborted_polls_count_for_duplicates_and_failed_writes_do_not() -> None:
    book = Book().send(0, (X, 0, 1)).send(0, (X, 1, 2), end="fail").poll(1, {X: [(11, 0), (12, 1)]}, end="fail")
    assert found(book.judge())["duplicate"] == [0]


def test_what_final_polls_do_not_return_is_unseen() -> None:
    book = Book().poll(0, {}).send(0, (X, "a", 0), (X, "b", 1)).poll(0, {X: [(0, "a")]})
    assert book.judge().validity is Validity.UNKNOWN
    assert found(book.finally_poll(1, {X: [(0, "a")]}).judge()) == {"unseen": ["b"]}
    assert found(book.finally_poll(2, {X: [(0, "a"), (1, "b")]}).judge()) == {}


def test_writes_in_opposite_orders_are_a_cycle_of_writes() -> None:
    book = Book()
    for process, value in ((0, "a"), (1, "b")):
        book.line(process, EventType.INVOKE, Function.SEND, Send(X, value), Send(Y, value))
    book.line(0, EventType.OK, Function.SEND, Send(X, "a", 0), Send(Y, "a", 1))
    book.line(1, EventType.OK, Function.SEND, Send(X, "b", 1), Send(Y, "b", 0))
    verdict = book.judge()
    assert (counts(verdict)["G0"], broken(verdict)) == (1, set())


def test_transactions_that_read_each_other_are_a_cycle() -> None:
    first, second = ((X, "a", 0), {Y: [(0, "b")]}), ((Y, "b", 0), {X: [(0, "a")]})
    book = Book().begin(0, (X, "a"), {}).begin(1, (Y, "b"), {}).end(0, *first).end(1, *second)
    verdict = book.judge()
    assert (counts(verdict), broken(verdict)) == ({"G1c": 1}, {"G1c"})


def test_a_cycle_that_needs_the_order_of_writes_is_legal() -> None:
    book = Book().begin(0, (X, "a"), (Y, "c")).begin(1, {}, (Y, "b"))
    book.end(0, (X, "a", 0), (Y, "c", 2)).end(1, {X: [(0, "a")]}, (Y, "b", 1))
    verdict = book.judge()
    assert (counts(verdict)["G1c"], broken(verdict)) == (1, set())


def test_a_transaction_that_polls_its_own_write_reads_too_early() -> None:
    verdict = Book().txn(0, (X, "a", 0), {X: [(0, "a")]}).judge()
    assert (found(verdict), broken(verdict)) == ({"precommitted-read": ["a"]}, {"precommitted-read"})


def lagging() -> Book:
    """Jepsen's history of lags, in which each line has the time of its number."""
    book = Book()
    book.now_ms = -1
    book.assign(0, X).poll(0, {X: []}).send(0, (X, "a", 0)).poll(0, {X: []}).send(1, (X, "c", 2), (X, "d", 3))
    book.poll(0, {}).poll(0, {X: [(0, "a"), (1, "b")]}).assign(0, X, Y).poll(0, {}).assign(0, Y).assign(0, X)
    book.poll(0, {}).poll(0, {X: [(0, "a"), (1, "b")]}, {X: [(2, "c"), (3, "d")]})
    return book.send(1, (X, "b"), end="info")


@pytest.mark.parametrize(
    ("limit_ms", "count"), [(0, 5), (1, 4), (2, 4), (3, 3), (4, 3), (5, 2), (6, 2), (7, 1), (17, 0)]
)
def test_the_lags_are_those_of_jepsen(limit_ms: int, count: int) -> None:
    # Lags of 0, 1, 5, 3, 7 and 0, 17, 0 ms.
    assert counts(lagging().judge(max_realtime_lag_ms=limit_ms)).get("realtime-lag", 0) == count
