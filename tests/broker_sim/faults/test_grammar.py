from __future__ import annotations

import pytest

from broker_sim.faults.actions import ACTIONS
from broker_sim.faults.actions.brokers.kill import Kill
from broker_sim.faults.actions.brokers.lose_power import LosePower
from broker_sim.faults.actions.brokers.restart import Restart
from broker_sim.faults.actions.disks.fail_log_dir import FailLogDir
from broker_sim.faults.actions.disks.fill_log_dir import FillLogDir
from broker_sim.faults.actions.disks.mend_log_dir import MendLogDir
from broker_sim.faults.actions.disks.slow_log_dir import SlowLogDir
from broker_sim.faults.actions.requests.cut_bytes import CutResponse
from broker_sim.faults.actions.requests.delay_ms import Delay
from broker_sim.faults.actions.requests.error import RespondWithError
from broker_sim.faults.actions.requests.hold import Hold
from broker_sim.faults.grammar import parse_rule, parse_rules
from broker_sim.faults.interception import Phase
from broker_sim.faults.rule import KilledBy, LeaderOf, RuleError, Self
from protocol_specs.error_codes import ErrorCode


def test_a_rule_without_a_phase_fires_on_the_cluster() -> None:
    rule = parse_rule({"name": "crash", "when": {"acked_share": 0.5}, "act": {"kill": "leader of orders-0"}})
    assert rule.phase is None
    assert rule.act == Kill(LeaderOf("orders", 0))
    assert rule.when is not None
    assert rule.when.acked_share == 0.5


def test_a_rule_on_a_partition_fires_before_the_append_by_default() -> None:
    assert parse_rule({"select": {"topic": "a"}, "act": "disconnect"}).phase is Phase.BEFORE_APPEND
    assert parse_rule({"select": {"api": "Fetch"}, "act": "hold"}).phase is Phase.BEFORE_PARSE
    assert parse_rule({"select": {"topic": "a"}, "phase": "after_append", "act": "hold"}).act == Hold()


def test_an_action_has_a_written_form() -> None:
    written = {
        "delay_ms": (20, Delay(20)),
        "hold": (None, Hold()),
        "drop_response": (None, None),
        "disconnect": (None, None),
        "error": ("NOT_LEADER_OR_FOLLOWER", RespondWithError(ErrorCode.NOT_LEADER_OR_FOLLOWER)),
        "cut_bytes": (7, CutResponse(7)),
        "kill": (2, Kill(2)),
        "stop": (2, None),
        "restart": (2, Restart(2)),
        "lose_power": (2, LosePower(2)),
        "fail_log_dir": (2, FailLogDir(2)),
        "fill_log_dir": ({"broker": 2, "left_bytes": 9}, FillLogDir(2, None, 9)),
        "slow_log_dir": ({"broker": 2, "log_dir": "a", "sync_ms": 5}, SlowLogDir(2, "a", 0, 5)),
        "mend_log_dir": ({"broker": 2, "log_dir": "a"}, MendLogDir(2, "a")),
    }
    for name, (value, act) in written.items():
        rule = parse_rule({"act": {name: value}})
        assert type(rule.act) is ACTIONS[name]
        assert act is None or rule.act == act


