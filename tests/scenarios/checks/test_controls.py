"""The negative controls: what looks odd and is legal. Each history is valid; the findings that it has are permitted."""

from __future__ import annotations

from typing import Any

import pytest

from broker_scenarios.history import EventType
from broker_scenarios.operations import Function, Send
from broker_scenarios.verdict import Validity
from tests.scenarios.checks.neutral_histories import Book, X, Y, broken, counts, found, offsets

OFF = {"enable_idempotence": False}
CRASH = {"kind": "leader-crash", "key": X, "from_ms": 4, "to_ms": 20}


def valid(book: Book, logs: dict[str, Any] | None = None, /, **promises: Any) -> dict[str, Any]:
    verdict = book.judge(logs, **promises)
    assert (broken(verdict), verdict.unknown) == (set(), ())
    assert verdict.validity is Validity.VALID
    return found(verdict)


def test_1_gaps_of_markers_aborted_records_compaction_and_deletion() -> None:
    book = Book().txn(0, (X, 1, 0), (X, 2, 1)).txn(1, (X, 3, 3), end="fail").send(2, (X, 4, 5))
    log: list[Any] = [[0, 1], [1, 2], [2, None, {"control": "commit"}], [3, 3, {"state": "aborted"}]]
    log += [[4, None, {"control": "abort"}], [5, 4]]
    reads: dict[str, list[tuple[int, int | str]]] = {X: [(0, 1), (1, 2), (5, 4)]}
    assert valid(book.poll(3, reads).finally_poll(4, reads), {X: log}) == {}
    compacted = Book().send(0, (X, 1, 0)).send(0, (X, 2, 1)).send(0, (X, 3, 2)).finally_poll(4, {X: [(1, 2), (2, 3)]})
    found_there = valid(compacted, {X: [[1, 2], [2, 3]]}, cleanup_policy="compact", keys={"1": "a", "2": "b", "3": "a"})
    assert found_there == {"lost-write": [1], "unseen": [1]}
    deleted = Book().send(0, (X, 1, 0)).send(0, (X, 2, 1)).poll(1, {X: [(0, 1)]}).finally_poll(4, {X: [(1, 2)]})
    assert valid(deleted, {X: [[1, 2]]}, log_start={X: 1}) == {"lost-write": [1]}


def test_2_writes_of_transactions_interleave() -> None:
    book = Book().begin(0, (X, 1), (X, 3), (Y, 2)).begin(1, (X, 2), (Y, 1))
    book.end(0, (X, 1, 0), (X, 3, 2), (Y, 2, 1)).end(1, (X, 2, 1), (Y, 1, 0))
    book.finally_poll(2, {X: [(0, 1), (1, 2), (2, 3)], Y: [(0, 1), (1, 2)]})
    assert valid(book)["int-send-skip"] == [2]
    assert counts(book.judge())["G0"] == 1


def test_3_a_cycle_that_needs_the_order_of_writes() -> None:
    book = Book().begin(0, (X, 1), (Y, 3)).begin(1, {}, (Y, 2)).end(0, (X, 1, 0), (Y, 3, 2))
    book.end(1, {X: [(0, 1)]}, (Y, 2, 1)).finally_poll(2, {X: [(0, 1)], Y: [(1, 2), (2, 3)]})
    assert valid(book) == {"G1c": []}


def test_4_skips_and_repetitions_of_a_group() -> None:
    book = Book().send(0, *((X, n, n) for n in range(6))).subscribe(1, "x", group="g").poll(1, {X: [(0, 0)]})
    book.poll(1, {X: [(3, 3)]}, rebalanced=(X,)).poll(1, {X: [(1, 1), (2, 2)]})
    book.poll(1, {X: [(3, 3), (2, 2)]}, rebalanced=(X,))
    book.finally_poll(2, {X: [(n, n) for n in range(6)]})
    assert sorted(valid(book)) == ["consume-counts", "nonmonotonic-poll", "poll-skip"]


def test_5_duplicates_of_retries_without_idempotence() -> None:
    book = Book().send(0, (X, 1, 1)).finally_poll(2, {X: [(0, 1), (1, 1)]})
    assert valid(book, **OFF) == {"duplicate": [1]}
    assert broken(book.judge(enable_idempotence=False, retries=0)) == {"duplicate"}


