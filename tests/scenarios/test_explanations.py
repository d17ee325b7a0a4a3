from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.explanations import Explainer
from broker_scenarios.findings import Cause, Finding, FindingKind
from broker_scenarios.history import TruncatedRecord
from broker_scenarios.journal_view import NEVER_US, Election, JournalView, LostTail, PartitionEvents, Truncation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOST, CONFLICT = FindingKind.LOST_WRITE, FindingKind.INCONSISTENT_OFFSETS


def lost(kind: FindingKind = LOST, **values: Any) -> Finding:
    """A record that was acknowledged at offset 5, at 100 µs."""
    given = {"topic": "orders", "partition": 0, "value_id": 7, "ack_offset": 5, "complete_us": 100, "detail": "d"}
    return Finding(**{**given, "kind": kind, **values})


def explained(
    *findings: Finding,
    acks: int = 1,
    view: bool = True,
    deletions: Mapping[str, Sequence[tuple[int, int]]] | None = None,
    **given: Any,
) -> list[Cause]:
    """The causes of the findings; the events of orders-0 are given by their kind."""
    names = ("elections", "truncations", "lost_tails")
    events = PartitionEvents(**{name: given.pop(name) for name in names if name in given})
    journal = JournalView(
        partitions={("orders", 0): events}, deletions={name: list(each) for name, each in (deletions or {}).items()}
    )
    given = {"journal": journal if view else None, "truncated": (), "start_us": 0, **given}
    Explainer(acks_of=lambda _: acks, **given).explain_all(findings)
    return [finding.cause for finding in findings]


def elected(time_us: int, leader: int, previous: int = -1, epoch: int = 1) -> Election:
    return Election(
        time_us=time_us, leader=leader, previous_leader=previous, leader_epoch=epoch, isr=(leader,), unclean=False
    )


def cut(first: int = 5, end: int = 6, time_us: int = 100, broker: int = 1, epoch: int = 3) -> Truncation:
    return Truncation(time_us=time_us, broker=broker, leader=2, leader_epoch=epoch, from_offset=first, to_offset=end)


def tail(first: int = 5, end: int = 6, time_us: int = 100, broker: int = 1) -> LostTail:
    return LostTail(time_us=time_us, broker=broker, from_offset=first, to_offset=end)


def test_a_loss_without_a_cause_is_unexplained() -> None:
    finding = lost()
    assert explained(finding) == [Cause.UNEXPLAINED]
    assert finding.detail == "d: no truncation and no election explains it"
    assert explained(lost(FindingKind.SET_LOSS), elections=[elected(200, 1, 2)]) == [Cause.LEADER_REPLACED]


def test_other_findings_need_no_explanation() -> None:
    finding = lost(FindingKind.UNSEEN)
    assert explained(finding, elections=[elected(200, 1, 2)]) == [Cause.UNEXPLAINED]
    assert finding.detail == "d"


@pytest.mark.parametrize(
    ("acks", "cause"), [(0, Cause.NEVER_CONFIRMED), (1, Cause.UNEXPLAINED), (-1, Cause.UNEXPLAINED)]
)
def test_without_acks_no_broker_has_confirmed_it(acks: int, cause: Cause) -> None:
    assert explained(lost(), acks=acks) == [cause]


def test_without_a_journal_no_cause_is_recorded() -> None:
    assert explained(lost(), lost(CONFLICT), view=False) == [Cause.NOT_RECORDED] * 2


@pytest.mark.parametrize("state", ["open", "aborted"])
def test_a_record_of_a_transaction_that_was_not_committed_is_in_the_log(state: str) -> None:
    finding = lost()
    assert explained(finding, uncommitted={7: state}, elections=[elected(200, 1, 2)]) == [Cause.UNCOMMITTED]
    assert state in finding.detail or "no marker" in finding.detail
    assert explained(lost(), uncommitted={8: state}) == [Cause.UNEXPLAINED]


@pytest.mark.parametrize(
    ("deletions", "cause"),
    [
        ([(90, 99)], Cause.UNEXPLAINED),
        ([(90, 100)], Cause.TOPIC_DELETED),  # a leader acknowledges until it has learnt of the deletion
        ([(90, 99), (200, NEVER_US)], Cause.TOPIC_DELETED),
    ],
)
def test_the_records_of_a_deleted_topic_are_gone_with_it(deletions: list[tuple[int, int]], cause: Cause) -> None:
    assert explained(lost(), deletions={"orders": deletions}) == [cause]
    assert explained(lost(topic="other"), deletions={"orders": deletions}) == [Cause.UNEXPLAINED]


