"""Histories at the edges of the checks: one more or one less than the smallest history of an anomaly."""

from __future__ import annotations

from typing import Any

from broker_scenarios.checks.calls import Send
from broker_scenarios.checks.per_key.key_order import _is_before
from broker_scenarios.checks.per_partition.failed_but_stored import error_of
from broker_scenarios.history import EventType
from tests.scenarios.checks.neutral_histories import Book, X, Y, counts, found, offsets

LAG: dict[str, Any] = {"max_realtime_lag_ms": 1_000}


def ops_of(book: Book, name: str, logs: dict[str, Any] | None = None, /, **promises: Any) -> list[tuple[int, ...]]:
    return [tuple(each.ops) for each in book.judge(logs, **promises).findings if each.name == name]


def detail_of(book: Book, name: str, logs: dict[str, Any] | None = None) -> list[str]:
    return [each.detail for each in book.judge(logs).findings if each.name == name]


def sent(process: int = 0, **fields: Any) -> Send:
    return Send(**{"process": process, "index": 0, "value_id": 1, "invoke_us": 1, **fields})


# Per process


def test_sends_out_of_order_name_each_operation_once() -> None:
    assert ops_of(Book().send(0, (X, 1, 5)).send(0, (X, 2, 0)), "nonmonotonic-send") == [(1, 3)]
    assert ops_of(Book().txn(0, (X, 1, 5), (X, 2, 0)), "int-nonmonotonic-send") == [(1,)]


# Over time


def test_a_hung_transaction_names_the_polls_that_saw_it() -> None:
    book = Book().poll(9, {}, offsets=offsets(1, 3)).wait(30_000).poll(9, {}, offsets=offsets(1, 5))
    assert ops_of(book, "hung-txn") == [(1, 3)]


def liveness(book: Book, **given: Any) -> int:
    return counts(book.judge(**{"liveness.deadline.ms": 100, "topics": {"x": 1}, **given})).get("liveness", 0)


def test_a_history_as_long_as_the_deadline_shows_liveness() -> None:
    book = Book().send(0, (X, 1), end="info").wait(96).flush(0)
    assert (book.ops[0].time_ms, book.ops[-1].time_ms) == (1, 100)
    assert liveness(book) == 0
    assert liveness(Book().send(0, (X, 1), end="info").wait(97).flush(0)) == 1


def test_a_call_that_ends_with_the_last_fault_shows_liveness() -> None:
    book = Book().send(0, (X, 1, 0)).wait(200).flush(0)
    assert liveness(book, faults=[{"kind": "partition", "to_ms": 2}]) == 0
    assert liveness(book, faults=[{"kind": "partition", "to_ms": 3}]) == 1


def test_offsets_that_a_poll_returns_show_liveness() -> None:
    book = Book().send(0, (X, 1), end="info").poll(9, {}, offsets=offsets(0, 0)).wait(200).flush(0)
    assert liveness(book) == 0


def behind(book: Book) -> int:
    return counts(book.judge(**LAG)).get("realtime-lag", 0)


def expired() -> Book:
    """A consumer of x and y, and a record of x that has been known for five seconds."""
    return Book().assign(0, X, Y).send(1, (X, 1, 0)).wait(5_000)


def test_only_polls_that_succeed_lag() -> None:
    assert behind(expired().poll(0, {})) == 1
    assert behind(expired().poll(0, {}, end="info")) == 0
    assert behind(expired().send(0, (Y, 2, 0))) == 0
    assert behind(expired().send(0, (Y, 2), end="info")) == 0


def test_final_polls_do_not_lag() -> None:
    assert behind(expired().poll(0, {}, final=True, assigned=(X,))) == 0


def test_a_send_of_unknown_outcome_makes_no_poll_lag() -> None:
    assert behind(Book().assign(0, X).send(1, (X, 1, 0), end="info").wait(5_000).poll(0, {})) == 0


# Per key


def out_of_order(book: Book, keys: dict[str, str | None]) -> int:
    return counts(book.judge(key_order=True, keys=keys)).get("key-order", 0)


def test_records_without_a_key_have_no_order() -> None:
    book = Book().send(0, (Y, 1, 0)).send(0, (X, 2, 0)).poll(9, {X: [(0, 2)]}).poll(9, {Y: [(0, 1)]})
    assert out_of_order(book, {"1": "a", "2": "a"}) == 1
    assert out_of_order(book, {"3": "a"}) == 0


def test_a_value_that_was_sent_twice_has_no_order() -> None:
    book = Book().send(0, (Y, 1), end="info").send(0, (Y, 1, 0)).send(0, (X, 2, 0))
    assert out_of_order(book.poll(9, {X: [(0, 2)]}).poll(9, {Y: [(0, 1)]}), {"1": "a", "2": "a"}) == 0


