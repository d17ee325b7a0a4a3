"""The evidence of a run, and its judgement: the record for the table and the report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts
from broker_scenarios.checks.over_time.realtime_lag import lags
from broker_scenarios.checks.wire_check import check_wire
from broker_scenarios.expectations import judge
from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.histories.run_operations import LIVENESS_DEADLINE, circumstances_of_run, whole_history
from broker_scenarios.histories.run_verdict import add_history
from broker_scenarios.history import EventType
from broker_scenarios.journal_view import JournalView
from broker_scenarios.measurements import measure
from broker_scenarios.measures import MEASURES
from broker_scenarios.measures.broker_metrics import HIGHEST_METRIC
from broker_scenarios.measures.liveness import not_live
from broker_scenarios.measures.measure import RunFacts
from broker_scenarios.promises import ClientPromises, Promises
from broker_scenarios.run_record import RunRecord
from broker_scenarios.text_forms import partition_name
from broker_scenarios.timeline import build_timeline
from broker_scenarios.verdict import check_run
from broker_sim.config.release_behaviour import behaviour_of
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from broker_scenarios.checks.on_the_wire.wire_facts import CallInCallback, Pool, SentBatch
    from broker_scenarios.history import HistoryEvent
    from broker_scenarios.invariants.watch import InvariantWatch
    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.measures.broker_metrics import MetricSample
    from broker_scenarios.operations import Value
    from broker_scenarios.playing.run_history import RunHistory
    from broker_scenarios.truth import Truth
    from broker_scenarios.verdict import CheckEngine, History, Judged, RunVerdict
    from broker_sim.faults.engine import RuleReport
    from broker_sim.topic_spec import TopicSpec

__all__ = ["Evidence", "judged"]

_NOT_LIVE: Final = "acknowledged nothing within {0:g} ms after the last fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One finished run: the history of the clients, the records in the logs and the reports of the rules."""

    scenario: Scenario
    seed: int
    history: History
    truth: Truth
    rules: Sequence[RuleReport]
    facts: dict[str, str]
    problems: tuple[str, ...] = ()
    """Why the run did not end by itself, such as its deadline."""
    operations: RunHistory | None = None
    """What the clients did beside sends, and the outcomes of all."""
    groups: Mapping[int, ClientGroup] = field(default_factory=dict)
    """The client group of each process."""
    client_ids: Mapping[int, str] = field(default_factory=dict)
    """The client.id of each process."""
    watch: InvariantWatch | None = None
    """What the invariants have shown."""
    metrics: Sequence[MetricSample] = ()
    """What was read of the brokers' metrics."""
    wire: Sequence[SentBatch] | None = None
    """The batches that brokers have received; None if no check needs them."""
    pools: Sequence[Pool] = ()
    callbacks: Sequence[CallInCallback] = ()


def judged(evidence: Evidence, *, engine: CheckEngine | None, reproduce: str = "") -> RunRecord:
    """Check every record and compare the verdict with what the file expects."""
    scenario = evidence.scenario
    view = JournalView.of(evidence.truth.journal)
    promises = _promises(evidence)
    verdict = check_run(
        history=evidence.history,
        stored=evidence.truth.logs or evidence.truth.stored,
        truncated=evidence.truth.truncated,
        journal=view,
        promises=promises,
        engine=engine,
        caveats=evidence.truth.caveats,
        log_starts=evidence.truth.log_starts,
        was_compacted=_compaction(evidence),
        uncommitted={record.value_id: record.state for record in evidence.truth.uncommitted},
        has_other_successes=_has_other_successes(evidence),
    )
    add_history(verdict, evidence)
    verdict.add([(finding, None) for finding in evidence.truth.divergences], ())
    _add_wire(verdict, evidence)
    if evidence.watch is not None:
        verdict.add([(finding, None) for finding in evidence.watch.findings], evidence.watch.crashes)
    verdict.add([*_not_live_as_claimed(evidence)], ())
    measurements = measure(verdict.records, view, end_us=verdict.end_us, throttles=evidence.truth.throttles)
    never = tuple(f"rule {rule.name!r} {rule.problem}" for rule in evidence.rules if rule.problem)
    return RunRecord(
        name=scenario.name,
        verdict=verdict,
        judgement=judge(
            verdict,
            measurements,
            scenario.expectation,
            (*evidence.problems, *never, *_call_misses(evidence), *_measure_misses(evidence)),
        ),
        expectation=scenario.expectation,
        description=f"{scenario.title}\n\n{scenario.claim}".strip(),
        timeline=build_timeline(verdict, view),
        measurements=measurements,
        facts=evidence.facts,
        decisions={**scenario.decisions, **{rule.name: rule.decisions for rule in evidence.rules if rule.decisions}},
        rules=[_rule_line(rule, scenario.rule_texts.get(rule.name, rule.act)) for rule in evidence.rules],
        fired={rule.name: rule.fired for rule in evidence.rules},
        reproduce=reproduce,
    )


def _add_wire(verdict: RunVerdict, evidence: Evidence) -> None:
    """Make the checks of requests and of clients' resources that the file names."""
    scenario = evidence.scenario
    if not scenario.wire_checks:
        return
    if evidence.wire is None or evidence.operations is None or not isinstance(evidence.history, list):
        verdict.add((), ["the clients ran in other processes: no check on the wire was made"])
        return
    facts = WireFacts(
        batches=evidence.wire,
        journal=evidence.truth.journal,
        history=evidence.history,
        operations=evidence.operations.operations,
        clients=evidence.client_ids,
        configs={
            evidence.client_ids[process]: group.producer or {}
            for process, group in evidence.groups.items()
            if process in evidence.client_ids
        },
        pools=evidence.pools,
        callbacks=evidence.callbacks,
        release=scenario.release,
        responds_before_throttling=not behaviour_of(scenario.release).throttles_before_the_response,
    )
    result = check_wire(facts, scenario.wire_checks)
    crashes = [f"check {crash.kind} crashed: {crash.detail}" for crash in result.crashes]
    verdict.add([(finding, None) for finding in result.findings], crashes)