def test_an_offset_of_a_deleted_topic_may_be_assigned_again() -> None:
    deletions = {"orders": [(200, 300)]}
    conflict = lost(CONFLICT, value_id=8, other_value_id=7, complete_us=400)
    assert explained(conflict, lost(), deletions=deletions) == [Cause.TOPIC_DELETED] * 2
    of_another = lost(CONFLICT, value_id=8, other_value_id=9, complete_us=400)
    assert explained(of_another, lost(), deletions=deletions) == [Cause.UNEXPLAINED, Cause.TOPIC_DELETED]
    unseen = lost(FindingKind.UNSEEN, value_id=8, other_value_id=7, complete_us=400)
    assert explained(unseen, lost(), deletions=deletions) == [Cause.UNEXPLAINED, Cause.TOPIC_DELETED]


@pytest.mark.parametrize(
    ("lost_tail", "loss", "conflict"),
    [
        (tail(), Cause.POWER_LOST, Cause.POWER_LOST),
        (tail(time_us=99), Cause.UNEXPLAINED, Cause.POWER_LOST),
        (tail(time_us=101), Cause.POWER_LOST, Cause.POWER_LOST),
        (tail(0, 5), Cause.UNEXPLAINED, Cause.UNEXPLAINED),
        (tail(6, 9), Cause.UNEXPLAINED, Cause.UNEXPLAINED),
        (tail(0, 9), Cause.POWER_LOST, Cause.POWER_LOST),
        (tail(broker=2), Cause.UNEXPLAINED, Cause.UNEXPLAINED),  # broker 1 had them still, and led
    ],
)
def test_a_leader_that_lost_its_power_has_lost_its_records(lost_tail: LostTail, loss: Cause, conflict: Cause) -> None:
    elections = [elected(0, 1)]
    assert explained(lost(), lost_tails=[lost_tail], elections=elections) == [loss]
    if lost_tail.time_us <= 100:
        assert explained(lost(CONFLICT), lost_tails=[lost_tail], elections=elections) == [conflict]


def test_an_offset_was_assigned_again_after_the_loss_of_power() -> None:
    conflict = lost(CONFLICT, cause=Cause.RETRY)
    assert explained(conflict, lost_tails=[tail(time_us=101)], elections=[elected(0, 1)]) == [Cause.RETRY]
    assert explained(conflict, lost_tails=[tail(time_us=100)], elections=[elected(0, 1)]) == [Cause.POWER_LOST]
    assert explained(lost(FindingKind.UNSEEN), lost_tails=[tail()], elections=[elected(0, 1)]) == [Cause.UNEXPLAINED]


@pytest.mark.parametrize(
    ("elections", "cause"),
    [
        ([elected(0, 2), elected(100, 1), elected(101, 2)], Cause.POWER_LOST),
        ([elected(0, 2), elected(99, 1)], Cause.POWER_LOST),
        ([elected(0, 1), elected(100, 2)], Cause.LEADER_REPLACED),
        ([elected(0, 1), elected(101, 2), elected(102, 1)], Cause.LEADER_REPLACED),
        ([elected(0, 1), elected(101, -1), elected(102, 1)], Cause.POWER_LOST),
        ([], Cause.UNEXPLAINED),
    ],
)
def test_the_next_leader_is_the_broker_that_lost_its_power(elections: list[Election], cause: Cause) -> None:
    [found] = explained(lost(), lost_tails=[tail()], elections=elections)
    assert found is cause


def test_broker_0_may_be_the_next_leader() -> None:
    assert explained(lost(), lost_tails=[tail(broker=0)], elections=[elected(0, 0)]) == [Cause.POWER_LOST]
    assert explained(lost(), elections=[elected(200, 0, 1)]) == [Cause.LEADER_REPLACED]
    assert explained(lost(), elections=[elected(200, 1, 0)]) == [Cause.LEADER_REPLACED]


def record(**values: Any) -> TruncatedRecord:
    given = {
        "topic": "orders",
        "partition": 0,
        "offset": 5,
        "value_id": 7,
        "broker": 1,
        "leader_epoch": 3,
        "time_us": 2_000,
    }
    return TruncatedRecord(**{**given, **values})