def test_6_duplicates_of_the_application() -> None:
    book = Book().send(0, (X, 1), end="info").send(1, (X, 1, 1)).finally_poll(2, {X: [(0, 1), (1, 1)]})
    assert valid(book) == {"duplicate": [1]}
    failed = Book().send(0, (X, 1), end="fail").send(1, (X, 1, 0)).finally_poll(2, {X: [(0, 1)]})
    assert valid(failed) == {}


def test_7_reads_of_writes_with_an_unknown_outcome() -> None:
    book = Book().send(0, (X, 1), end="info").send(1, (X, 2, 1)).finally_poll(2, {X: [(0, 1), (1, 2)]})
    assert valid(book) == {"recovered": [1]}
    unread = Book().send(0, (X, 1), end="info").send(1, (X, 2, 0)).finally_poll(2, {X: [(0, 2)]})
    assert valid(unread) == {}


def test_8_aborted_reads_through_read_uncommitted() -> None:
    book = Book().txn(0, (X, 1, 0), end="fail").send(1, (X, 2, 2)).poll(2, {X: [(0, 1), (2, 2)]})
    log = [[0, 1, {"state": "aborted"}], [1, None, {"control": "abort"}], [2, 2]]
    book.finally_poll(3, {X: [(2, 2)]})
    assert valid(book, {X: log}, isolation_level="read_uncommitted") == {"G1a": [1], "ghost-read": [1]}
    assert broken(book.judge({X: log})) == {"G1a", "ghost-read"}
    # A send outside of transactions is no transaction, not even with a claim.
    plain = Book().send(0, (X, 1), end="fail").finally_poll(3, {X: [(0, 1)]})
    assert broken(plain.judge(isolation_level="read_uncommitted", transactional=True)) == {"G1a"}


@pytest.mark.parametrize("acks", [0, 1])
def test_9_losses_that_acks_permit_at_a_leader_crash(acks: int) -> None:
    offset = () if acks == 0 else (1,)
    book = Book().send(0, (X, 1, 0)).send(0, (X, 2, *offset)).wait(10).send(0, (X, 3, *offset))
    book.finally_poll(2, {X: [(0, 1), (1, 3)]})
    logs = {X: [[0, 1], [1, 3]]}
    names = {"set-loss": [2], "unseen": [2]} if acks == 0 else {
        "lost-write": [2], "unseen": [2], "inconsistent-offsets": [2, 3],
    }  # fmt: skip
    assert valid(book, logs, acks=acks, faults=[CRASH]) == names
    for promises in (
        {"acks": "all", "faults": [CRASH]},
        {"acks": acks},
        {"acks": acks, "faults": [{**CRASH, "key": Y}]},
        {"acks": acks, "faults": [{**CRASH, "kind": "partition"}]},
    ):
        assert broken(book.judge(logs, **promises)) == names.keys(), promises


def test_9_losses_that_an_unclean_election_permits() -> None:
    book = Book().send(0, (X, 1, 0)).send(0, (X, 2, 1)).finally_poll(2, {X: [(0, 1)]})
    unclean = {"faults": [{"kind": "unclean-election", "from_ms": 5, "to_ms": 5}]}
    assert valid(book, None, unclean_leader_election_enable=True, **unclean) == {"unseen": [2]}
    assert broken(book.judge(unclean_leader_election_enable=False, **unclean)) == {"unseen"}
    assert broken(book.judge(unclean_leader_election_enable=True)) == {"unseen"}


def test_10_a_run_without_faults() -> None:
    book = Book().assign(1, X, Y)
    for n in range(20):
        book.send(0, (X, n, n), (Y, -n, n)).wait(n * 7 % 11).poll(
            1, {X: [(n, n)], Y: [(n, -n)]}, offsets=offsets(n + 1, n + 1)
        )
    book.finally_poll(2, {X: [(n, n) for n in range(20)], Y: [(n, -n) for n in range(20)]})
    assert valid(book, exactly_once=True, key_order=True, max_realtime_lag_ms=20) == {}


# What is permitted, and only just.


