from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.checks.on_the_wire.wire_facts import SentBatch, WireFacts
from broker_scenarios.checks.wire_check import NEEDS_BROKERS, WIRE_CHECKS, check_wire
from broker_scenarios.evidence import judged
from broker_scenarios.expectations import CountRange, Expectation
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.control.events import ConnectionClosed, LeaderElected, ProduceCompleted, RequestReceived, ResponseSent

if TYPE_CHECKING:
    from broker_scenarios.language.scenario import Scenario
    from broker_sim.control.events import Event

CATALOG = Path(__file__).parents[4] / "scenarios" / "catalog"
SHOWN = {
    "retry-rebuilds-different-batch": "wire-batch-identity",
    "sequence-wrap": "wire-seq",
    "stale-pid-request": "wire-epoch",
    "idempotence-silently-off": "wire-idempotence",
    "client-ignores-throttle-time": "wire-throttle",
    "leader-epoch-regression": "wire-stale-leader",
    "fake-success": "wire-no-produce",
    "commit-without-endtxn": "wire-no-endtxn",
    "split-double-free": "res-pool",
    "callback-deadlock": "res-callback",
}


def found(scenario: Scenario) -> dict[str, int]:
    """The findings of a run with every check, which must not differ from the run without."""
    every = Expectation(validity=None, counts={name: CountRange() for name in WIRE_CHECKS})
    evidence = VirtualRun(replace(scenario, expectation=every), scenario.seed).run(None)
    run = judged(evidence, engine=None)
    assert run.verdict.crashes == []
    assert VirtualRun(scenario, scenario.seed).run(None).facts["digest"] == evidence.facts["digest"]
    return {each.kind.value: each.found for each in run.verdict.judged if each.found and each.kind.value in WIRE_CHECKS}


@pytest.mark.parametrize("name", SHOWN)
def test_a_defect_of_a_client_shows_on_the_wire_and_its_flip_shows_nothing(name: str) -> None:
    scenario = load_scenario(CATALOG / f"{name}.yaml")
    assert found(scenario)[SHOWN[name]] >= 1
    assert scenario.flip is not None
    assert found(scenario.flip) == {}


@pytest.mark.parametrize("name", ["batch-too-large", "cross-partition-epoch-bump-dup", "zombie-not-fenced"])
def test_splits_new_epochs_and_other_processes_are_no_findings(name: str) -> None:
    scenario = load_scenario(CATALOG / f"{name}.yaml")
    assert found(scenario) == {}


def batch(at_ms: float, request: int = 1, **values: Any) -> SentBatch:
    given = {
        "at_us": round(at_ms * 1000), "client_id": "app", "connection_id": "c", "broker_id": 1, "request_id": request,
        "topic": "orders", "partition": 0, "producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "records": 1,
        "checksum": 1, "acks": -1, "values": (5,),
    }  # fmt: skip
    return SentBatch(**{**given, **values})


def refused(at_ms: float, request: int, error_code: int = 6) -> list[Event]:
    common: dict[str, Any] = {"time_us": round(at_ms * 1000), "broker_id": 1, "request_id": request}
    return [
        ProduceCompleted(
            **common, topic="orders", partition=0, error_code=error_code, base_offset=-1, required_offset=-1,
            high_watermark=0, leader_epoch=0, isr=(1,), acks=-1,
        ),
        ResponseSent(**common, api="Produce", connection_id="c"),
    ]  # fmt: skip


def counted(check: str, batches: list[SentBatch], journal: list[Event], **config: str) -> int:
    facts = WireFacts(
        batches=batches, journal=journal, history=(), operations=(), clients={0: "app"}, configs={"app": config}
    )
    return len(check_wire(facts, [check]).findings)


@pytest.mark.parametrize(
    ("waits_ms", "config", "hasty"),
    [
        ((80, 160, 320), {}, 0),
        ((79, 160, 320), {}, 1),
        ((100, 100, 100), {}, 2),
        ((100, 100, 100), {"retry.backoff.max.ms": "100"}, 0),
        ((20, 40, 80), {"retry.backoff.ms": "20"}, 0),
    ],
)
def test_attempts_wait_longer_each_time(waits_ms: tuple[float, ...], config: dict[str, str], hasty: int) -> None:
    now_ms, batches, journal = 0.0, [batch(0)], refused(1, 1)
    for request, wait_ms in enumerate(waits_ms, 2):
        now_ms = journal[-1].time_us / 1000 + wait_ms
        batches.append(batch(now_ms, request))
        journal += refused(now_ms + 1, request)
    assert counted("wire-rate", batches, journal, **config) == hasty


