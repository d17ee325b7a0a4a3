"""Each anomaly in the smallest history that has it: found with exactly its values, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios import HistoryVerdict, check_history
from broker_scenarios.history import EventType
from broker_scenarios.operations import Function, PolledOffsets, Send, Subscribe, op_from_json, op_to_json
from tests.scenarios.checks.neutral_histories import Book, without_crash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_scenarios.histories.history_verdict import JudgedFinding

K = "t-0"
COMMITTED = {"isolation.level": "read_committed"}


def judge(
    book: Book, promises: Mapping[str, Any] | None = None, logs: Mapping[str, Any] | None = None
) -> HistoryVerdict:
    """Judge with these promises alone, through the written form, as the command does."""
    ops = [op_from_json(op_to_json(op), f"i={op.index}") for op in book.ops]
    return without_crash(check_history(ops, promises or {}, logs))


def found(verdict: HistoryVerdict) -> dict[str, list[Any]]:
    """The findings that break a promise: name -> values, or their number."""
    return _named(each for each in verdict.findings if each.allowed is None)


def permitted(verdict: HistoryVerdict) -> dict[str, list[Any]]:
    """The findings that are permitted."""
    return _named(each for each in verdict.findings if each.allowed is not None)


def _named(findings: Iterable[JudgedFinding]) -> dict[str, list[Any]]:
    names: dict[str, list[JudgedFinding]] = {}
    for finding in findings:
        names.setdefault(finding.name, []).append(finding)
    return {
        name: list(dict.fromkeys(value for each in some for value in each.values)) or [len(some)]
        for name, some in names.items()
    }


def inconsistent_offsets(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.send(0, (K, 2, 1))
    h.send(1, (K, 3, 1))
    h.finally_poll(9, {K: [(0, 1), (1, 2), (2, 3)]})


def duplicate(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.finally_poll(9, {K: [(0, 1), (1, 1)]})


def lost_write(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.send(1, (K, 2, 1))
    h.send(2, (K, 3, 2))
    h.poll(9, {K: [(0, 1), (2, 3)]})


def unseen(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.send(0, (K, 2, 1))
    h.finally_poll(9, {K: [(0, 1)]})


def set_loss(h: Book) -> None:
    h.send(0, (K, 1))
    h.send(1, (K, 2))


def aborted_read(h: Book) -> None:
    h.send(0, (K, 1), end="fail")
    h.send(1, (K, 2, 1))
    h.finally_poll(9, {K: [(0, 1), (1, 2)]})


def aborted_transaction_read(h: Book) -> None:
    h.txn(0, (K, 1, 0), end="fail")
    h.finally_poll(9, {K: [(0, 1)]})


def precommitted_read(h: Book) -> None:
    h.txn(0, (K, 1, 0), {K: [(0, 1)]})
    h.finally_poll(9, {K: [(0, 1)]})


def misdelivered(h: Book) -> None:
    h.send(0, ("u-0", 1, 0))
    h.finally_poll(8, {"u-0": [(0, 1)]})
    h.finally_poll(9, {K: [(0, 1)]})


def invented(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.finally_poll(9, {K: [(0, 1), (1, 77)]})


def ghost_read(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.send(1, (K, 2, 1), end="info")
    h.poll(9, {K: [(0, 1), (1, 2)]})


def offset_oracle(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.send(0, (K, 2, 0))


def failed_but_stored(h: Book) -> None:
    h.send(0, (K, 1), end="fail")


def unresolved_after_flush(h: Book) -> None:
    h.send(0, (K, 1), end=None)
    h.flush(0)


def unresolved_after_delivery_timeout(h: Book) -> None:
    h.send(0, (K, 1), end=None)
    h.now_ms = 200_000
    h.flush(1)


def double_completion(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.line(0, EventType.OK, Function.SEND, Send(K, 1, 0))
    h.finally_poll(9, {K: [(0, 1)]})


def consume_counts(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.subscribe(5, "t", group="g")
    h.subscribe(6, "t", group="g")
    h.poll(5, {K: [(0, 1)]}, group="g")
    h.poll(6, {K: [(0, 1)]}, group="g")


def poll_skip(h: Book) -> None:
    for value in range(4):
        h.send(0, (K, value, value))
    h.assign(5, K)
    h.poll(5, {K: [(0, 0)]})
    h.poll(5, {K: [(3, 3)]})
    h.finally_poll(9, {K: [(0, 0), (1, 1), (2, 2), (3, 3)]})


def nonmonotonic_poll(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.send(0, (K, 2, 1))
    h.assign(5, K)
    h.poll(5, {K: [(0, 1), (1, 2)]})
    h.poll(5, {K: [(0, 1)]})


def poll_skip_within(h: Book) -> None:
    for value in range(3):
        h.send(0, (K, value, value))
    h.poll(5, {K: [(0, 0), (2, 2)]})
    h.finally_poll(9, {K: [(0, 0), (1, 1), (2, 2)]})


def nonmonotonic_poll_within(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.send(0, (K, 2, 1))
    h.poll(5, {K: [(1, 2), (0, 1)]})


def nonmonotonic_send(h: Book) -> None:
    h.send(0, (K, 1, 1))
    h.send(0, (K, 2, 0))
    h.finally_poll(9, {K: [(0, 2), (1, 1)]})


def nonmonotonic_send_within(h: Book) -> None:
    h.txn(0, (K, 1, 1), (K, 2, 0))
    h.finally_poll(9, {K: [(0, 2), (1, 1)]})


def cycle(h: Book) -> None:
    h.begin(0, (K, 1), {})
    h.begin(1, ("t-1", 2), {})
    h.end(0, (K, 1, 0), {"t-1": [(0, 2)]})
    h.end(1, ("t-1", 2, 0), {K: [(0, 1)]})


def cycle_of_a_process(h: Book) -> None:
    # Process 0 polls what process 1 sends later than it has read what process 0 sends after that.
    h.begin(1, {}, ("t-1", 2))
    h.txn(0, {"t-1": [(0, 2)]})
    h.txn(0, (K, 1, 0))
    h.end(1, {K: [(0, 1)]}, ("t-1", 2, 0))


def cycle_in_real_time(h: Book) -> None:
    h.begin(1, {}, ("t-1", 2))
    h.txn(0, {"t-1": [(0, 2)]})
    h.txn(2, (K, 1, 0))
    h.end(1, {K: [(0, 1)]}, ("t-1", 2, 0))


def torn(h: Book) -> None:
    h.txn(0, (K, 1, 0), ("t-1", 2, 0), end="info")
    h.finally_poll(9, {K: [(0, 1)]})
    h.finally_poll(9, {"t-1": []})


def hung(h: Book) -> None:
    h.poll(5, {K: []}, offsets={K: PolledOffsets(3, 5)})
    h.now_ms = 100_000
    h.poll(5, {K: []}, offsets={K: PolledOffsets(3, 9)})


def dead(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.finally_poll(9, {K: [(0, 1)]})
    h.now_ms = 50_000
    h.send(0, (K, 2), end="info")


def lagging(h: Book) -> None:
    h.assign(5, K)
    h.send(0, (K, 1, 0))
    h.now_ms = 9_000
    h.poll(5, {K: []})
    h.finally_poll(9, {K: [(0, 1)]})


def disordered_key(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.send(0, ("t-1", 2, 0))
    h.assign(5, K, "t-1")
    h.poll(5, {"t-1": [(0, 2)]})
    h.poll(5, {K: [(0, 1)]})


def early_commit(h: Book) -> None:
    h.send(0, (K, 1, 0))
    h.send(0, (K, 2, 1))
    h.poll(5, {K: [(0, 1), (1, 2)]})
    h.commit(5, {K: 2}, auto=True)


CASES: list[tuple[Callable[[Book], None], Mapping[str, Any], Mapping[str, Any], dict[str, list[Any]]]] = [
    (inconsistent_offsets, {}, {}, {"inconsistent-offsets": [2, 3], "duplicate": [3]}),
    (duplicate, {}, {}, {"duplicate": [1]}),
    (lost_write, {}, {}, {"lost-write": [2], "int-poll-skip": [2]}),
    (unseen, {}, {}, {"unseen": [2]}),
    (set_loss, {}, {K: [[0, 1]]}, {"set-loss": [2]}),
    (aborted_read, {}, {}, {"G1a": [1]}),
    (aborted_transaction_read, COMMITTED, {}, {"G1a": [1]}),
    (precommitted_read, COMMITTED, {}, {"precommitted-read": [1]}),
    (misdelivered, {}, {}, {"misdelivered": [1]}),
    (invented, {}, {}, {"misdelivered": [77]}),
    (ghost_read, {}, {K: [[0, 1]]}, {"ghost-read": [2]}),
    (offset_oracle, {}, {K: [[0, 1], [1, 2]]}, {"offset-oracle": [2], "inconsistent-offsets": [1, 2]}),
    (failed_but_stored, {}, {K: [[0, 1]]}, {"failed-but-stored": [1]}),
    (unresolved_after_flush, {}, {}, {"unresolved": [1]}),
    (unresolved_after_delivery_timeout, {}, {}, {"unresolved": [1]}),
    (double_completion, {}, {}, {"double-completion": [1]}),
    (consume_counts, {"exactly-once": True}, {}, {"consume-counts": [1]}),
    (poll_skip, {}, {}, {"poll-skip": [1, 2]}),
    (nonmonotonic_poll, {}, {}, {"nonmonotonic-poll": [1]}),
    (poll_skip_within, {}, {}, {"int-poll-skip": [1]}),
    (nonmonotonic_poll_within, {}, {}, {"int-nonmonotonic-poll": [1]}),
    (nonmonotonic_send, {}, {}, {"nonmonotonic-send": [1]}),
    (nonmonotonic_send_within, {}, {}, {"int-nonmonotonic-send": [1]}),
    (cycle, {}, {}, {"G1c": [1]}),
    (cycle_of_a_process, {}, {}, {"G1c-process": [1]}),
    (cycle_in_real_time, {}, {}, {"G1c-realtime": [1]}),
    (torn, {}, {}, {"torn-txn": [2]}),
    (hung, {}, {}, {"hung-txn": [1]}),
    (dead, {"liveness.deadline.ms": 5_000, "faults": [{"kind": "partition", "to_ms": 20_000}]}, {}, {"liveness": [1]}),
    (lagging, {"max.realtime-lag.ms": 5_000}, {}, {"realtime-lag": [1]}),
    (disordered_key, {"key-order": True, "keys": {"1": "a", "2": "a"}}, {}, {"key-order": [1]}),
    (early_commit, {}, {}, {"auto-commit": [2]}),
]  # fmt: skip


@pytest.mark.parametrize(("write", "promises", "logs", "expected"), CASES, ids=[case[0].__name__ for case in CASES])
def test_an_anomaly_is_found_with_its_values(
    write: Callable[[Book], None], promises: Mapping[str, Any], logs: Mapping[str, Any], expected: dict[str, Any]
) -> None:
    history = Book()
    write(history)
    judgement = judge(history, promises, logs)
    assert found(judgement) == expected
    assert judgement.validity == "broken"


IDEMPOTENCE_OFF = {"enable.idempotence": False}
ALLOWED: list[tuple[Callable[[Book], None], Mapping[str, Any], str]] = [
    (duplicate, IDEMPOTENCE_OFF, "duplicate"),
    (lost_write, {"acks": 1, "faults": [{"kind": "leader-crash", "key": K, "from_ms": 1, "to_ms": 9}]}, "lost-write"),
    (unseen, {"acks": 1, "faults": [{"kind": "leader-move", "from_ms": 1, "to_ms": 9}]}, "unseen"),
    (unseen, {"log_start": {K: 2}}, "unseen"),
    (unseen, {"unclean.leader.election.enable": True, "faults": [{"kind": "unclean-election"}]}, "unseen"),
    (aborted_transaction_read, {}, "G1a"),
    (precommitted_read, {}, "precommitted-read"),
    (nonmonotonic_send_within, IDEMPOTENCE_OFF, "int-nonmonotonic-send"),
    (consume_counts, {}, "consume-counts"),
    (disordered_key, {"keys": {"1": "a", "2": "a"}}, "key-order"),
]


@pytest.mark.parametrize(("write", "promises", "name"), ALLOWED)
def test_what_the_promises_permit_does_not_break_a_history(
    write: Callable[[Book], None], promises: Mapping[str, Any], name: str
) -> None:
    history = Book()
    write(history)
    judgement = judge(history, promises)
    assert name in permitted(judgement)
    assert name not in found(judgement)


def test_a_compacted_value_is_no_loss_when_a_later_value_has_its_key() -> None:
    promises = {"cleanup.policy": "compact", "keys": {"1": "a", "2": "a", "3": "b"}}
    history = Book()
    for place, value in enumerate((1, 2, 3)):
        history.send(0, (K, value, place))
    history.finally_poll(9, {K: [(1, 2)]})
    judgement = judge(history, promises)
    assert (found(judgement), permitted(judgement)["unseen"]) == ({"unseen": [3]}, [1])


def test_a_subscribed_process_may_skip_and_repeat() -> None:
    for write in (poll_skip, nonmonotonic_poll):
        history = Book()
        write(history)
        for op in history.ops:
            if op.f is Function.ASSIGN:
                op.f, op.mops = Function.SUBSCRIBE, [Subscribe(("t",))]
        assert found(judge(history)) == {}


def test_a_reordering_is_permitted_only_while_the_first_send_was_not_acknowledged() -> None:
    history = Book()
    nonmonotonic_send(history)
    assert "nonmonotonic-send" in found(judge(history, IDEMPOTENCE_OFF))
    side_by_side = Book()
    side_by_side.send(0, (K, 1), end=None).send(0, (K, 2), end=None)
    side_by_side.line(0, EventType.OK, Function.SEND, Send(K, 2, 0))
    side_by_side.line(0, EventType.OK, Function.SEND, Send(K, 1, 1))
    side_by_side.finally_poll(9, {K: [(0, 2), (1, 1)]})
    assert "nonmonotonic-send" in found(judge(side_by_side))
    assert "nonmonotonic-send" in permitted(judge(side_by_side, IDEMPOTENCE_OFF))


# What cannot be judged.


def test_what_cannot_be_judged_is_unknown() -> None:
    unread = Book()
    unread.send(0, (K, 1, 0))
    assert judge(unread).validity == "unknown"
    waiting = Book()
    waiting.send(0, (K, 1), end=None)
    assert judge(waiting).validity == "unknown"
    short = Book()
    short.send(0, (K, 1, 0))
    short.finally_poll(9, {K: [(0, 1)]})
    assert judge(short, {"liveness.deadline.ms": 60_000}).validity == "unknown"
    proved = Book()
    proved.txn(0, (K, 1), ("t-1", 2), end="info")
    proved.finally_poll(9, {K: [(0, 1)]})
    assert judge(proved).validity == "unknown"


def test_recovered_and_the_class_of_an_abort_are_information() -> None:
    history = Book()
    history.send(0, (K, 1), end="info")
    history.send(1, (K, 2, 1))
    history.assign(5, K)
    history.txn(5, {K: [(0, 1)]}, end="fail")
    history.poll(5, {K: [(0, 1)]})
    history.finally_poll(9, {K: [(0, 1), (1, 2)]})
    judgement = judge(history)
    assert judgement.validity == "valid"
    assert permitted(judgement) == {"recovered": [1], "abort-class": ["rewound"]}


def test_a_final_poll_need_not_return_what_is_acknowledged_later() -> None:
    book = Book().line(0, EventType.INVOKE, Function.SEND, Send(K, 1))
    book.finally_poll(9, {K: []})
    book.line(0, EventType.OK, Function.SEND, Send(K, 1, 0))
    verdict = judge(book)
    assert (verdict.validity, verdict.findings) == ("unknown", ())
    assert verdict.unknown == ("t-0: 1 acknowledged value not read, without a log or final polls",)


def test_an_acknowledged_record_in_an_open_transaction_cannot_be_judged() -> None:
    verdict = judge(Book().send(0, (K, 1, 0)), logs={K: [[0, 1, {"state": "open"}]]})
    assert (verdict.validity, verdict.findings) == ("unknown", ())
    assert verdict.unknown == ("t-0: 1 acknowledged value in a transaction that is open in the log",)
