from __future__ import annotations

from itertools import count, pairwise
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.playing.run_history import RunHistory
from tests.scenarios.playing.runs import play, play_scenario, scenario_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ONE = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 2, replication_factor: 1}}
clients:
  app: {producer: CONFIG, script: SCRIPT}
rules: RULES
expect: EXPECT
deadline_s: 300
"""


def one(
    script: str, *, config: str = "{linger.ms: 0}", rules: str = "{}", expect: str = "{verdict: any}", flip: str = ""
) -> str:
    filled = (("CONFIG", config), ("SCRIPT", script), ("RULES", rules), ("EXPECT", expect))
    text = ONE
    for name, value in filled:
        text = text.replace(name, value)
    return text + flip


def test_a_lost_response_is_a_second_copy_and_the_flip_has_none(tmp_path: Path) -> None:
    text = one(
        "[{send: {count: 3, wait: true}}, flush, close]",
        config="{enable.idempotence: false, linger.ms: 0}",
        rules="{lose: {select: {api: Produce, nth: 2}, phase: before_response, act: disconnect}}",
        expect="{duplicate: 1, lost: 0, outcome: {ok: 3, fail: 0, info: 0, open: 0}}",
        flip="flip: {why: w, clients: {app: {producer: {enable.idempotence: true}}}, expect: {duplicate: 0}}\n",
    )
    for side in scenario_of(tmp_path, text).sides():
        assert play_scenario(side).run.judgement.misses == ()


def test_a_request_whose_response_is_dropped_is_served_in_any_phase(tmp_path: Path) -> None:
    text = one(
        "[{send: {count: 1, wait: true}}, close]",
        config="{enable.idempotence: false, linger.ms: 0, request.timeout.ms: 500}",
        rules="{lose: {select: {api: Produce, nth: 1}, PHASE act: drop_response}}",
        expect="{duplicate: 1, outcome: {ok: 1}}",
    )
    for phase in ("", "phase: before_parse,", "phase: before_append,", "phase: before_response,"):
        assert play_scenario(scenario_of(tmp_path, text.replace("PHASE", phase))).run.judgement.misses == ()


def test_each_partition_gets_as_many_records(tmp_path: Path) -> None:
    played = play(tmp_path, one("[{send: {partition: each, count: 3, every_ms: 10}}, flush, close]"))
    invoked = [event for event in played.evidence.history if event.type == "invoke"]
    reported = [event.partition for event in played.evidence.history if event.type == "ok"]
    assert sorted(reported) == [0, 0, 0, 1, 1, 1]
    assert {later.time_us - event.time_us for event, later in pairwise(invoked)} == {10_000}


def test_a_script_waits_until_the_faults_are_over(tmp_path: Path) -> None:
    rules = "{crash: {when: {at_ms: 200}, act: {kill: 1}, until: {delay_ms: 700}}}"
    played = play(tmp_path, one("[{wait: {healed: true}}, {send: 1}, flush, close]", rules=rules))
    [invoked, _] = played.evidence.history
    assert 900_000 <= invoked.time_us - played.evidence.truth.journal[0].time_us <= 1_500_000
    late = play(tmp_path, one("[{wait: {healed: true, timeout_ms: 300}}, close]", rules=rules))
    assert any("300 ms for the end of all faults" in problem for problem in late.evidence.problems)


def test_a_close_in_order_awaits_the_sends_before_it(tmp_path: Path) -> None:
    played = play(tmp_path, one("[{send: 3}, close]", expect="{outcome: {ok: 3}}"))
    assert played.run.judgement.misses == ()
    given_up = play(tmp_path, one("[{send: 3}, {close: {timeout_ms: 0}}]", expect="{verdict: any, outcome: {fail: 3}}"))
    assert given_up.run.judgement.misses == ()


def test_a_wait_for_metadata_takes_of_the_time_of_a_close(tmp_path: Path) -> None:
    measure = "{measures: {closing: {measure: longest_call_ms, call: close, is: '<= 2100'}}, outcome: {fail: 1}}"
    rules = "{silent: {select: {api: Metadata}, phase: before_response, act: hold}}"
    played = play(tmp_path, one("[{send: 1}, {close: {timeout_ms: 2000}}]", rules=rules, expect=f"{measure}"))
    assert played.run.judgement.misses == (
        "verdict unknown, expected valid: no record was acknowledged: nothing was tested",
    )


def test_records_go_where_the_script_sends_them(tmp_path: Path) -> None:
    send = (
        "{partition: 1, key: a, count: 2, timestamp_ms: 1700000000000, headers: {h: x}, size_bytes: 50, every_ms: 20}"
    )
    played = play(tmp_path, one(f"[{{send: {send}}}, {{send: {{partition: 0}}}}, flush, close]"))
    stored = played.evidence.truth.stored
    assert sorted((each.partition, each.offset) for each in stored) == [(0, 0), (1, 0), (1, 1)]
    oks = [event for event in played.evidence.history if event.type == "ok"]
    assert [event.timestamp_ms for event in oks if event.partition == 1] == [1_700_000_000_000] * 2
    invokes = [event for event in played.evidence.history if event.type == "invoke"]
    assert invokes[1].time_us - invokes[0].time_us == 20_000


HOLD = "{hold: {select: {api: Produce}, phase: after_append, act: hold}}"


def test_a_crash_leaves_outcomes_unknown_and_a_restart_with_outbox_sends_again(tmp_path: Path) -> None:
    script = "[{send: 2}, {wait: {rule: hold}}, crash, {wait: 50}, {restart: {outbox: true}}, flush, close]"
    rules = HOLD.replace("act: hold", "act: hold, times: 1")
    played = play(tmp_path, one(script, rules=rules, expect="{duplicate: 2, outcome: {ok: 2, info: 2}}"))
    assert played.run.judgement.misses == ()
    assert played.run.verdict.groups[0].cause == "application-resend"
    assert sorted(played.evidence.groups) == [0, 1], "the new process has a number of its own"


def test_a_program_that_exits_leaves_its_buffer_unsent_and_unreported(tmp_path: Path) -> None:
    played = play(tmp_path, one("[{send: 3}, exit]", config="{linger.ms: 1000}", expect="{unresolved: 3}"))
    assert played.evidence.truth.stored == []
    assert played.run.verdict.found("unresolved") == 3


def test_an_application_sends_again_what_timed_out(tmp_path: Path) -> None:
    config = "{linger.ms: 0, request.timeout.ms: 500, delivery.timeout.ms: 1000, retries: 0}"
    script = "[{send: 1}, flush, {resend: unknown}, flush, close]"
    rules = HOLD.replace("act: hold", "act: hold, times: 1, until: {after: hold, delay_ms: 3000}")
    played = play(tmp_path, one(script, config=config, rules=rules))
    assert played.history.outcomes["info"] == 1
    assert played.history.outcomes["REQUEST_TIMED_OUT"] == 1
    assert played.run.verdict.counts.duplicated == 1


def test_a_step_that_takes_too_long_is_recorded_and_the_script_goes_on(tmp_path: Path) -> None:
    rules = HOLD.replace("act: hold", "act: hold, until: {after: hold, delay_ms: 5000}")
    played = play(tmp_path, one("[{send: 1}, {flush: {timeout_ms: 100}}, {send: 1}, flush, close]", rules=rules))
    assert [(each.type, each.error) for each in played.operations("flush")] == [
        ("info", "DeadlineExceeded"),
        ("ok", None),
    ]
    assert played.history.outcomes["ok"] == 2


def test_a_script_waits_for_rules_times_records_and_events(tmp_path: Path) -> None:
    script = (
        "[{send: 1}, {wait: {acked: 1}}, {wait: {event: {kind: BatchAppended, topic: orders}}}, "
        "{wait: {ms: 100}}, {send: 1}, flush, close]"
    )
    played = play(tmp_path, one(script))
    invokes = [event.time_us for event in played.evidence.history if event.type == "invoke"]
    assert invokes[1] - invokes[0] >= 100_000
    late = play(tmp_path, one("[{wait: {acked: 5, timeout_ms: 200}}, close]"))
    assert late.run.judgement.misses == ("client app: waited 200 ms for 5 acknowledged records (timeout_ms)",)


def test_a_client_waits_for_the_end_of_another(tmp_path: Path) -> None:
    text = one("[{wait: {client: first}}, {send: 1}, flush, close]").replace(
        "clients:", "clients:\n  first: {producer: {}, script: [{wait: 300}, {send: 1}, flush, close]}"
    )
    played = play(tmp_path, text)
    invokes = [(event.process, event.time_us) for event in played.evidence.history if event.type == "invoke"]
    assert [process for process, _ in invokes] == [0, 1]


def test_a_load_and_a_script_run_side_by_side(tmp_path: Path) -> None:
    text = one("[{repeat: {times: 3, every_ms: 50, steps: [{send: 1}]}}, flush, close]").replace(
        "clients:",
        "clients:\n  bulk: {count: 2, producer: {}, load: {records: 40, rate_per_second: 400, after_ms: 20}}",
    )
    played = play(tmp_path, text)
    assert played.history.outcomes["ok"] == 43
    assert len({record.value_id for record in played.evidence.truth.stored}) == 43


def test_an_act_of_a_script_is_that_of_a_rule(tmp_path: Path) -> None:
    acts = "{act: {kill: leader of orders-0}}, {wait: 2000}, {act: {restart: 1}}"
    text = one(f"[{{send: 1}}, flush, {acts}, {{send: 1}}, flush, close]", expect="{lost: 0, outcome: {ok: 2}}")
    assert play(tmp_path, text).run.judgement.misses == ()


@pytest.mark.parametrize("seed", range(3))
def test_the_same_file_and_seed_give_the_same_run(tmp_path: Path, seed: int) -> None:
    text = one("[{send: {count: 5, every_ms: 3}}, crash, {restart: {outbox: true}}, flush, close]")
    digests = {play(tmp_path, text, seed).evidence.facts["digest"] for _ in range(2)}
    assert len(digests) == 1


def test_an_unexpected_outcome_is_a_miss_that_shows_all(tmp_path: Path) -> None:
    played = play(tmp_path, one("[{send: 2}, flush, close]", expect="{outcome: {ok: 3}}"))
    assert played.run.judgement.misses == ("2 sends ended with ok, expected exactly 3 (there were 2 ok)",)


@pytest.mark.parametrize("call", ["flush", "close"])
def test_a_delivery_callback_calls_the_producer(tmp_path: Path, call: str) -> None:
    played = play(tmp_path, one(f"[{{send: {{count: 2, on_delivery: {call}}}}}, {{wait: 1000}}]"))
    delivered = [event.time_us for event in played.evidence.history if event.type == "ok"]
    assert [(each.invoked_us, each.type) for each in played.operations(call)] == [(at, "ok") for at in delivered]


class TickingHistory(RunHistory):
    """A history whose clock moves with each reading, as real time does."""

    def __init__(self, run_id: str, now_us: Callable[[], int]) -> None:
        ticks = count()
        super().__init__(run_id, lambda: now_us() + next(ticks))


def test_an_open_transaction_ends_before_the_crash_of_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker_scenarios.virtual_run.RunHistory", TickingHistory)
    script = "[init, begin, {send: 1}, flush, crash, restart, init, begin, {send: 1}, commit, close]"
    played = play(tmp_path, one(script, config="{transactional.id: t}", expect="{transactions: {ok: 1, info: 1}}"))
    assert played.run.judgement.misses == ()
    (crash,) = played.operations("crash")
    assert played.operations("txn")[0].completed_us < crash.invoked_us


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ("close", "fail"),
        ("abort", "fail"),
        ("{commit: {or_abort: false}}, close", "info"),
        ("exit", "info"),
        ("{wait: 1}", "open"),
    ],
)
def test_a_transaction_that_nothing_ends_failed_unless_a_commit_was_tried(
    tmp_path: Path, end: str, outcome: str
) -> None:
    """An open commit may have happened, without one nothing can have."""
    script = f"[init, begin, {{send: 1}}, flush, {end}]"
    act = "{optional: true, select: {api: EndTxn}, phase: before_append, act: {error: INVALID_PRODUCER_EPOCH}}"
    expect = f"{{verdict: any, transactions: {{{outcome}: 1}}}}"
    text = one(script, config="{transactional.id: t}", rules=f"{{refuse: {act}}}", expect=expect)
    played = play(tmp_path, text)
    assert played.run.judgement.misses == ()
    assert played.run.verdict.found("unresolved") == 0


def test_an_abort_alone_tests_something(tmp_path: Path) -> None:
    script = "[init, begin, {send: 1}, flush, abort, close]"
    played = play(tmp_path, one(script, config="{transactional.id: t}", expect="{acked: 0, transactions: {fail: 1}}"))
    assert played.run.judgement.misses == ()


def test_a_deleted_topic_takes_its_records_along(tmp_path: Path) -> None:
    script = "[{send: {count: 3, wait: true}}, {act: {recreate_topic: orders}}, {send: {count: 5, wait: true}}, close]"
    played = play(tmp_path, one(script, expect="{lost: '>= 3', inconsistent-offsets: '>= 1'}"))
    assert played.run.judgement.misses == ()
    assert {group.cause for group in played.run.verdict.groups} == {"topic-deleted"}
    assert all(group.permitted_because == "its topic was deleted" for group in played.run.verdict.groups)


def test_a_topic_may_be_read_at_the_end_alone(tmp_path: Path) -> None:
    text = one("[{send: {count: 3, wait: true}}, close]", expect="{unseen: 0}").replace(
        "rules:", "  reader: {consumer: {}, final_polls: true}\nrules:"
    )
    played = play(tmp_path, text)
    assert played.run.judgement.misses == ()
    assert next(mop for each in played.operations("poll") for mop in each.results)[1]


def test_a_transaction_that_loses_its_marker_hangs_beside_other_producers(tmp_path: Path) -> None:
    """The limit is the time-out of transactions; the default of producers without one is longer than the run."""
    text = """
