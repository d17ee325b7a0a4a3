from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import fail

from broker_sim.control.events import (
    BatchAppended,
    Detail,
    LeaderElected,
    RuleFired,
    RuleReleased,
)
from broker_sim.errors import BrokerSimError
from broker_sim.faults.actions.requests.hold import Hold
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import Outcome, Phase
from broker_sim.faults.rule import Rule, RuleError
from broker_sim.faults.selection import Select
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from sim_runtime.virtual_reactor import VirtualReactor
from tests.broker_sim.faults.bench import Bench

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_engine_without_an_open_rule_is_not_active(bench: Bench) -> None:
    assert not bench.engine.open_phases
    bench.add(name="late", when={"acked_records": 10}, act="disconnect")
    assert not bench.engine.open_phases
    bench.acked(10)
    bench.reactor.run_for(ms=0)
    assert bench.engine.open_phases
    bench.engine.remove("late")
    assert not bench.engine.open_phases


def test_a_rule_fires_on_what_it_selects_and_nothing_else(bench: Bench) -> None:
    bench.add(
        select={"api": "Produce", "topic": "orders", "partition": [0], "broker": 1, "client": "app-*"},
        act={"error": "NOT_LEADER_OR_FOLLOWER"},
    )
    assert bench.intercept(client_id="web-1") is None
    assert bench.intercept(client_id="app-1", partition=1) is None
    assert bench.intercept(client_id="app-1", broker_id=2) is None
    assert bench.intercept(client_id="app-1", api_key=ApiKey.FETCH) is None
    fired = bench.intercept(client_id="app-1")
    assert fired is not None
    assert (fired.outcome, fired.error_code) == (Outcome.ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert bench.cluster.journal.count(kind=RuleFired) == 1


def test_a_request_of_another_api_passes_once_the_report_has_a_miss(bench: Bench) -> None:
    bench.add(name="r", select={"api": "Produce"}, phase="before_append", act="disconnect", times=1)
    before = Phase.BEFORE_APPEND
    assert not bench.engine.passes(before, ApiKey.FETCH)
    assert bench.intercept(api_key=ApiKey.FETCH) is None
    assert bench.engine.passes(before, ApiKey.FETCH)
    assert not bench.engine.passes(before, ApiKey.PRODUCE)
    assert "but others did, such as Fetch" in str(bench.engine.reports()[0])
    bench.add(name="any", phase="before_append", act="disconnect", times=2)
    assert not bench.engine.passes(before, ApiKey.FETCH)


def test_every_request_passes_a_rule_that_is_used_up_unless_it_is_observed(bench: Bench) -> None:
    bench.add(name="r", phase="before_append", act="disconnect", times=1)
    assert bench.intercept() is not None
    assert bench.engine.passes(Phase.BEFORE_APPEND, ApiKey.PRODUCE)
    bench.engine.observe(Phase.BEFORE_APPEND, lambda _: None)
    assert not bench.engine.passes(Phase.BEFORE_APPEND, ApiKey.PRODUCE)


def test_nth_counts_the_requests_that_fit(bench: Bench) -> None:
    bench.add(select={"topic": "orders", "nth": [2, 3]}, act="disconnect")
    assert [bench.intercept(topic=t) is not None for t in ("orders", "x", "orders", "orders", "orders")] == [
        False, False, True, True, False,
    ]  # fmt: skip


def test_share_is_drawn_from_the_rules_own_stream(bench: Bench) -> None:
    bench.add(name="some", select={"share": 0.3}, act="drop_response")
    drawn = [bench.intercept(Phase.BEFORE_PARSE) is not None for _ in range(1000)]
    assert 250 < sum(drawn) < 350
    again = Bench()
    again.add(name="other", act={"delay_ms": 1}, select={"api": "Fetch"})
    again.add(name="some", select={"share": 0.3}, act="drop_response")
    assert [again.intercept(Phase.BEFORE_PARSE) is not None for _ in range(1000)] == drawn


def test_times_bounds_the_firings(bench: Bench) -> None:
    bench.add(act="disconnect", times=2)
    assert [bench.intercept(Phase.BEFORE_PARSE) is not None for _ in range(3)] == [True, True, False]


def test_a_rule_without_replica_never_fires_on_followers(bench: Bench) -> None:
    bench.add(name="clients", select={"api": "Fetch"}, act="disconnect")
    assert bench.intercept(Phase.BEFORE_PARSE, api_key=ApiKey.FETCH, replica_id=2) is None
    assert bench.intercept(Phase.BEFORE_PARSE, api_key=ApiKey.FETCH) is not None
    bench.engine.remove("clients")
    bench.add(name="followers", select={"api": "Fetch", "replica": "any"}, act="disconnect")
    assert bench.intercept(Phase.BEFORE_PARSE, api_key=ApiKey.FETCH) is None
    assert bench.intercept(Phase.BEFORE_PARSE, api_key=ApiKey.FETCH, replica_id=2) is not None


def test_held_requests_go_on_in_order_when_the_rule_closes(bench: Bench) -> None:
    bench.add(name="lag", until={"after": "crash"}, act="hold")
    bench.add(name="crash", when={"appended_records": 5}, act={"kill": "leader of orders-1"})
    released: list[int] = []
    for number in range(3):
        fired = bench.intercept(Phase.BEFORE_PARSE)
        assert fired is not None
        assert fired.wait is not None
        fired.wait.addCallback(lambda _, number=number: released.append(number))
    bench.appended(4)
    bench.reactor.run_for(ms=10)
    assert released == []
    bench.appended(1)
    bench.reactor.run_for(ms=1)
    assert released == [0, 1, 2]
    assert bench.cluster.done == [("kill", 2)]
    assert bench.intercept(Phase.BEFORE_PARSE) is None
    assert bench.cluster.journal.events_of(RuleReleased)[0].released == 3


def test_a_share_of_the_load_needs_the_size_of_the_load(bench: Bench) -> None:
    bench.add(name="crash", when={"acked_share": 0.5, "delay_ms": 20}, act={"kill": 1})
    bench.acked(60)
    bench.reactor.run_for(ms=100)
    assert bench.cluster.done == []
    bench.engine.expect(records=100)
    bench.reactor.run_for(ms=19)
    assert bench.cluster.done == []
    bench.reactor.run_for(ms=1)
    assert bench.cluster.done == [("kill", 1)]


def test_a_range_is_drawn_once_by_the_seed() -> None:
    moments = []
    for _ in range(2):
        bench = Bench()
        bench.add(name="crash", when={"delay_ms": [100, 900]}, act={"kill": 1})
        while not bench.cluster.done:
            bench.reactor.run_for(ms=1)
        moments.append(bench.reactor.now_us)
    assert moments[0] == moments[1]
    assert 100_000 <= moments[0] - VirtualReactor().now_us <= 900_000


def test_a_killed_broker_comes_back_by_the_name_of_the_rule(bench: Bench) -> None:
    bench.add(name="crash", act={"kill": "leader of orders-1"})
    bench.add(name="back", when={"after": "crash", "delay_ms": 50}, act={"restart": "killed by crash"})
    bench.cluster.leaders["orders", 1] = 1
    bench.reactor.run_for(ms=60)
    assert bench.cluster.done == [("kill", 2), ("restart", 2)]


def test_a_request_that_kills_its_broker_gets_no_response(bench: Bench) -> None:
    bench.add(select={"topic": "orders", "nth": 1}, phase="after_append", act={"kill": "self"})
    fired = bench.intercept(Phase.AFTER_APPEND, broker_id=2)
    assert fired is not None
    assert fired.wait is not None
    assert bench.cluster.done == []
    bench.reactor.run_for(ms=0)
    assert bench.cluster.done == [("kill", 2)]
    assert fired.wait.called
    assert fired.outcome is Outcome.DISCONNECT


def test_the_report_names_rules_that_never_fired_and_the_nearest_miss(bench: Bench) -> None:
    bench.add(name="missed", select={"api": "Produce", "topic": "order"}, act="disconnect")
    bench.add(name="closed", when={"acked_records": 1_000_000}, act="disconnect")
    bench.add(name="allowed", select={"topic": "x"}, act="disconnect", optional=True)
    bench.add(name="late", select={"nth": {"at_least": 3}}, act="disconnect")
    bench.add(name="fired", act="disconnect")
    bench.intercept()
    bench.intercept(Phase.BEFORE_PARSE)
    assert [report.problem for report in bench.engine.reports()] == [
        'never fired, nearest miss: topic "orders" is not "order"',
        "never fired: its `when` was never reached (acked_records, 0 of 1000000)",
        None,
        "never fired, nearest miss: requests that fitted: 1, the rule fires on number 3 or higher",
        None,
    ]


def test_an_action_that_finds_no_broker_is_the_problem_of_its_rule(bench: Bench) -> None:
    del bench.cluster.leaders["orders", 1]
    bench.add(name="crash", act={"kill": "leader of orders-1"})
    assert bench.engine.reports()[0].problem == "broker: orders-1 has no leader"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"act": {"kill": 77}}, "act.kill: there is no broker 77: they are [1, 2]"),
        ({"act": {"stop": 77}}, "act.stop: there is no broker 77: they are [1, 2]"),
        ({"act": {"restart": 77}}, "act.restart: there is no broker 77: they are [1, 2]"),
        ({"act": {"fail_log_dir": 77}}, "act.fail_log_dir: there is no broker 77: they are [1, 2]"),
        ({"act": {"kill": "leader of order-0"}}, "act.kill: there is no topic 'order'; did you mean 'orders'?"),
        ({"act": {"kill": "leader of x-0"}}, "act.kill: there is no topic 'x': create it before the rule"),
        ({"act": {"kill": "leader of orders-2"}}, "act.kill: topic 'orders' has no partition 2: it has 2 (0 to 1)"),
        ({"act": {"kill": "active controller"}}, "act.kill: the cluster has one controller, which never fails"),
        ({"act": "hold", "select": {"broker": 9}}, "select.broker: there is no broker 9: they are [1, 2]"),
        ({"act": "hold", "select": {"replica": 9}}, "select.replica: there is no broker 9: they are [1, 2]"),
        (
            {"act": "hold", "select": {"topic": "orders", "partition": [0, 5]}},
            "select.partition: topic 'orders' has no partition 5: it has 2 (0 to 1)",
        ),
    ],
)
def test_a_rule_on_what_the_cluster_does_not_have_is_refused_and_not_added(
    bench: Bench, written: dict[str, Any], problem: str
) -> None:
    with pytest.raises(RuleError, match=re.escape(problem)):
        bench.add(**written)
    assert bench.engine.reports() == []


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (Rule(name="a", act=Hold(), phase=Phase.BEFORE_PARSE, select=Select(api="Prodcue")), "did you mean 'Produce'?"),
        (Rule(name="a", act=Hold()), "phase: missing: hold acts on a request"),
    ],
)
def test_a_rule_object_is_checked_as_a_written_rule(bench: Bench, rule: Rule, problem: str) -> None:
    with pytest.raises(RuleError, match=re.escape(problem)):
        bench.engine.add(rule)


