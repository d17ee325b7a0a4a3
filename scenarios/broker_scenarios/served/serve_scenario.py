"""Serve the cluster of a scenario for the user's own clients, and judge what brokers and logs show at the end.

Topics, configurations and rules are the file's; its clients do not run. The end is SIGTERM, SIGINT, or --duration.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import asdict, dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from twisted.python.runtime import seconds

from broker_scenarios import settling
from broker_scenarios.errors import ScenarioError
from broker_scenarios.expectations import EXPECTABLE
from broker_scenarios.findings import FindingKind
from broker_scenarios.ledger.judgement import judge_book, read_brokers, wait_until_replicated
from broker_scenarios.promises import Promises
from broker_scenarios.result_files import ResultFiles, RunResult
from broker_scenarios.served.wire_book import WireBook
from broker_scenarios.served.wire_readers import WireReaders
from broker_scenarios.targets.simulated import SimulatedTarget
from broker_scenarios.tcp_run import cluster_of
from broker_scenarios.termination import signals_handled
from broker_scenarios.text_forms import partition_name
from broker_scenarios.verdict import COUNT_NAMES
from broker_sim.control.journal_file import JournalWriter
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.ledger.ledger_verdict import LedgerVerdict
    from broker_scenarios.served.wire_readers import GroupReads
    from broker_sim.cluster import Cluster
    from broker_sim.http_control.server import ControlServer
    from broker_sim.threaded_cluster import ThreadedCluster

__all__ = ["ServeOptions", "ServedResult", "serve_scenario"]

_SETTLED_MS: Final = 10_000.0
"""The longest wait for brokers that start again and followers that fetch the last records."""
_CALL_TIMEOUT_S: Final = 30.0
_KEPT: Final = "is that of a scenario, whose verdict is about it: it is neither reset nor closed"
_JUDGED: Final = (
    "sent",
    *COUNT_NAMES,
    FindingKind.LOST_WRITE,
    FindingKind.SET_LOSS,
    FindingKind.DUPLICATE,
    FindingKind.NONMONOTONIC_SEND,
    FindingKind.INCONSISTENT_OFFSETS,
    FindingKind.OFFSET_ORACLE,
    FindingKind.MISDELIVERED,
    FindingKind.FAILED_BUT_STORED,
    FindingKind.UNRESOLVED,
    FindingKind.RECOVERED,
    FindingKind.REPLICA_DIVERGENCE,
    FindingKind.UNSEEN,
    FindingKind.POLL_SKIP,
    FindingKind.INT_POLL_SKIP,
    FindingKind.NONMONOTONIC_POLL,
    FindingKind.GHOST_READ,
    FindingKind.G1A,
    FindingKind.CONSUME_COUNTS,
)
"""The counts that can be judged without the clients' own reports, beside the invariants of `always`."""
_SHOWN: Final = ("sent", "acked", "stored", "failed", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedResult:
    """The verdict, and the differences from what the file expects."""

    verdict: LedgerVerdict
    counts: dict[str, int]
    refused: dict[str, int]
    injected: dict[str, int]
    groups: list[GroupReads]
    strangers: dict[str, int]
    """How many records each client id has read without a group that is known."""
    in_brokers: list[str]
    """What the brokers themselves have shown: invariants that did not hold, and replicas that differ."""
    rules: list[str]
    misses: list[str]

    def lines(self, name: str) -> Iterator[str]:
        """Return the result as text."""
        counted = ", ".join(f"{self.counts[each]:,} {each}" for each in _SHOWN)
        yield f"{name}: {counted}"
        yield from (
            f"brokers refused {plural(count, 'batch', 'batches')} with {each}" for each, count in self.refused.items()
        )
        yield from (
            f"rules put {each} into the responses of {plural(count, 'batch', 'batches')}"
            for each, count in self.injected.items()
        )
        yield from (each.text() for each in self.groups)
        yield from (
            f"consumer {client_id}, of no known group: {plural(count, 'record')} read"
            for client_id, count in self.strangers.items()
        )
        yield self.verdict.text()
        yield from self.in_brokers
        yield from self.rules
        yield from (f"not as expected: {miss}" for miss in self.misses)
        yield "as expected" if not self.misses else "NOT as expected"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of `broker-sim serve SCENARIO.yaml`."""

    host: str
    ports: list[int] | None
    duration_s: float
    journal: Path | None
    control: tuple[str, int] | None
    control_token_file: Path | None
    files: ResultFiles


def serve_scenario(scenario: Scenario, seed: int, options: ServeOptions) -> int:
    """Serve until a signal or the end of the time. Returns 0 if all is as the file expects, else 1.

    Raises:
        ScenarioError: the file expects what only its own clients can show, or a result file cannot be written.
        BrokerSimError: an address cannot be used, or a rule does not fit the cluster.
    """
    scenario = scenario.drawn(seed)
    _refuse_unjudged(scenario)
    ended = Event()
    with signals_handled(lambda _: ended.set()):
        return _serve(scenario, seed, options, ended)


def _serve(scenario: Scenario, seed: int, options: ServeOptions, ended: Event) -> int:
    began_s = seconds()
    ports, host = options.ports, options.host
    # Not as a context manager, which raises an error for a rule that never fired: here it is a part of the result.
    with closing(cluster_of(scenario, seed, timeout_s=_CALL_TIMEOUT_S, host=host, ports=ports)) as threaded:
        journal, path = threaded.cluster.journal, options.journal
        writer = None if path is None else threaded.call(JournalWriter, path, journal)
        followed = threaded.call(_Followed, threaded.cluster, scenario)
        control = None if options.control is None else threaded.call(_controlled, threaded.cluster, options)
        sys.stdout.write(f"BOOTSTRAP_SERVERS={threaded.bootstrap_servers}\n")
        if control is not None:
            sys.stdout.write(f"CONTROL_URL={control.url}\n")
        sys.stdout.flush()
        ended.wait(options.duration_s)
        if control is not None:
            threaded.call(control.stop)
        result = _result(threaded, scenario, followed)
        if writer is not None:
            threaded.call(writer.close)
    lines = list(result.lines(scenario.name))
    for line in lines:
        sys.stdout.write(f"{line}\n")
    options.files.write([_run_result(result, scenario, seed, lines, seconds() - began_s)])
    return 1 if result.misses else 0


def _controlled(cluster: Cluster, options: ServeOptions) -> ControlServer:
    """Have HTTP control the cluster, which is judged at the end and so not replaced."""
    from broker_sim.http_control.clusters import DEFAULT_NAME, Clusters, HostedCluster
    from broker_sim.serve import control_server

    clusters = Clusters(cluster.reactor)

    def make(*_: object) -> Cluster:
        raise AssertionError("it is kept")

    clusters.host(HostedCluster(name=DEFAULT_NAME, make=make, cluster=cluster, kept=_KEPT))
    assert options.control is not None, "checked by the caller"
    return control_server(options.control, options.control_token_file, clusters)


def _refuse_unjudged(scenario: Scenario) -> None:
    if scenario.document["cluster"].get("certificates"):
        raise ScenarioError(
            f"{scenario.name}: cluster.certificates: clients from outside cannot trust the certificates of a run; "
            "serve the cluster with key stores of your own"
        )
    expected = scenario.expectation
    beside = {
        "outcome": expected.outcome,
        "transactions": expected.transactions,
        "calls": expected.calls,
        "measures": expected.measures,
        "live_within_ms": expected.live_within_ms,
    }
    unjudged = [name for name, given in beside.items() if given]
    unjudged += [name for name in expected.counts if name not in (*_JUDGED, *scenario.always)]
    if unjudged:
        raise ScenarioError(
            f"{scenario.path}: expect.{unjudged[0]}: only the file's own clients can show it; expected counts of sent, "
            f"{', '.join(COUNT_NAMES)}, findings of what was sent, stored and read, errors and invariants in `always`"
        )


class _Followed:
    """The rules are added, and what clients and brokers do is followed; made on the reactor's thread."""

    def __init__(self, cluster: Cluster, scenario: Scenario) -> None:
        if scenario.records:
            cluster.faults.expect(records=scenario.records)
        self.watch = SimulatedTarget(cluster).watch(scenario.always)
        for rule in scenario.rules:
            cluster.faults.add(rule, checked=True)
        cluster.faults.start_load()
        self.wire = WireBook(cluster, [topic.name for topic in scenario.topics])
        self.readers = WireReaders(cluster, self.wire.book)


def _result(threaded: ThreadedCluster, scenario: Scenario, followed: _Followed) -> ServedResult:
    cluster, wire, readers = threaded.cluster, followed.wire, followed.readers
    topics = wire.book.topics
    reports = threaded.rule_reports()
    threaded.call(settling.heal, cluster)
    threaded.call(wait_until_replicated, cluster, topics, _SETTLED_MS)
    threaded.call(wire.close)
    brokers = threaded.call(read_brokers, cluster, topics)
    verdict = judge_book(
        wire.book,
        brokers,
        _promises(scenario, followed),
        all_delivered=FindingKind.UNSEEN in scenario.expectation.counts,
        other_producers=False,
    )
    groups = list(readers.reads((each.topic, each.partition, each.offset) for each in brokers.truth.stored))
    in_brokers = list(brokers.truth.divergences)
    crashes: list[str] = []
    if followed.watch is not None:
        in_brokers += followed.watch.findings
        crashes += followed.watch.crashes
    counts = _counts(wire, verdict)
    for finding in in_brokers:
        counts[finding.kind.value] += 1
    return ServedResult(
        verdict=verdict,
        counts=counts,
        refused=dict(wire.refused),
        injected=dict(wire.injected),
        groups=groups,
        strangers=dict(readers.strangers()),
        in_brokers=[
            f"{each.kind.value} in {partition_name(each.topic, each.partition)}: {each.detail}" for each in in_brokers
        ],
        rules=[str(report) for report in reports],
        misses=[
            *(f"rule {report.name!r} {report.problem}" for report in reports if report.problem),
            *crashes,
            *_misses(scenario, verdict, counts, wire.refused),
            *(
                f"group {each.group} has committed {plural(each.committed_unread, 'record')} of "
                f"{partition_name(each.topic, each.partition)} that no member had read"
                for each in groups
                if each.committed_unread
            ),
            *(
                f"{each.kind.value}: {each.detail}"
                for each in in_brokers
                if each.kind not in scenario.expectation.counts
            ),
        ],
    )


def _misses(
    scenario: Scenario, verdict: LedgerVerdict, counts: Mapping[str, int], refused: Mapping[str, int]
) -> Iterator[str]:
    expected, validity = scenario.expectation, verdict.judged.validity
    if expected.validity is not None and validity is not expected.validity:
        why = "; ".join(verdict.judged.unknown)
        yield f"verdict {validity.value}, expected {expected.validity.value}{why and f': {why}'}"
    for name, wanted in expected.counts.items():
        if not wanted.holds(counts[name]):
            yield f"{name} {counts[name]}, expected {wanted}"
    for name, wanted in expected.errors.items():
        batches = refused.get(name, 0)
        if not wanted.holds(batches):
            yield f"{plural(batches, 'batch', 'batches')} refused with {name}, expected {wanted}"


def _run_result(result: ServedResult, scenario: Scenario, seed: int, lines: list[str], took_s: float) -> RunResult:
    verdict = result.verdict.judged
    return RunResult(
        name=f"{scenario.name} seed {seed}",
        seconds=took_s,
        misses=tuple(result.misses),
        reproduce="",
        explanation=tuple(lines),
        values={
            "scenario": scenario.name,
            "as_expected": not result.misses,
            "misses": result.misses,
            "verdict": verdict.validity.value,
            "counts": {name: result.counts[name] for name in ("sent", *COUNT_NAMES)},
            "findings": [each.as_json() for each in verdict.findings],
            "refusals": result.refused,
            "injected": result.injected,
            "groups": [asdict(each) for each in result.groups],
            "rules": result.rules,
            "facts": {"seed": str(seed), "release": scenario.release, "brokers": str(scenario.brokers)},
        },
    )


def _counts(wire: WireBook, verdict: LedgerVerdict) -> dict[str, int]:
    """Count what an expectation may name."""
    ends = [send.completions[-1].type.value for send in wire.book.sends if send.completions]
    transactions = [(each.end, len(each.records)) for each in wire.book.transactions]
    ends += [end.type.value for end, records in transactions if end is not None for _ in range(records)]
    stored = {record[1] for records in verdict.logs.values() for record in records}
    findings = {name: len(verdict.judged.found(name)) for name in EXPECTABLE}
    return {
        **findings,
        "sent": len(wire.book.sends),
        "acked": ends.count("ok"),
        "stored": len(stored),
        "lost": len({*verdict.judged.values("lost-write"), *verdict.judged.values("set-loss")}),
        "duplicated": len(set(verdict.judged.values("duplicate"))),
        "reordered": findings["nonmonotonic-send"],
        "failed": ends.count("fail"),
        "unknown": ends.count("info"),
    }


def _promises(scenario: Scenario, followed: _Followed) -> dict[str, Any]:
    """Return what the requests of the clients and the file's topics promise: the weakest of each."""
    wire = followed.wire
    by_topic = [
        Promises.from_configs({}, topic.configs, scenario.broker_config, replication_factor=topic.replication_factor)
        for topic in scenario.topics
    ]
    return {
        "acks": "all" if wire.weakest_acks < 0 else str(wire.weakest_acks),
        "enable.idempotence": wire.all_idempotent,
        "replication.factor": min(each.replication_factor for each in by_topic),
        "min.insync.replicas": min(each.min_insync_replicas for each in by_topic),
        "unclean.leader.election.enable": any(each.unclean_leader_election for each in by_topic),
        "isolation.level": "read_committed" if followed.readers.all_read_committed else "read_uncommitted",
    }