@pytest.mark.parametrize(
    ("written", "path", "problem"),
    [
        ({"act": "hold", "selct": {}}, ("selct",), "did you mean 'select'?"),
        ({"act": "hold", "select": {"topics": "a"}}, ("select", "topics"), "did you mean 'topic'?"),
        ({"act": "hodl"}, ("act",), "did you mean 'hold'?"),
        ({"act": {"error": "NOT_LEADER"}}, ("act", "error"), "did you mean 'NOT_LEADER_OR_FOLLOWER'?"),
        ({"act": {"delay_ms": -1}}, ("act", "delay_ms"), "at least 0"),
        ({"act": "hold", "when": {"acked_share": 40}}, ("when", "acked_share"), "up to 1"),
        ({"act": "hold", "when": {}}, ("when",), "at least one of"),
        ({"act": "hold", "when": {"delay_ms": [5, 1]}}, ("when", "delay_ms"), "low not above high"),
        ({"act": "hold", "when": {"delay_ms": [5]}}, ("when", "delay_ms"), "a number or [low, high]"),
        ({"act": "hold", "when": {"acked_share": [0.2, 2]}}, ("when", "acked_share"), "up to 1"),
        ({"act": {"kill": "leader of orders"}}, ("act", "kill"), "'leader of TOPIC-PARTITION'"),
        ({"act": {"kill": "self"}}, ("act",), "needs a select or a phase"),
        ({"act": "hold", "every_ms": 5}, ("every_ms",), "expected no select and no phase"),
        ({"act": {"kill": 1}, "when": {"event": {"kind": "IsrChange"}}}, ("when", "event", "kind"), "'IsrChanged'?"),
        (
            {"act": {"kill": 1}, "when": {"event": {"kind": "IsrChanged", "topics": "a"}}},
            ("when", "event", "topics"),
            "did you mean 'topic'?",
        ),
        ({"act": {"kill": 1}, "when": {"fired": {"times": 2}}}, ("when", "fired", "rule"), "missing"),
        ({"act": {"cut_bytes": 3}, "phase": "before_append"}, ("phase",), "mid_response"),
        ({"act": "hold", "phase": "mid_response"}, ("phase",), "hold fires in before_parse"),
        ({"act": "hold", "phase": "after_apend"}, ("phase",), "did you mean 'after_append'?"),
        ({"act": "hold", "select": {"api": "Fetsh"}}, ("select", "api"), "did you mean 'Fetch'?"),
        ({"act": "hold", "select": {"nth": 0}}, ("select", "nth"), "at least 1"),
        ({"act": "hold", "times": 0}, ("times",), "at least 1"),
        ({"act": {"hold": 3}}, ("act", "hold"), "takes no value"),
        ({"act": {"hold": {}}}, ("act", "hold"), "takes no value"),
        ({"name": "x"}, ("act",), "missing"),
        (["hold"], (), "expected a mapping"),
    ],
)
def test_a_mistake_is_named_with_its_path_and_what_would_be_right(
    written: object, path: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(RuleError) as raised:
        parse_rule(written)
    assert raised.value.path == path
    assert problem in raised.value.problem


def test_rules_name_each_other_and_a_wrong_name_is_refused() -> None:
    rules = parse_rules(
        [
            {"name": "crash", "act": {"kill": 1}},
            {"name": "back", "when": {"after": "crash"}, "act": {"restart": "killed by crash"}},
            {"select": {"api": "Produce", "broker": 1}, "phase": "after_append", "act": {"kill": "self"}},
        ]
    )
    assert rules[1].act == Restart(KilledBy("crash"))
    assert rules[2].act == Kill(Self())
    assert rules[2].name == "rule-3"
    with pytest.raises(RuleError, match=r"1\.when\.after: no rule is named 'crush'; did you mean 'crash'\?"):
        parse_rules([{"name": "crash", "act": {"kill": 1}}, {"when": {"after": "crush"}, "act": "hold"}])
    with pytest.raises(RuleError, match=r"1\.name: 'a' is the name of an earlier rule"):
        parse_rules([{"name": "a", "act": "hold"}, {"name": "a", "act": "hold"}])


@pytest.mark.parametrize(
    "act",
    [
        {"duplicate_response": 2**31},
        {"edit": {"duplicate": "responses[0]", "times": 2**31}},
        {"edit": {"lengthen": "responses[0].name", "by": 2**31}},
    ],
)
def test_an_action_that_would_need_all_memory_is_refused(act: object) -> None:
    with pytest.raises(RuleError, match="up to"):
        parse_rule({"select": {"api": "Produce"}, "act": act})


def test_in_sync_is_a_condition_of_when_alone() -> None:
    with pytest.raises(RuleError, match=r"until\.in_sync: is a condition of `when` alone"):
        parse_rule({"act": {"kill": 1}, "until": {"in_sync": True}})