@pytest.mark.parametrize("action", ["kill", "stop"])
def test_an_action_on_a_dead_broker_does_not_count_as_fired(bench: Bench, action: str) -> None:
    bench.cluster.dead.add(2)
    bench.add(name="late", act={action: 2})
    bench.reactor.run_for(ms=1)
    [report] = bench.engine.reports()
    assert (report.fired, report.problem) == (0, "never fired, nearest miss: broker 2 is not running")
    assert bench.cluster.done == []


def test_a_verb_that_raises_is_the_problem_of_its_rule(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_log_dir(broker_id: int, log_dir: str | None = None) -> None:
        raise BrokerSimError(f"broker {broker_id} has no log directory {log_dir!r}")

    monkeypatch.setattr(bench.cluster, "fail_log_dir", fail_log_dir, raising=False)
    bench.add(name="disk", act={"fail_log_dir": {"broker": 1, "log_dir": "nope"}})
    bench.reactor.run_for(ms=1)
    assert bench.engine.reports()[0].problem == "broker 1 has no log directory 'nope'"


def test_a_verb_that_fails_late_is_the_problem_of_its_rule(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.cluster, "restart", lambda _: fail(BrokerSimError("the disk is gone")))
    bench.add(name="back", act={"restart": 1})
    bench.reactor.run_for(ms=1)
    assert bench.engine.reports()[0].problem == "the disk is gone"


def test_a_delayed_or_held_request_is_pending(bench: Bench) -> None:
    bench.add(name="slow", select={"topic": "orders"}, act={"delay_ms": 50})
    assert bench.engine.pending() == []
    bench.intercept()
    assert bench.engine.pending() == ["rule 'slow' delays or holds 1 requests"]
    bench.reactor.run_for(ms=50)
    assert bench.engine.pending() == []


def test_names_are_taken_once_and_unknown_names_are_refused(bench: Bench) -> None:
    bench.add(name="a", act="hold")
    with pytest.raises(RuleError, match="earlier rule"):
        bench.add(name="a", act="hold")
    with pytest.raises(RuleError, match=r"no rule is named 'b'; the rules are a"):
        bench.engine.release("b")


@pytest.mark.parametrize("detail", list(Detail))
def test_a_gate_opens_with_a_journal_of_any_detail(replicas: Callable[..., Any], detail: Detail) -> None:
    made = replicas(detail=detail)
    rule = {"name": "crash", "when": {"acked_records": 2, "appended_batches": 2}, "act": {"kill": 3}}
    made.cluster.faults.add(parse_rule(rule))
    made.produce(0)
    assert made.cluster.is_running(3)
    made.produce(1)
    made.run(ms=1)
    assert not made.cluster.is_running(3)
    assert bool(made.journal.events_of(BatchAppended)) == (detail is Detail.FULL)


def elected(bench: Bench, topic: str = "orders", leader: int = 1, isr: tuple[int, ...] = (1, 2)) -> None:
    bench.cluster.journal.append(
        LeaderElected(
            time_us=bench.reactor.now_us, broker_id=leader, topic=topic, partition=0, previous_leader=2,
            leader_epoch=3, isr=isr, unclean=False,
        )
    )  # fmt: skip


def test_a_gate_counts_events_that_fit_from_the_moment_on_which_it_waits(bench: Bench) -> None:
    elected(bench)
    bench.add(
        name="crash",
        when={"event": {"kind": "LeaderElected", "topic": "ord*", "leader_epoch": {"at_least": 3}, "count": 2}},
        act={"kill": 1},
        until={"event": {"kind": "LeaderElected", "isr": [2]}},
    )
    elected(bench, topic="x")
    elected(bench)
    bench.reactor.run_for(ms=1)
    assert bench.cluster.done == []
    elected(bench, isr=(2,))
    bench.reactor.run_for(ms=1)
    assert bench.cluster.done == [("kill", 1)]
    elected(bench, isr=(2,))
    bench.reactor.run_for(ms=1)
    assert bench.cluster.done == [("kill", 1), ("restart", 1)]


def test_a_time_counts_from_the_start_of_the_load(bench: Bench) -> None:
    bench.add(name="crash", when={"at_ms": 50}, act={"kill": 1})
    bench.add(name="crash2", when={"at_ms": 70}, act={"kill": 2})
    bench.reactor.run_for(ms=20)
    bench.engine.start_load()
    bench.reactor.run_for(ms=49)
    assert bench.cluster.done == []
    bench.reactor.run_for(ms=2)
    assert bench.cluster.done == [("kill", 1)]
    bench.reactor.run_for(ms=20)
    assert bench.cluster.done == [("kill", 1), ("kill", 2)]


def test_a_gate_counts_the_firings_of_a_rule(bench: Bench) -> None:
    bench.add(name="lose", act="disconnect")
    bench.add(name="crash", when={"fired": {"rule": "lose", "times": 3}}, act={"kill": 1})
    for count in range(3):
        bench.reactor.run_for(ms=1)
        assert bench.cluster.done == [], count
        bench.intercept(Phase.BEFORE_PARSE)
    bench.reactor.run_for(ms=1)
    assert bench.cluster.done == [("kill", 1)]


def test_an_action_on_the_cluster_repeats(bench: Bench) -> None:
    bench.add(name="again", act={"restart": 1}, every_ms=100, times=3)
    bench.reactor.run_for(ms=150)
    assert bench.cluster.done == [("restart", 1)] * 2
    bench.reactor.run_for(ms=1000)
    assert bench.cluster.done == [("restart", 1)] * 3
    bench.add(name="until", act={"restart": 2}, every_ms=100, until={"delay_ms": 250})
    bench.reactor.run_for(ms=1000)
    assert bench.cluster.done[3:] == [("restart", 2)] * 3


def test_every_rule_that_fits_fires_in_the_order_of_the_file(bench: Bench) -> None:
    bench.add(name="late", when={"delay_ms": 1}, act={"delay_ms": 30}, select={"topic": "orders"})
    bench.add(name="see", act="observe", select={"topic": "orders"})
    bench.add(name="slow", act={"delay_ms": 20}, select={"topic": "orders"})
    bench.add(name="keep", act="hold", select={"topic": "orders"})
    bench.add(name="fail", act={"error": "NOT_LEADER_OR_FOLLOWER"}, select={"topic": "orders"}, times=1)
    bench.add(name="lose", act="disconnect", select={"topic": "orders"}, times=1)
    bench.reactor.run_for(ms=1)
    first, second, third = bench.intercept(), bench.intercept(), bench.intercept()
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.outcome, second.outcome, third.outcome) == (Outcome.ERROR, Outcome.DISCONNECT, Outcome.PROCEED)
    assert [report.fired for report in bench.engine.reports()] == [3, 3, 3, 3, 1, 1]
    assert [event.rule for event in bench.cluster.journal.events_of(RuleFired)][:5] == [
        "late", "see", "slow", "keep", "fail",
    ]  # fmt: skip
    assert first.wait is not None
    bench.engine.release("keep")
    bench.reactor.run_for(ms=49)
    assert not first.wait.called or first.wait.paused
    bench.reactor.run_for(ms=2)
    assert bench.engine.pending() == []