def test_a_consumer_forgets_the_order_of_partitions_that_it_gives_up() -> None:
    book = Book().send(0, (Y, 1, 0)).send(0, (X, 2, 0)).poll(9, {X: [(0, 2)]})
    assert out_of_order(book.assign(9, Y).poll(9, {Y: [(0, 1)]}), {"1": "a", "2": "a"}) == 0
    book = Book().send(0, (Y, 1, 0)).send(0, (X, 2, 0)).poll(9, {X: [(0, 2)]})
    assert out_of_order(book.assign(9, X, Y).poll(9, {Y: [(0, 1)]}), {"1": "a", "2": "a"}) == 1


def test_a_send_is_before_another_that_begins_after_its_end() -> None:
    other = sent(1, invoke_us=5)
    assert [_is_before(sent(complete_us=us), other) for us in (-1, 0, 4, 5, 6)] == [False, True, True, False, False]
    assert [_is_before(sent(index=index), sent(index=1)) for index in (0, 1, 2)] == [True, False, False]


# Per partition


def test_a_failure_is_named_by_its_error() -> None:
    assert error_of(sent()) == "never reported"
    failed = (EventType.FAIL,)
    assert error_of(sent(completions=failed, error_code=7)) == "error 7"
    assert error_of(sent(completions=failed, error_code=7, error="REQUEST_TIMED_OUT")) == "REQUEST_TIMED_OUT"


def log(*values: int) -> dict[str, Any]:
    return {X: [[offset, value] for offset, value in enumerate(values)]}


def test_a_ghost_read_names_its_poll() -> None:
    book = Book().send(0, (X, 1, 0)).send(0, (X, 2), end="info").poll(9, {X: [(0, 1), (1, 2)]})
    assert ops_of(book, "ghost-read", log(1)) == [(5,)]


def test_a_conflict_names_the_sends_of_its_offset() -> None:
    book = Book().send(0, (X, 7, 7)).send(0, (X, 1, 0)).send(1, (X, 2, 0))
    assert ops_of(book, "inconsistent-offsets") == [(3, 5)]


def test_a_record_lost_at_the_first_offset_is_named_by_it() -> None:
    book = Book().send(0, (X, 1, 0)).send(0, (X, 2, 1)).poll(9, {X: [(1, 2)]})
    assert detail_of(book, "lost-write") == ["offset 0, missing in the ok polls, which read up to offset 1"]
    book = Book().send(0, (X, 1)).send(0, (X, 1, 0)).send(0, (X, 2, 1))
    assert detail_of(book, "lost-write", {X: [[1, 2]]}) == ["offset 0, missing in the log"]


def test_a_record_unseen_at_the_first_offset_is_named_by_it() -> None:
    book = Book().send(0, (X, 1, 0)).finally_poll(9, {}, X)
    assert detail_of(book, "unseen") == ["offset 0, missing in the final polls"]


def test_a_send_is_overdue_when_its_time_is_over() -> None:
    """The delivery timeout is a second."""
    assert "unresolved" in counts(Book().send(0, (X, 1), end=None).wait(998).flush(9).judge())
    assert "unresolved" not in counts(Book().send(0, (X, 1), end=None).wait(997).flush(9).judge())


# Per process


def test_a_poll_without_a_group_counts_for_the_group_of_its_subscription() -> None:
    book = Book().send(0, (X, 1, 0))
    book.subscribe(1, "x", group="g").subscribe(2, "x", group="g")
    book.poll(1, {X: [(0, 1)]}).poll(2, {X: [(0, 1)]})
    assert found(book.judge(exactly_once=True))["consume-counts"] == [1]


def test_a_poll_with_a_group_counts_for_it() -> None:
    book = Book().send(0, (X, 1, 0)).subscribe(1, "x").subscribe(2, "x")
    book.poll(1, {X: [(0, 1)]}, group="g").poll(2, {X: [(0, 1)]}, group="g")
    assert found(book.judge(exactly_once=True))["consume-counts"] == [1]


# Per transaction


def test_a_write_that_readers_passed_tears_its_transaction() -> None:
    book = Book().txn(0, (X, 1, 0), (X, 2, 1)).send(1, (X, 3, 2)).poll(9, {X: [(0, 1), (2, 3)]})
    assert found(book.judge())["torn-txn"] == [2]


def test_a_consumer_that_began_at_the_offset_of_a_write_has_not_passed_it() -> None:
    def torn(offset: int) -> int:
        book = Book().txn(0, (Y, 1, 0), (X, 2, offset), end="fail").poll(8, {Y: [(0, 1)]}).send(1, (X, 3), end="info")
        return counts(book.poll(9, {X: [(4, 3)]}).poll(9, {}, offsets=offsets(6, 6)).judge()).get("torn-txn", 0)

    assert [torn(offset) for offset in (3, 4, 5, 6)] == [0, 0, 1, 0]


# One partition, process or operation beside another


