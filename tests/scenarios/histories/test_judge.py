"""The order of findings, what is not judged, and wrong logs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios import check_history
from broker_scenarios.errors import HistoryError, ScenarioError
from broker_scenarios.explanations import Explainer
from broker_scenarios.histories.judge import BrokerEvidence, read_logs
from broker_scenarios.history import EventType, TruncatedRecord
from broker_scenarios.operations import Function, Send, write_operations
from tests.scenarios.checks.neutral_histories import PROMISES, Book, X, Y

if TYPE_CHECKING:
    from pathlib import Path


def test_what_breaks_a_promise_comes_before_what_is_permitted() -> None:
    book = Book().send(0, (Y, 1, 0)).send(0, (Y, 2), end="info").send(0, (X, 3, 0))
    book.finally_poll(1, {Y: [(0, 1), (1, 2)], X: []})
    findings = book.judge().findings
    assert [(each.name, each.allowed is None) for each in findings] == [("unseen", True), ("recovered", False)]


def test_the_cuts_of_brokers_are_those_of_known_partitions() -> None:
    book = Book().send(0, (X, 1, 0)).send(0, (X, 2, 1)).send(0, (X, 3, 1))
    cuts = [TruncatedRecord(topic, 0, 1, 2, broker=2, leader_epoch=1, time_us=0) for topic in ("x", "other")]
    explainer = Explainer(journal=None, truncated=cuts, acks_of=lambda _: 1, start_us=0)
    evidence = BrokerEvidence(truncated=cuts, explainer=explainer, caveats=["the journal is short"])
    logs = {X: [[0, 1], [1, 3]]}
    verdict = check_history(book.ops, {**PROMISES, "acks": 1}, logs, evidence)
    assert {each.name for each in verdict.findings if each.allowed is not None} == {
        "lost-write",
        "inconsistent-offsets",
    }
    assert verdict.unknown == ("the journal is short",)
    assert {each.name for each in book.judge(logs, acks=1).findings if each.allowed is None} >= {"lost-write"}


def test_a_file_without_operations_is_refused_and_a_list_is_not(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("\n")
    with pytest.raises(HistoryError, match="the history has no operations"):
        check_history(path, PROMISES)
    assert check_history([], PROMISES).calls == 0
    write_operations(path, Book().send(0, (X, 1, 0)).ops)
    assert check_history(path, PROMISES).calls == 1


@pytest.mark.parametrize("name", ["absent.parquet", "absent.arrow", "absent.feather"])
def test_a_table_is_known_by_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ScenarioError) as raised:
        check_history(tmp_path / name, PROMISES)
    assert "has no operations" not in str(raised.value)
    assert "the evidence of brokers" not in str(raised.value)
    explainer = Explainer(journal=None, truncated=(), acks_of=lambda _: 1, start_us=0)
    with pytest.raises(ScenarioError, match="the evidence of brokers is for a history of operations"):
        check_history(tmp_path / name, PROMISES, None, BrokerEvidence(truncated=(), explainer=explainer))


@pytest.mark.parametrize("text", ["[]", "7", "{"])
def test_logs_are_an_object(tmp_path: Path, text: str) -> None:
    path = tmp_path / "logs.json"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=r"logs\.json: "):
        read_logs(path)
    path.write_text('{"orders-0": [], "orders-0": [[0, 1]]}')
    with pytest.raises(ScenarioError, match=r"logs\.json: 'orders-0' is there twice"):
        read_logs(path)
    path.write_text(json.dumps({X: [[0, 1]]}))
    assert read_logs(path) == {X: [[0, 1]]}


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ({}, "expected a list of records or null"),
        ([{}], "expected [offset, value] or [offset, value, attributes], not {}"),
        ([[0]], "expected [offset, value] or"),
        ([[0, 1, {}, 2]], "expected [offset, value] or"),
        ([["0", 1]], "expected an offset, not '0'"),
        ([[True, 1]], "expected an offset, not True"),
        ([[-1, 1]], "expected an offset, not -1"),
        ([[0, 1, []]], "expected a state (aborted, open) or a control"),
        ([[0, 1, {"stat": "open"}]], "expected a state"),
        ([[0, 1, {"state": "closed"}]], "expected a state"),
        ([[0, 1, {"control": "end"}]], "expected a state"),
        ([[0, None]], "expected a value at offset 0, not None"),
        ([[0, 1.5]], "expected a value at offset 0, not 1.5"),
    ],
)
def test_a_wrong_record_of_a_log_is_named(records: Any, problem: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        Book().send(0, (X, 1, 0)).judge({X: records})
    assert str(raised.value).startswith(f"logs: '{X}': ")
    assert problem in str(raised.value)


def test_records_of_logs_have_states_and_markers_have_no_value() -> None:
    book = Book().send(0, (X, 1, 0)).send(0, (X, "two", 1))
    log = [[0, 1], [1, "two", None], [2, 0, {"control": "commit"}], [3, None, {"state": "open", "control": "abort"}]]
    assert book.judge({X: log}).findings == ()
    assert Book().send(0, (X, 1, 0)).judge({X: [[0, 1, {"state": "open"}]]}).unknown == (
        "x-0: 1 acknowledged value in a transaction that is open in the log",
    )
    assert Book().send(0, (X, 1), end="info").judge({X: [[0, 1, {"state": "open"}]]}).unknown == ()


@pytest.mark.parametrize(("earlier_ms", "unknown"), [(1, 0), (2, 1), (0, 0)])
def test_a_final_poll_may_miss_what_is_acknowledged_later(earlier_ms: int, unknown: int) -> None:
    """The final poll begins a millisecond after the acknowledgement, or `earlier_ms` less."""
    book = Book().send(0, (X, 1, 0)).wait(-earlier_ms).finally_poll(1, {X: []})
    assert len(book.judge().unknown) == unknown


@pytest.mark.parametrize(("wait_ms", "unknown"), [(98, 0), (97, 1)])
def test_a_history_shorter_than_the_deadline_of_liveness_is_not_judged(wait_ms: int, unknown: int) -> None:
    book = Book().send(0, (X, 1, 0)).finally_poll(1, {X: [(0, 1)]}).wait(wait_ms - 2).flush(0)
    verdict = book.judge(**{"liveness.deadline.ms": 101, "faults": [{"kind": "partition", "to_ms": 1}]})
    assert len(verdict.unknown) == unknown
    assert book.judge().unknown == ()


@pytest.mark.parametrize(
    ("polled", "final", "logs", "unknown"),
    [
        ({X: [(0, 1)]}, False, {}, 1),
        ({X: [(0, 1)], Y: [(0, 2)]}, False, {}, 0),
        ({X: [(0, 1)]}, True, {}, 0),
        ({X: [(0, 1)]}, False, {X: [[0, 1]], Y: []}, 0),
        ({}, False, {}, 0),
    ],
)
def test_a_transaction_of_unknown_outcome_that_is_read_in_part_is_not_judged(
    polled: Any, final: bool, logs: dict[str, Any], unknown: int
) -> None:
    book = Book().txn(0, (X, 1), (Y, 2), end="info").poll(1, polled, final=final, assigned=(X, Y) if final else ())
    reasons = [each for each in book.judge(logs).unknown if "is read in part" in each]
    assert len(reasons) == unknown


def test_a_send_that_is_open_before_its_timeout_is_not_judged() -> None:
    book = Book().send(0, (X, 1), end=None).line(1, EventType.INVOKE, Function.SEND, Send(Y, 2))
    assert [each.partition(" before")[0] for each in book.judge().unknown] == [
        "x-0: 1 send open at the end,",
        "y-0: 1 send open at the end,",
    ]


def test_a_finding_names_its_partition_if_it_has_one() -> None:
    assert [each.key for each in Book().send(0, (X, 1), end="info").judge({X: [[0, 1]]}).findings] == [X]
    cycle = (
        Book()
        .begin(0, (X, 1), {})
        .begin(1, (Y, 2), {})
        .end(0, (X, 1, 0), {Y: [(0, 2)]})
        .end(1, (Y, 2, 0), {X: [(0, 1)]})
    )
    assert [(each.name, each.key) for each in cycle.judge().findings if each.name == "G1c"] == [("G1c", "")]


def test_one_acknowledged_send_of_an_open_value_is_enough() -> None:
    book = Book().send(0, (X, 1), end="info").send(1, (X, 1, 0))
    reasons = book.judge({X: [[0, 1, {"state": "open"}]]}).unknown
    assert reasons == ("x-0: 1 acknowledged value in a transaction that is open in the log",)