def test_a_truncated_record_names_the_cut_of_its_broker_and_epoch() -> None:
    others = [cut(broker=2), cut(epoch=2), cut(0, 5), cut(6, 9)]
    finding = lost()
    assert explained(finding, truncated=[record()], truncations=[*others, cut(4, 8, time_us=3_000)]) == [
        Cause.TRUNCATED
    ]
    assert finding.detail == (
        "d: broker 1 rejoined behind leader 2 at leader epoch 3, 0.003 s, and truncated offsets 4 to 7"
    )
    finding = lost()
    assert explained(finding, truncated=[record()], truncations=[cut(5, 8)]) == [Cause.TRUNCATED]
    assert finding.detail.endswith("and truncated offsets 5 to 7")
    for given in ({"truncations": others}, {"view": False}):
        finding = lost()
        assert explained(finding, truncated=[record(), record(broker=9)], **given) == [Cause.TRUNCATED]
        assert finding.detail == "d: broker 1 truncated offset 5 at leader epoch 3, 0.002 s"


@pytest.mark.parametrize("values", [{"topic": "other"}, {"partition": 1}, {"value_id": 8}])
def test_the_truncation_of_another_record_explains_nothing(values: dict[str, Any]) -> None:
    assert explained(lost(), truncated=[record(**values)]) == [Cause.UNEXPLAINED]


@pytest.mark.parametrize(
    ("truncation", "cause"),
    [
        (cut(), Cause.TRUNCATED),
        (cut(time_us=99), Cause.UNEXPLAINED),
        (cut(0, 5), Cause.UNEXPLAINED),
        (cut(6, 9), Cause.UNEXPLAINED),
        (cut(0, 9), Cause.TRUNCATED),
    ],
)
def test_a_range_that_was_cut_later_explains_a_loss(truncation: Truncation, cause: Cause) -> None:
    assert explained(lost(), truncations=[truncation]) == [cause]


@pytest.mark.parametrize(
    ("offset", "start", "cause"),
    [(5, 5, Cause.UNEXPLAINED), (5, 6, Cause.RETENTION), (0, 1, Cause.RETENTION), (-1, 6, Cause.UNEXPLAINED)],
)
def test_what_is_below_the_start_of_the_log_was_deleted(offset: int, start: int, cause: Cause) -> None:
    assert explained(lost(ack_offset=offset), log_starts={("orders", 0): start}) == [cause]
    assert explained(lost(ack_offset=offset), log_starts={("orders", 1): start}) == [Cause.UNEXPLAINED]


def test_compaction_explains_what_it_has_removed() -> None:
    assert explained(lost(), was_compacted=lambda finding: finding.value_id == 7) == [Cause.COMPACTION]
    assert explained(lost(), was_compacted=lambda finding: finding.value_id == 8) == [Cause.UNEXPLAINED]


@pytest.mark.parametrize(
    ("elections", "change"),
    [
        ([elected(50, 1)], None),
        ([elected(50, 1), elected(200, 1, 1)], None),
        ([elected(50, 1), elected(100, 2, 1, epoch=4)], (2, 4, 1)),
        ([elected(50, 1), elected(99, 2, 1, epoch=4)], (2, 4, 1)),  # an isolated leader acknowledges still
        ([elected(50, 2, 1, epoch=3), elected(99, 3, 2, epoch=4)], (3, 4, 2)),
        ([elected(50, 2, 1, epoch=3), elected(100, 3, 2, epoch=4), elected(101, 1, 3)], (3, 4, 2)),
        ([elected(200, -1, 1), elected(201, 2, -1, epoch=4)], (2, 4, 1)),
        ([elected(200, -1, 1), elected(201, 1, -1)], None),
        ([elected(50, 0), elected(200, -1), elected(201, 2, -1, epoch=4)], (2, 4, 0)),
        ([elected(50, 1), elected(200, -1, 1), elected(201, -1), elected(202, 2, -1, epoch=4)], (2, 4, 1)),
    ],
)
def test_a_loss_is_left_behind_with_a_change_of_leader(
    elections: list[Election], change: tuple[int, int, int] | None
) -> None:
    finding = lost()
    assert explained(finding, elections=elections) == [Cause.UNEXPLAINED if change is None else Cause.LEADER_REPLACED]
    if change is not None:
        leader, epoch, previous = change
        assert f"broker {leader} became leader at epoch {epoch}, " in finding.detail
        assert finding.detail.endswith(f" without it; broker {previous} never gave it back")


def test_a_conflict_follows_from_a_loss_unless_its_cause_is_known() -> None:
    assert explained(lost(CONFLICT), truncations=[cut()]) == [Cause.TRUNCATED]
    assert explained(lost(CONFLICT, cause=Cause.RETRY), truncations=[cut()]) == [Cause.RETRY]
    assert explained(lost(FindingKind.DUPLICATE), truncations=[cut()]) == [Cause.UNEXPLAINED]