def test_a_rule_that_cannot_decide_any_more_names_the_earlier_one(bench: Bench) -> None:
    bench.add(name="first", act="disconnect")
    bench.add(name="second", act={"error": "NOT_LEADER_OR_FOLLOWER"})
    bench.intercept(Phase.BEFORE_PARSE)
    assert bench.engine.reports()[1].problem == "never fired, nearest miss: an earlier rule has decided the outcome"
    assert bench.engine.reports()[1].matched == 1


def test_draws_are_recorded_by_name_and_replayed(bench: Bench) -> None:
    rules = {
        "slow": {"act": {"delay_ms": [10, 90]}, "select": {"share": 0.5}, "phase": "before_parse"},
        "crash": {"act": {"kill": "any"}, "when": {"delay_ms": {"one_of": [5, 7]}}},
    }
    for name, rule in rules.items():
        bench.add(name=name, **rule)
    for _ in range(10):
        bench.intercept(Phase.BEFORE_PARSE)
    bench.reactor.run_for(ms=10)
    made = {report.name: dict(report.decisions) for report in bench.engine.reports()}
    selected = made["slow"].pop("share")
    assert isinstance(selected, tuple)
    assert 0 < len(selected) < 10
    assert list(made["slow"]) == [f"act.delay_ms@{number + 1}" for number in range(len(selected))]
    assert list(made["crash"]) == ["when.delay_ms", "act.broker@1"]
    event = bench.cluster.journal.events_of(RuleFired)[0]
    assert event.decisions == f"share {selected[0]}, act.delay_ms@1 {made['slow']['act.delay_ms@1']:g}"

    again = Bench()
    again.engine.replay({"slow": {"share": (2, 9), "act.delay_ms@1": 33.0}, "crash": {"act.broker@1": 2}})
    for name, rule in rules.items():
        again.add(name=name, **rule)
    delays = [each.wait is not None for _ in range(10) if (each := again.intercept(Phase.BEFORE_PARSE)) is not None]
    again.reactor.run_for(ms=10)
    assert len(delays) == 2
    replayed = {report.name: report.decisions for report in again.engine.reports()}
    assert replayed["slow"]["act.delay_ms@1"] == 33.0
    assert replayed["slow"]["share"] == (2, 9)
    assert again.cluster.done == [("kill", 2)]
    assert replayed["crash"]["when.delay_ms"] == made["crash"]["when.delay_ms"]