def test_a_retry_at_another_broker_needs_no_wait() -> None:
    assert counted("wire-rate", [batch(0), batch(1.1, 2, broker_id=2)], refused(1, 1)) == 0


@pytest.mark.parametrize(("later_ms", "findings"), [(900, 0), (1_100, 1)])
def test_a_fenced_producer_sends_nothing_more(later_ms: float, findings: int) -> None:
    again = batch(1 + later_ms, 2, base_sequence=1)
    assert counted("wire-epoch", [batch(0), again], refused(1, 1, error_code=47)) == findings


def elected(at_ms: float, broker_id: int, epoch: int) -> Event:
    return LeaderElected(
        time_us=round(at_ms * 1000), broker_id=broker_id, topic="orders", partition=0, previous_leader=-1,
        leader_epoch=epoch, isr=(1,), unclean=False,
    )  # fmt: skip


def test_a_broker_that_never_led_is_a_wrong_node() -> None:
    assert counted("wire-stale-leader", [batch(5), batch(6, broker_id=3)], [elected(0, 1, 0)]) == 1


def test_a_former_leader_is_stale_once_its_successor_has_taken_records() -> None:
    journal = [elected(0, 1, 0), elected(5, 2, 1)]
    old, new = batch(6, 2), batch(7, 3, broker_id=2)
    assert counted("wire-stale-leader", [old, new], journal) == 0
    assert counted("wire-stale-leader", [new, batch(8, 4)], journal) == 1
    assert counted("wire-stale-leader", [new, batch(9, 4)], [*journal, elected(8, 1, 2)]) == 0


@pytest.mark.parametrize(
    ("base", "records", "findings"), [((0, 2, 3), (2, 1, 1), 0), ((0, 3), (2, 1), 1), ((2**31 - 1, 0), (1, 1), 0)]
)
def test_sequences_are_contiguous_and_wrap(base: tuple[int, ...], records: tuple[int, ...], findings: int) -> None:
    batches = [batch(at, at, base_sequence=one, records=records[at]) for at, one in enumerate(base)]
    assert counted("wire-seq", [*batches, batches[0]], []) == findings


def test_each_check_is_made_only_where_it_is_named() -> None:
    assert counted("wire-idempotence", [batch(0, producer_id=-1)], []) == 1
    assert counted("wire-idempotence", [batch(0, producer_id=-1)], [], **{"enable.idempotence": "false"}) == 0
    assert counted("wire-seq", [batch(0, producer_id=-1)], []) == 0
    assert set(WIRE_CHECKS) > NEEDS_BROKERS


def received(at_ms: float, api: str = "Metadata", version: int = 12, connection: str = "c") -> RequestReceived:
    return RequestReceived(
        time_us=round(at_ms * 1000), broker_id=1, api=api, api_version=version, request_id=1, connection_id=connection,
        client_id="app",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("api", "every_ms", "requests", "findings"),
    [
        ("Metadata", 10, 60, 1),
        ("Metadata", 10, 50, 0),
        ("Metadata", 20, 200, 0),
        ("Fetch", 1, 200, 0),
        ("JoinGroup", 1, 200, 1),
    ],
)
def test_a_request_without_a_pause_is_a_hot_loop(api: str, every_ms: float, requests: int, findings: int) -> None:
    journal: list[Event] = [received(number * every_ms, api) for number in range(requests)]
    assert counted("wire-hot-loop", [], journal) == findings


def test_requests_of_several_connections_are_no_loop() -> None:
    assert counted("wire-hot-loop", [], [received(number, connection=str(number)) for number in range(200)]) == 0


@pytest.mark.parametrize(
    ("release", "version", "findings"),
    [("3.9.2", 3, 1), ("3.9.2", 4, 0), (None, 3, 0), ("0.10.0", 1, 0)],
)
def test_a_removed_version_is_a_finding_where_a_newer_one_is_served(
    release: str | None, version: int, findings: int
) -> None:
    journal = [received(1, "Fetch", version), received(2, "Fetch", version)]
    facts = WireFacts(
        batches=[], journal=journal, history=(), operations=(), clients={}, configs={}, release=release
    )  # fmt: skip
    result = check_wire(facts, ["wire-old-version"])
    assert (len(result.findings), result.crashes) == (findings, [])


@pytest.mark.parametrize(("unreadable", "findings"), [(True, 1), (False, 0)])
def test_a_connection_closed_for_its_bytes_is_a_finding(unreadable: bool, findings: int) -> None:
    closed = ConnectionClosed(time_us=5, broker_id=1, connection_id="c", reason="no API 99", unreadable=unreadable)
    assert counted("wire-unreadable", [], [received(1), closed]) == findings
