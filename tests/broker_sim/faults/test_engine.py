from __future__ import annotations

from typing import Any

import pytest

from broker_sim.control.events import BatchAppended, ProduceAnswered, RuleFired, RuleReleased
from broker_sim.control.journal import Journal
from broker_sim.faults.engine import FaultEngine
from broker_sim.faults.grammar import RuleError, parse_rule
from broker_sim.faults.interception import FaultPoint, Interception, Outcome, Phase
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor


class FakeCluster:
    """A cluster of two brokers that only takes note."""

    def __init__(self, reactor: VirtualReactor) -> None:
        self.journal = Journal(lambda: reactor.now_us)
        self.done: list[tuple[str, int]] = []
        self.leaders: dict[tuple[str, int], int] = {("orders", 0): 1, ("orders", 1): 2}

    def kill(self, broker_id: int) -> None:
        self.done.append(("kill", broker_id))

    def restart(self, broker_id: int) -> None:
        self.done.append(("restart", broker_id))

    def stop(self, broker_id: int) -> None:
        self.done.append(("stop", broker_id))

    def leader_of(self, topic: str, partition: int) -> int | None:
        return self.leaders.get((topic, partition))


class Bench:
    def __init__(self) -> None:
        self.reactor = VirtualReactor()
        self.cluster = FakeCluster(self.reactor)
        self.engine = FaultEngine(cluster=self.cluster, reactor=self.reactor, streams=RandomStreams(7))

    def add(self, **written: Any) -> None:
        self.engine.add(parse_rule(written))

    def strike(self, phase: Phase = Phase.BEFORE_APPEND, **point: Any) -> Interception | None:
        values = {"broker_id": 1, "api_key": ApiKey.PRODUCE, "topic": "orders", "partition": 0} | point
        return self.engine.intercept(phase, FaultPoint(**values))

    def acked(self, records: int) -> None:
        self.cluster.journal.append(
            ProduceAnswered(
                time_us=self.reactor.now_us, broker_id=1, topic="orders", partition=0, error_code=0, base_offset=0,
                required_offset=records, high_watermark=0, leader_epoch=0, isr=(1,), acks=1,
            )
        )  # fmt: skip

    def appended(self, records: int) -> None:
        self.cluster.journal.append(
            BatchAppended(
                time_us=self.reactor.now_us, broker_id=1, topic="orders", partition=0, base_offset=0,
                last_offset=records - 1, leader_epoch=0, records=records, size=1,
            )
        )  # fmt: skip


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