def test_reordering_is_permitted_behind_a_send_that_was_not_acknowledged() -> None:
    book = Book().send(0, (X, 1), end="info").send(0, (X, 2, 0)).finally_poll(2, {X: [(0, 2), (1, 1)]})
    assert counts(book.judge(**OFF))["nonmonotonic-send"] == 1
    assert broken(book.judge(**OFF)) == set()
    for change in ({"retries": 0}, {"max_in_flight_requests_per_connection": 1}, {"enable_idempotence": True}):
        assert broken(book.judge(**{**OFF, **change})) == {"nonmonotonic-send"}, change
    acked = Book().send(0, (X, 1, 1)).send(0, (X, 2, 0)).finally_poll(2, {X: [(0, 2), (1, 1)]})
    assert broken(acked.judge(**OFF)) == {"nonmonotonic-send"}


def test_sends_of_one_client_may_be_on_the_way_together() -> None:
    book = Book()
    for value in (1, 2):
        book.line(0, EventType.INVOKE, Function.SEND, Send(X, value))
    book.line(0, EventType.OK, Function.SEND, Send(X, 2, 0)).line(0, EventType.OK, Function.SEND, Send(X, 1, 1))
    book.finally_poll(2, {X: [(0, 2), (1, 1)]})
    assert broken(book.judge(**OFF)) == set()
    assert broken(book.judge()) == {"nonmonotonic-send"}


def test_values_are_unique_per_partition_alone() -> None:
    book = Book().send(0, (X, 1, 0), (Y, 1, 5)).finally_poll(2, {X: [(0, 1)], Y: [(5, 1)]})
    assert valid(book, {X: [[0, 1]], Y: [[5, 1]]}) == {}


def test_a_commit_of_the_polls_before_is_at_least_once() -> None:
    book = Book().send(0, (X, 1, 0), (X, 2, 1)).poll(1, {X: [(0, 1)]})
    book.line(1, EventType.INVOKE, Function.POLL)
    book.commit(1, {X: 1}, auto=True)
    book.line(1, EventType.OK, Function.POLL).finally_poll(2, {X: [(0, 1), (1, 2)]})
    assert valid(book) == {}


def test_a_process_that_is_killed_within_its_close_has_ended_its_work() -> None:
    book = Book().send(0, (X, 1, 0)).poll(1, {X: [(0, 1)]})
    book.line(1, EventType.INVOKE, Function.CLOSE)
    book.commit(1, {X: 1}, auto=True).finally_poll(2, {X: [(0, 1)]})
    assert valid(book) == {}


def test_an_open_send_of_a_crashed_process_has_no_outcome_to_come() -> None:
    book = Book().send(0, (X, 1), end=None).crash(0).wait(5_000).send(1, (X, 2, 0)).finally_poll(2, {X: [(0, 2)]})
    assert valid(book) == {}
    open_still = Book().send(0, (X, 1), end=None).wait(5_000).send(1, (X, 2, 0)).finally_poll(2, {X: [(0, 2)]})
    assert found(open_still.judge()) == {"unresolved": [1]}
    early = Book().send(0, (X, 1), end=None).send(1, (X, 2, 0)).finally_poll(2, {X: [(0, 2)]})
    assert early.judge().validity is Validity.UNKNOWN
    assert found(early.flush(0).judge()) == {"unresolved": [1]}


def test_a_value_in_two_places_bounds_by_the_first_and_is_lost_by_the_last() -> None:
    again = Book().send(0, (X, 1, 0)).send(1, (X, 2, 1)).poll(2, {X: [(0, 1), (2, 1)]})
    assert "lost-write" not in found(again.judge())
    late = Book().send(0, (X, 1, 0)).send(1, (X, 2, 1)).poll(2, {X: [(1, 2)]}).poll(3, {X: [(5, 1)]}, end="fail")
    assert "lost-write" not in found(late.judge())
    assert found(late.poll(2, {X: [(5, 3)]}).judge())["lost-write"] == [1]


def test_an_unclean_election_tears_a_transaction_with_permission() -> None:
    book = Book().txn(0, (X, 1, 0), (Y, 1, 0)).finally_poll(2, {X: [(0, 1)], Y: []})
    unclean = {"faults": [{"kind": "unclean-election", "key": Y}], "unclean_leader_election_enable": True}
    assert valid(book, None, **unclean) == {"torn-txn": [1], "unseen": [1]}
    assert broken(book.judge()) == {"torn-txn", "unseen"}


def test_consumers_pass_what_retention_has_deleted() -> None:
    book = Book().send(0, *((X, n, n) for n in range(4))).poll(1, {X: [(0, 0), (3, 3)]}).poll(2, {X: [(1, 1), (2, 2)]})
    book.finally_poll(3, {X: [(3, 3)]})
    assert valid(book, {X: [[3, 3]]}, log_start={X: 3}) == {"lost-write": [0, 1, 2], "int-poll-skip": [1, 2]}
    assert "int-poll-skip" in broken(book.judge())