def _compaction(evidence: Evidence) -> Callable[[Finding], bool] | None:
    """Return whether a record was lost to a later one of its key in its partition; None where no topic is compacted."""
    compacted = {
        topic.name for topic in evidence.scenario.topics if "compact" in topic.configs.get("cleanup.policy", "")
    }
    if not compacted or not isinstance(evidence.history, list):
        return None
    keys: dict[Value, bytes] = {event.value_id: event.key for event in evidence.history if event.key is not None}
    last: dict[tuple[str, int, bytes], int] = {}
    for record in evidence.truth.stored:
        if (key := keys.get(record.value_id)) is not None:
            place = record.topic, record.partition, key
            last[place] = max(last.get(place, -1), record.offset)

    def was_compacted(finding: Finding) -> bool:
        key = keys.get(finding.value_id)
        if finding.topic not in compacted or key is None:
            return False
        return last.get((finding.topic, finding.partition, key), -1) > finding.ack_offset

    return was_compacted


def _has_other_successes(evidence: Evidence) -> bool:
    """True if a poll returned records, or a transaction that was not empty ended as the application wanted."""
    operations = () if evidence.operations is None else evidence.operations.operations
    return any(
        (each.f == "poll" and each.type is EventType.OK and any(mop[1] for mop in each.results if mop[0] == "poll"))
        or (each.f == "txn" and each.type is not None and each.error is None and each.mops)
        for each in operations
    )


def _call_misses(evidence: Evidence) -> Iterator[str]:
    """Return the outcomes of sends, transactions and calls that differ from the expected ones."""
    history, wanted = evidence.operations, evidence.scenario.expectation
    if history is None:
        return
    sends = Counter(history.outcomes)
    for what, counted, expected in (
        ("send", sends, wanted.outcome),
        ("transaction", history.transactions(), wanted.transactions),
        ("call", history.calls(), wanted.calls),
    ):
        for name, count in expected.items():
            if not count.holds(counted[name]):
                ended = ", ".join(f"{number} {each}" for each, number in counted.items()) or "none"
                yield f"{plural(counted[name], what)} ended with {name}, expected {count} (there were {ended})"


def _measure_misses(evidence: Evidence) -> Iterator[str]:
    """Return the measures that are not what the file expects, and the partitions that did not serve again in time."""
    expectation = evidence.scenario.expectation
    if not expectation.measures and expectation.live_within_ms is None:
        return
    if not isinstance(evidence.history, list):
        yield "measures need the history of the run in memory"
        return
    facts = _facts(evidence, evidence.history)
    for expected in expectation.measures:
        metric = expected.select.get("metric")
        if expected.measure == HIGHEST_METRIC and not any(sample.metric == metric for sample in evidence.metrics):
            yield f"{expected.name}: no broker has had a metric {metric}"
            continue
        value = MEASURES[expected.measure].of(facts, expected.select)
        if not expected.wanted.holds(round(value)):
            yield f"{expected.name}: {expected.measure} is {value:,.6g}, expected {expected.wanted}"
    if expectation.live_within_ms is not None:
        within_ms = expectation.live_within_ms
        for place in not_live(facts, within_ms):
            yield f"{partition_name(*place)} {_NOT_LIVE.format(within_ms)} (live_within_ms)"


def _facts(evidence: Evidence, history: Sequence[HistoryEvent]) -> RunFacts:
    return RunFacts(
        journal=evidence.truth.journal,
        history=history,
        truth=evidence.truth,
        clients=evidence.client_ids,
        read_lags=partial(_read_lags, evidence),
        operations=() if evidence.operations is None else evidence.operations.operations,
        metrics=evidence.metrics,
    )


def _not_live_as_claimed(evidence: Evidence) -> Iterator[Judged]:
    """Find the partitions that are not available again within the claim liveness.deadline.ms."""
    within_ms = evidence.scenario.claims.get(LIVENESS_DEADLINE)
    if within_ms is None or not isinstance(evidence.history, list):
        return
    for topic, partition in not_live(_facts(evidence, evidence.history), within_ms):
        detail = f"{partition_name(topic, partition)} {_NOT_LIVE.format(within_ms)}"
        yield Finding(kind=FindingKind.LIVENESS, topic=topic, partition=partition, value_id=-1, detail=detail), None


def _read_lags(evidence: Evidence) -> Iterator[tuple[str, str, int]]:
    """Return the lag of each poll in each of its partitions: client.id, partition and microseconds."""
    if evidence.operations is not None:
        for call, key, lag_us in lags(whole_history(evidence, circumstances_of_run(evidence))):
            yield evidence.client_ids.get(int(call.process), ""), key, lag_us


def _promises(evidence: Evidence) -> ClientPromises:
    """Return the promises of each process in each topic."""
    scenario = evidence.scenario

    def of(config: Mapping[str, str], topic: TopicSpec) -> Promises:
        return Promises.from_configs(
            config, topic.configs, scenario.broker_config, replication_factor=topic.replication_factor
        )

    return ClientPromises(
        by_process={
            process: {topic.name: of(group.promised, topic) for topic in scenario.topics}
            for process, group in evidence.groups.items()
            if group.producer is not None
        }
    )


def _rule_line(rule: RuleReport, text: str) -> str:
    fired = f"{rule.name}: {text}: fired {plural(rule.fired, 'time')}"
    return f"{fired}; {rule.problem}" if rule.problem else fired