def test_a_rule_is_waited_for(bench: Bench) -> None:
    bench.add(name="see", act="observe")
    seen: list[object] = []
    bench.engine.wait_for("see", fired=2, timeout_ms=1_000).addCallback(seen.append)
    late = bench.engine.wait_for("see", fired=9, timeout_ms=1_000)
    bench.intercept(Phase.BEFORE_PARSE)
    bench.reactor.run_for(ms=1)
    assert seen == []
    bench.intercept(Phase.BEFORE_PARSE)
    bench.reactor.run_for(ms=1)
    assert seen == [2]
    late.addErrback(lambda failure: seen.append(failure.getErrorMessage()))
    bench.reactor.run_for(ms=1_000)
    assert seen[1] == "waited 1000 ms for rule 'see' to fire 9 times (then: 0); timeout_ms allows longer"


@pytest.mark.parametrize(
    ("broker", "victim"), [("any follower of orders-1", 1), ("coordinator of group billing", 2), (2, 2)]
)
def test_a_broker_is_found_by_its_role(bench: Bench, broker: object, victim: int) -> None:
    bench.add(name="crash", act={"kill": broker})
    bench.reactor.run_for(ms=1)
    assert bench.cluster.done == [("kill", victim)]


def test_a_role_without_a_broker_is_the_problem_of_its_rule(bench: Bench) -> None:
    bench.cluster.dead.update((1, 2))
    bench.add(name="a", act={"restart": "any"})
    bench.add(name="b", act={"restart": "coordinator of transaction t"})
    assert [report.problem for report in bench.engine.reports()] == [
        "broker: no broker is running", "broker: transaction t has no coordinator",
    ]  # fmt: skip