title: t
cluster: {brokers: 3, config: {transaction.state.log.num.partitions: 1}, defects: [moved-coordinator-loses-a-marker]}
topics: {orders: {partitions: 2, replication_factor: 3}}
clients:
  app:
    producer: {transactional.id: t, linger.ms: 0, transaction.timeout.ms: 2000}
    script:
      - init
      - begin
      - {send: {partition: 0, wait: true}}
      - {send: {partition: 1, wait: true}}
      - commit
      - {wait: 1000}
      - close
  other:
    producer: {linger.ms: 0}
    script:
      - {wait: {client: app}}
      - {send: {partition: 0, count: 15, every_ms: 400}}
      - {send: {partition: 1, count: 15, every_ms: 400}}
      - close
  reader:
    consumer: {isolation.level: read_committed, auto.offset.reset: earliest}
    script: [{assign: {orders: all}}, {poll: {records: 99, timeout_ms: 25000}}, close]
rules:
  hold:
    select: {api: WriteTxnMarkers, replica: any}
    phase: before_parse
    act: hold
    until: {after: move, delay_ms: 500}
  move: {when: {after: hold}, act: {kill: coordinator of transaction t}}
expect: {verdict: broken, hung-txn: '>= 1', lost-write: 1}
"""
    played = play(tmp_path, text, seed=0)
    assert played.run.judgement.misses == ()
    (loss,) = [group for group in played.run.verdict.groups if group.kind == "lost-write"]
    assert (loss.why, loss.permitted_because) == ("the log holds it in a transaction that no marker has ended", None)


def test_a_broker_that_is_killed_as_the_scripts_end_comes_back(tmp_path: Path) -> None:
    played = play(tmp_path, one("[flush]", rules="{end: {act: {kill: leader of orders-0}}}"))
    assert played.evidence.truth.caveats == ()
