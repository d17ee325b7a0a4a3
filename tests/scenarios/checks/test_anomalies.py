"""Each anomaly in the smallest history that has it: found with exactly its values, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.scenarios.checks.histories import K, Written, found, judge, permitted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COMMITTED = {"isolation.level": "read_committed"}


def inconsistent_offsets(h: Written) -> None:
    h.send(0, 1, 0)
    h.send(0, 2, 1)
    h.send(1, 3, 1)
    h.final(9, (0, 1), (1, 2), (2, 3))


def duplicate(h: Written) -> None:
    h.send(0, 1, 0)
    h.final(9, (0, 1), (1, 1))


def lost_write(h: Written) -> None:
    h.send(0, 1, 0)
    h.send(1, 2, 1)
    h.send(2, 3, 2)
    h.poll(9, (0, 1), (2, 3))


def unseen(h: Written) -> None:
    h.send(0, 1, 0)
    h.send(0, 2, 1)
    h.final(9, (0, 1))


def set_loss(h: Written) -> None:
    h.send(0, 1)
    h.send(1, 2)


def aborted_read(h: Written) -> None:
    h.send(0, 1, kind="fail")
    h.send(1, 2, 1)
    h.final(9, (0, 1), (1, 2))


def aborted_transaction_read(h: Written) -> None:
    h.txn(0, [["send", K, 1]], [["send", K, [0, 1]]], kind="fail")
    h.final(9, (0, 1))


def precommitted_read(h: Written) -> None:
    h.txn(0, [["send", K, 1], ["poll"]], [["send", K, [0, 1]], ["poll", {K: [[0, 1]]}]])
    h.final(9, (0, 1))


def misdelivered(h: Written) -> None:
    h.send(0, 1, 0, key="u-0")
    h.final(8, (0, 1), key="u-0")
    h.final(9, (0, 1))


def invented(h: Written) -> None:
    h.send(0, 1, 0)
    h.final(9, (0, 1), (1, 77))


def ghost_read(h: Written) -> None:
    h.send(0, 1, 0)
    h.send(1, 2, 1, kind="info")
    h.poll(9, (0, 1), (1, 2))


def offset_oracle(h: Written) -> None:
    h.send(0, 1, 0)
    h.send(0, 2, 0)


def failed_but_stored(h: Written) -> None:
    h.send(0, 1, kind="fail")


def unresolved_after_flush(h: Written) -> None:
    h.send(0, 1, kind="open")
    h.call(0, "flush")


def unresolved_after_delivery_timeout(h: Written) -> None:
    h.send(0, 1, kind="open")
    h.t_ms = 200_000
    h.call(1, "flush")


def double_completion(h: Written) -> None:
    h.send(0, 1, 0)
    h.line(0, "ok", "send", [["send", K, [0, 1]]])
    h.final(9, (0, 1))


def consume_counts(h: Written) -> None:
    h.send(0, 1, 0)
    h.subscribe(5, "g")
    h.subscribe(6, "g")
    h.poll(5, (0, 1), group="g")
    h.poll(6, (0, 1), group="g")


def poll_skip(h: Written) -> None:
    for value in range(4):
        h.send(0, value, value)
    h.assign(5, K)
    h.poll(5, (0, 0))
    h.poll(5, (3, 3))
    h.final(9, (0, 0), (1, 1), (2, 2), (3, 3))


def nonmonotonic_poll(h: Written) -> None:
    h.send(0, 1, 0)
    h.send(0, 2, 1)
    h.assign(5, K)
    h.poll(5, (0, 1), (1, 2))
    h.poll(5, (0, 1))


def poll_skip_within(h: Written) -> None:
    for value in range(3):
        h.send(0, value, value)
    h.poll(5, (0, 0), (2, 2))
    h.final(9, (0, 0), (1, 1), (2, 2))


def nonmonotonic_poll_within(h: Written) -> None:
    h.send(0, 1, 0)
    h.send(0, 2, 1)
    h.poll(5, (1, 2), (0, 1))


def nonmonotonic_send(h: Written) -> None:
    h.send(0, 1, 1)
    h.send(0, 2, 0)
    h.final(9, (0, 2), (1, 1))


def nonmonotonic_send_within(h: Written) -> None:
    h.txn(0, [["send", K, 1], ["send", K, 2]], [["send", K, [1, 1]], ["send", K, [0, 2]]])
    h.final(9, (0, 2), (1, 1))


def cycle(h: Written) -> None:
    h.line(0, "invoke", "txn", [["send", K, 1], ["poll"]])
    h.line(1, "invoke", "txn", [["send", "t-1", 2], ["poll"]])
    h.line(0, "ok", "txn", [["send", K, [0, 1]], ["poll", {"t-1": [[0, 2]]}]])
    h.line(1, "ok", "txn", [["send", "t-1", [0, 2]], ["poll", {K: [[0, 1]]}]])


def cycle_of_a_process(h: Written) -> None:
    # Process 0 polls what process 1 sends later than it has read what process 0 sends after that.
    h.line(1, "invoke", "txn", [["poll"], ["send", "t-1", 2]])
    h.txn(0, [["poll"]], [["poll", {"t-1": [[0, 2]]}]])
    h.txn(0, [["send", K, 1]], [["send", K, [0, 1]]])
    h.line(1, "ok", "txn", [["poll", {K: [[0, 1]]}], ["send", "t-1", [0, 2]]])


def cycle_in_real_time(h: Written) -> None:
    h.line(1, "invoke", "txn", [["poll"], ["send", "t-1", 2]])
    h.txn(0, [["poll"]], [["poll", {"t-1": [[0, 2]]}]])
    h.txn(2, [["send", K, 1]], [["send", K, [0, 1]]])
    h.line(1, "ok", "txn", [["poll", {K: [[0, 1]]}], ["send", "t-1", [0, 2]]])


def torn(h: Written) -> None:
    h.txn(0, [["send", K, 1], ["send", "t-1", 2]], [["send", K, [0, 1]], ["send", "t-1", [0, 2]]], kind="info")
    h.final(9, (0, 1))
    h.final(9, key="t-1")


def hung(h: Written) -> None:
    h.poll(5, offsets={K: {"lso": 3, "hw": 5}})
    h.t_ms = 100_000
    h.poll(5, offsets={K: {"lso": 3, "hw": 9}})


def dead(h: Written) -> None:
    h.send(0, 1, 0)
    h.final(9, (0, 1))
    h.t_ms = 50_000
    h.send(0, 2, kind="info")


def lagging(h: Written) -> None:
    h.assign(5, K)
    h.send(0, 1, 0)
    h.t_ms = 9_000
    h.poll(5)
    h.final(9, (0, 1))


def disordered_key(h: Written) -> None:
    h.send(0, 1, 0)
    h.send(0, 2, 0, key="t-1")
    h.assign(5, K, "t-1")
    h.poll(5, (0, 2), key="t-1")
    h.poll(5, (0, 1))


def early_commit(h: Written) -> None:
    h.send(0, 1, 0)
    h.send(0, 2, 1)
    h.poll(5, (0, 1), (1, 2))
    h.line(5, "invoke", "commit", [["commit", {K: 2}]], auto=True)
    h.line(5, "ok", "commit", [["commit", {K: 2}]], auto=True)


CASES: list[tuple[Callable[[Written], None], Mapping[str, Any], Mapping[str, Any], dict[str, list[Any]]]] = [
    (inconsistent_offsets, {}, {}, {"inconsistent-offsets": [2, 3], "duplicate": [3]}),
    (duplicate, {}, {}, {"duplicate": [1]}),
    (lost_write, {}, {}, {"lost-write": [2], "int-poll-skip": [2]}),
    (unseen, {}, {}, {"unseen": [2]}),
    (set_loss, {}, {K: [(0, 1)]}, {"set-loss": [2]}),
    (aborted_read, {}, {}, {"G1a": [1]}),
    (aborted_transaction_read, COMMITTED, {}, {"G1a": [1]}),
    (precommitted_read, COMMITTED, {}, {"precommitted-read": [1]}),
    (misdelivered, {}, {}, {"misdelivered": [1]}),
    (invented, {}, {}, {"misdelivered": [77]}),
    (ghost_read, {}, {K: [(0, 1)]}, {"ghost-read": [2]}),
    (offset_oracle, {}, {K: [(0, 1), (1, 2)]}, {"offset-oracle": [2], "inconsistent-offsets": [1, 2]}),
    (failed_but_stored, {}, {K: [(0, 1)]}, {"failed-but-stored": [1]}),
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
    write: Callable[[Written], None], promises: Mapping[str, Any], logs: Mapping[str, Any], expected: dict[str, Any]
) -> None:
    history = Written()
    write(history)
    judgement = judge(history, promises, logs)
    assert found(judgement) == expected
    assert judgement.validity == "broken"


IDEMPOTENCE_OFF = {"enable.idempotence": False}
ALLOWED: list[tuple[Callable[[Written], None], Mapping[str, Any], str]] = [
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
    write: Callable[[Written], None], promises: Mapping[str, Any], name: str
) -> None:
    history = Written()
    write(history)
    judgement = judge(history, promises)
    assert name in permitted(judgement)
    assert name not in found(judgement)


def test_a_compacted_value_is_no_loss_when_a_later_value_has_its_key() -> None:
    promises = {"cleanup.policy": "compact", "keys": {"1": "a", "2": "a", "3": "b"}}
    history = Written()
    for place, value in enumerate((1, 2, 3)):
        history.send(0, value, place)
    history.final(9, (1, 2))
    judgement = judge(history, promises)
    assert (found(judgement), permitted(judgement)["unseen"]) == ({"unseen": [3]}, [1])


def test_a_subscribed_process_may_skip_and_repeat() -> None:
    for write in (poll_skip, nonmonotonic_poll):
        history = Written()
        write(history)
        for line in history.lines:
            if line["f"] == "assign":
                line.update(f="subscribe", mops=[["subscribe", ["t"]]])
        assert found(judge(history)) == {}


def test_a_reordering_is_permitted_only_while_the_first_send_was_not_acknowledged() -> None:
    history = Written()
    nonmonotonic_send(history)
    assert "nonmonotonic-send" in found(judge(history, IDEMPOTENCE_OFF))
    side_by_side = Written()
    side_by_side.line(0, "invoke", "send", [["send", K, 1]])
    side_by_side.line(0, "invoke", "send", [["send", K, 2]])
    side_by_side.line(0, "ok", "send", [["send", K, [0, 2]]])
    side_by_side.line(0, "ok", "send", [["send", K, [1, 1]]])
    side_by_side.final(9, (0, 2), (1, 1))
    assert "nonmonotonic-send" in found(judge(side_by_side))
    assert "nonmonotonic-send" in permitted(judge(side_by_side, IDEMPOTENCE_OFF))


# What cannot be judged.


def test_what_cannot_be_judged_is_unknown() -> None:
    unread = Written()
    unread.send(0, 1, 0)
    assert judge(unread).validity == "unknown"
    waiting = Written()
    waiting.send(0, 1, kind="open")
    assert judge(waiting).validity == "unknown"
    short = Written()
    short.send(0, 1, 0)
    short.final(9, (0, 1))
    assert judge(short, {"liveness.deadline.ms": 60_000}).validity == "unknown"
    proved = Written()
    proved.txn(0, [["send", K, 1], ["send", "t-1", 2]], kind="info")
    proved.final(9, (0, 1))
    assert judge(proved).validity == "unknown"


def test_recovered_and_the_class_of_an_abort_are_information() -> None:
    history = Written()
    history.send(0, 1, kind="info")
    history.send(1, 2, 1)
    history.assign(5, K)
    history.txn(5, [["poll"]], [["poll", {K: [[0, 1]]}]], kind="fail")
    history.poll(5, (0, 1))
    history.final(9, (0, 1), (1, 2))
    judgement = judge(history)
    assert judgement.validity == "valid"
    assert permitted(judgement) == {"recovered": [1], "abort-class": ["rewound"]}