def test_writes_may_contradict_real_time() -> None:
    book = Book().send(0, (X, 1, 1)).send(1, (X, 2, 0)).finally_poll(2, {X: [(0, 2), (1, 1)]})
    assert valid(book) == {"G0-realtime": []}


@pytest.mark.parametrize(("process", "name"), [(1, "G1c-process"), (3, "G1c-realtime")])
def test_a_cycle_in_time_that_needs_the_order_of_writes(process: int, name: str) -> None:
    book = Book().begin(0, (X, "c"), (Y, "d")).poll(1, {Y: [(0, "d")]}).send(process, (X, "b", 0))
    book.end(0, (X, "c", 1), (Y, "d", 0)).finally_poll(2, {X: [(0, "b"), (1, "c")], Y: [(0, "d")]})
    assert valid(book) == {name: []}


def test_a_value_that_shares_its_offset_has_no_place_in_the_order() -> None:
    book = Book().send(0, (X, 1, 5)).send(1, (X, 2, 5)).send(0, (X, 3, 4)).poll(2, {X: [(4, 3)]}).poll(2, {X: [(6, 9)]})
    assert {"nonmonotonic-send", "poll-skip"}.isdisjoint(counts(book.judge()))


def test_a_skip_is_permitted_only_if_each_record_of_it_was_lost_with_permission() -> None:
    book = Book().send(0, *((X, n, n) for n in range(4))).poll(1, {X: [(0, 0), (3, 3)]})
    verdict = book.finally_poll(2, {X: [(0, 0), (3, 3)]}).judge(log_start={X: 2})
    assert "int-poll-skip" in broken(verdict)
    assert {each.values[0]: each.allowed is None for each in verdict.found("unseen")} == {1: False, 2: True}


def test_a_polled_record_is_lost_with_the_leader_that_confirmed_it_alone() -> None:
    book = Book().send(0, (X, 1, 0)).send(0, (X, 2, 1)).poll(1, {X: [(0, 1), (1, 2)]}).finally_poll(2, {X: [(0, 1)]})
    logs = {X: [[0, 1]]}
    assert valid(book, logs, acks=1, faults=[CRASH]) == {"lost-write": [2], "ghost-read": [2]}
    assert broken(book.judge(logs, faults=[CRASH])) == {"lost-write", "ghost-read"}
    aborted = Book().txn(0, (X, 1, 0), end="fail").poll(1, {X: [(0, 1)]}).finally_poll(2, {X: []})
    verdict = aborted.judge({X: [[0, 1, {"state": "aborted"}]]}, acks=1, faults=[CRASH])
    assert broken(verdict) == {"G1a", "ghost-read"}


# Dependencies between operations.


def test_a_value_with_several_writers_gives_no_dependency() -> None:
    book = Book().send(0, (X, 1), end="info").send(0, (X, 2, 0)).send(9, (X, 1, 1))
    verdict = book.finally_poll(8, {X: [(0, 2), (1, 1)]}).judge()
    assert "G0-process" not in counts(verdict)


def test_what_stands_before_and_after_a_cycle_leaves_it_whole() -> None:
    book = Book().begin(0, (X, 1), {}).send(1, (Y, 7, 0), (Y, 8, 1)).begin(2, (X, 2), {})
    book.end(0, (X, 1, 0), {X: [(1, 2)]}).end(2, (X, 2, 1), {X: [(0, 1)]})
    assert "G1c" in counts(book.poll(3, {Y: [(0, 7), (1, 8)]}).judge())


def test_an_operation_without_data_does_not_part_a_process() -> None:
    book = Book().send(0, (X, 1, 1)).call(0, Function.FLUSH, end="info").send(0, (X, 2, 0))
    assert counts(book.finally_poll(8, {X: [(0, 2), (1, 1)]}).judge())["G0-process"] == 1


def test_a_record_of_an_operation_without_a_place_has_no_neighbour() -> None:
    book = Book().send(0, (X, 1, 0), (X, 2), end="info").send(1, (X, 3, 1))
    assert "int-send-skip" not in counts(book.finally_poll(8, {X: [(0, 1), (1, 3)]}).judge())