def test_a_last_stable_offset_that_moves_hangs_nowhere() -> None:
    book = Book().poll(9, {}, offsets=offsets(1, 3)).wait(30_000).poll(9, {}, offsets=offsets(2, 5))
    assert "hung-txn" not in counts(book.judge())


def test_a_hung_transaction_is_found_once_per_partition_and_offset() -> None:
    book = Book()
    for stable in (1, 1, 1, 4, 4):
        for key in (X, Y):
            book.poll(9, {}, offsets=offsets(stable, book.now_ms + 5, key)).wait(30_000)
    assert counts(book.judge())["hung-txn"] == 4


def test_a_lag_counts_from_the_position_of_the_consumer() -> None:
    def lags(seek: dict[str, int | str] | None) -> int:
        book = Book().send(1, (X, 1, 0)).send(1, (X, 2, 1)).wait(5_000)
        return behind(book.assign(0, X, Y, seek=seek).poll(0, {}))

    assert [lags(seek) for seek in (None, {X: 1}, {X: 2}, {X: "beginning"}, {X: "end"})] == [1, 1, 0, 1, 0]


def test_an_assignment_that_fails_or_ends_makes_no_poll_lag() -> None:
    assert behind(Book().assign(0, X, end="info").send(1, (X, 1, 0)).wait(5_000).poll(0, {})) == 0
    assert behind(expired().subscribe(0, "y").poll(0, {})) == 0


def test_a_poll_within_a_transaction_lags() -> None:
    assert behind(expired().txn(0, {})) == 1


def test_a_read_back_does_not_move_the_position_of_a_lag() -> None:
    book = Book().assign(0, X).send(1, (X, 1, 0)).send(1, (X, 2, 1))
    book.poll(0, {X: [(0, 1), (1, 2)]}).poll(0, {X: [(0, 1)]}).wait(5_000)
    assert behind(book.poll(0, {})) == 0


def test_a_record_that_another_polls_is_known() -> None:
    book = Book().assign(0, X, Y).send(1, (X, 1), (X, 2), end="info").poll(8, {X: [(0, 1), (1, 2)]})
    book.poll(0, {X: [(0, 1)]}).wait(5_000)
    assert behind(book.poll(0, {})) == 1


def test_a_poll_of_unknown_outcome_begins_no_order_of_keys() -> None:
    book = Book().send(0, (Y, 1, 0)).send(0, (X, 2, 0)).poll(9, {X: [(0, 2)]}, end="info")
    assert out_of_order(book.poll(9, {Y: [(0, 1)]}), {"1": "a", "2": "a"}) == 0


def test_the_order_within_a_partition_is_not_that_of_keys() -> None:
    book = Book().send(0, (X, 1, 0)).send(0, (X, 2, 1)).poll(9, {X: [(1, 2)]}).poll(9, {X: [(0, 1)]})
    assert out_of_order(book, {"1": "a", "2": "a"}) == 0


def test_a_second_copy_and_an_aborted_read_name_send_and_poll() -> None:
    book = Book().send(0, (X, 7, 9)).send(0, (X, 1, 0)).poll(9, {X: [(0, 1), (1, 1)]})
    assert ops_of(book, "duplicate") == [(3, 5)]
    book = Book().send(0, (X, 7, 9)).send(0, (X, 1), end="fail").poll(9, {X: [(0, 1)]})
    assert ops_of(book, "G1a") == [(3, 5)]


def test_an_open_transaction_is_not_a_send_without_an_outcome() -> None:
    assert "unresolved" not in counts(Book().begin(0, (X, 1)).wait(5_000).flush(9).judge())


def test_a_consumer_rewinds_each_partition_by_itself() -> None:
    reads: dict[str, list[tuple[int, Any]]] = {X: [(4, 1)], Y: [(4, 2)]}
    book = Book().txn(0, reads, end="fail").poll(0, {X: [(3, 3)]}).poll(0, {Y: [(5, 4)]})
    assert found(book.judge())["abort-class"] == ["rewound-further", "unchanged"]


def test_an_assignment_ends_a_subscription() -> None:
    book = Book().send(0, (X, 1, 0)).subscribe(1, "x").poll(1, {X: [(0, 1)]})
    assert "consume-counts" not in counts(book.assign(1, X).poll(1, {X: [(0, 1)]}).judge())


def test_processes_without_a_group_consume_by_themselves() -> None:
    book = Book().send(0, (X, 1, 0)).subscribe(1, "x").subscribe(2, "x")
    assert "consume-counts" not in counts(book.poll(1, {X: [(0, 1)]}).poll(2, {X: [(0, 1)]}).judge())
    assert counts(book.poll(1, {X: [(0, 1)]}).judge())["consume-counts"] == 1


def test_a_poll_of_a_process_that_subscribed_to_nothing_does_not_count() -> None:
    book = Book().send(0, (X, 1, 0)).subscribe(1, "x", group="g")
    assert "consume-counts" not in counts(book.poll(2, {X: [(0, 1)]}).poll(2, {X: [(0, 1)]}).judge())