def test_a_rule_strikes_what_it_selects_and_nothing_else(bench: Bench) -> None:
    bench.add(
        select={"api": "Produce", "topic": "orders", "partition": [0, 2], "broker": 1, "client": "app-*"},
        act={"error": "NOT_LEADER_OR_FOLLOWER"},
    )
    assert bench.strike(client_id="web-1") is None
    assert bench.strike(client_id="app-1", partition=1) is None
    assert bench.strike(client_id="app-1", broker_id=2) is None
    assert bench.strike(client_id="app-1", api_key=ApiKey.FETCH) is None
    struck = bench.strike(client_id="app-1")
    assert struck is not None
    assert (struck.outcome, struck.error_code) == (Outcome.ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert bench.cluster.journal.count(kind=RuleFired) == 1


def test_nth_counts_the_requests_that_fit(bench: Bench) -> None:
    bench.add(select={"topic": "orders", "nth": [2, 3]}, act="disconnect")
    assert [bench.strike(topic=t) is not None for t in ("orders", "x", "orders", "orders", "orders")] == [
        False, False, True, True, False,
    ]  # fmt: skip


def test_share_is_drawn_from_the_rules_own_stream(bench: Bench) -> None:
    bench.add(name="some", select={"share": 0.3}, act="drop_response")
    drawn = [bench.strike(Phase.BEFORE_PARSE) is not None for _ in range(1000)]
    assert 250 < sum(drawn) < 350
    again = Bench()
    again.add(name="other", act={"delay_ms": 1}, select={"api": "Fetch"})
    again.add(name="some", select={"share": 0.3}, act="drop_response")
    assert [again.strike(Phase.BEFORE_PARSE) is not None for _ in range(1000)] == drawn


def test_times_bounds_the_strikes(bench: Bench) -> None:
    bench.add(act="disconnect", times=2)
    assert [bench.strike(Phase.BEFORE_PARSE) is not None for _ in range(3)] == [True, True, False]


def test_a_rule_without_replica_never_means_followers(bench: Bench) -> None:
    bench.add(name="clients", select={"api": "Fetch"}, act="disconnect")
    assert bench.strike(Phase.BEFORE_PARSE, api_key=ApiKey.FETCH, replica_id=2) is None
    assert bench.strike(Phase.BEFORE_PARSE, api_key=ApiKey.FETCH) is not None
    bench.engine.remove("clients")
    bench.add(name="followers", select={"api": "Fetch", "replica": "any"}, act="disconnect")
    assert bench.strike(Phase.BEFORE_PARSE, api_key=ApiKey.FETCH) is None
    assert bench.strike(Phase.BEFORE_PARSE, api_key=ApiKey.FETCH, replica_id=2) is not None


def test_held_requests_go_on_in_order_when_the_rule_closes(bench: Bench) -> None:
    bench.add(name="lag", until={"after": "crash"}, act="hold")
    bench.add(name="crash", when={"appended_records": 5}, act={"kill": "leader of orders-1"})
    released: list[int] = []
    for number in range(3):
        struck = bench.strike(Phase.BEFORE_PARSE)
        assert struck is not None
        assert struck.wait is not None
        struck.wait.addCallback(lambda _, number=number: released.append(number))
    bench.appended(4)
    bench.reactor.run_for(ms=10)
    assert released == []
    bench.appended(1)
    bench.reactor.run_for(ms=1)
    assert released == [0, 1, 2]
    assert bench.cluster.done == [("kill", 2)]
    assert bench.strike(Phase.BEFORE_PARSE) is None
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


def test_a_request_that_kills_its_broker_is_never_answered(bench: Bench) -> None:
    bench.add(select={"topic": "orders", "nth": 1}, phase="after_append", act={"kill": "self"})
    struck = bench.strike(Phase.AFTER_APPEND, broker_id=2)
    assert struck is not None
    assert struck.wait is not None
    assert bench.cluster.done == []
    bench.reactor.run_for(ms=0)
    assert bench.cluster.done == [("kill", 2)]
    assert struck.wait.called
    assert struck.outcome is Outcome.DISCONNECT


def test_the_report_names_rules_that_never_fired_and_the_nearest_miss(bench: Bench) -> None:
    bench.add(name="missed", select={"api": "Produce", "topic": "order"}, act="disconnect")
    bench.add(name="closed", when={"acked_records": 1_000_000}, act="disconnect")
    bench.add(name="allowed", select={"topic": "x"}, act="disconnect", optional=True)
    bench.add(name="fired", act="disconnect")
    bench.strike()
    bench.strike(Phase.BEFORE_PARSE)
    assert [report.problem for report in bench.engine.reports()] == [
        'never fired, nearest miss: topic "orders" is not "order"',
        "never fired: its `when` was never reached",
        None,
        None,
    ]


def test_an_act_that_finds_no_broker_is_reported(bench: Bench) -> None:
    bench.add(name="crash", act={"kill": "leader of nowhere-0"})
    assert bench.engine.reports()[0].problem == "broker: nowhere-0 has no leader"


def test_names_are_taken_once_and_unknown_names_are_refused(bench: Bench) -> None:
    bench.add(name="a", act="hold")
    with pytest.raises(RuleError, match="earlier rule"):
        bench.add(name="a", act="hold")
    with pytest.raises(RuleError, match=r"no rule is named 'b'; the rules are a"):
        bench.engine.release("b")
