"""Rules that select by topic in the phases of whole requests, on clients' and on brokers' requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.control.events import Detail, RuleFired
from broker_sim.faults.grammar import parse_rule
from broker_sim.topic_spec import TopicSpec

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_rule_on_a_followers_fetch_selects_by_topic(replicas: Callable[..., Any]) -> None:
    made = replicas()
    made.world.run_until(made.cluster.create_topic(TopicSpec(name="audit", partitions=1, replication_factor=3)))
    made.settle()
    for topic, fires in (("audit", True), ("nothing", False), (made.topic.topic, True)):
        rule = {"name": f"see-{topic}", "act": "observe", "select": {"replica": "any", "api": "Fetch", "topic": topic}}
        made.cluster.faults.add(parse_rule(rule))
        made.produce(0)  # of an idle session no Fetch comes back
        made.run(ms=1_000)
        assert bool(made.cluster.faults.fired(f"see-{topic}")) is fires


def test_a_gate_on_an_event_of_the_traffic_opens_with_a_lean_journal(replicas: Callable[..., Any]) -> None:
    made = replicas(detail=Detail.CLUSTER)
    gate = {"event": {"kind": "RequestReceived", "api": "Fetch", "count": 3}}
    made.cluster.faults.add(parse_rule({"name": "crash", "when": gate, "act": {"kill": 3}}))
    made.produce(0)
    made.run(ms=5_000)
    assert not made.cluster.is_running(3)
    assert made.journal.count(kind=RuleFired) == 1
    assert made.journal.count(kind="RequestReceived") == 0