def test_a_connection_is_selected_by_its_number(bench: Bench) -> None:
    bench.add(name="second", act="disconnect", select={"connection": 2, "client": "app"})
    points = [("app", "a"), ("app", "a"), ("web", "w"), ("app", "b"), ("app", "c"), ("app", "b")]
    fired = [
        bench.intercept(Phase.BEFORE_PARSE, client_id=client, connection_id=connection) is not None
        for client, connection in points
    ]
    assert fired == [False, False, False, True, False, True]


def test_an_effect_that_lasts_ends_with_its_rule(bench: Bench) -> None:
    bench.add(name="crash", act={"kill": 1}, until={"delay_ms": 100})
    bench.add(name="gone", act={"kill": 2})
    bench.reactor.run_for(ms=10)
    bench.engine.end()
    bench.reactor.run_for(ms=10)
    assert bench.cluster.done == [("kill", 1), ("kill", 2), ("restart", 1)]


def test_an_optional_rule_may_find_nothing_to_act_on(bench: Bench) -> None:
    for optional in (True, False):
        rule = {"name": f"optional {optional}", "act": {"kill": "coordinator of group other"}, "optional": optional}
        bench.engine.add(parse_rule(rule), checked=True)
    optional, needed = bench.engine.reports()
    assert (optional.fired, optional.problem) == (0, None)
    assert needed.problem == "broker: group other has no coordinator"
