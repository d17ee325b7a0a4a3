"""Serve the cluster of a scenario for the user's own clients, and judge what brokers and logs show at the end.

Topics, configurations and rules are the file's; its clients do not run. The end is SIGTERM, SIGINT, or --duration.
"""

from __future__ import annotations

import signal
import sys
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios import settling
from broker_scenarios.expectations import EXPECTABLE
from broker_scenarios.ledger.judgement import judge_book, read_brokers, wait_until_replicated
from broker_scenarios.promises import Promises
from broker_scenarios.served.wire_book import WireBook
from broker_scenarios.tcp_run import cluster_of
from broker_scenarios.text_forms import plural
from broker_sim.control.journal_file import JournalWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.ledger.ledger_verdict import LedgerVerdict
    from broker_sim.threaded_cluster import ThreadedCluster

__all__ = ["ServedResult", "serve_scenario"]

_SETTLED_MS: Final = 10_000.0
"""The longest wait for brokers that start again and followers that fetch the last records."""
_CALL_TIMEOUT_S: Final = 30.0
_SHOWN: Final = ("sent", "acked", "stored", "failed", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedResult:
    """The verdict, and the differences from what the file expects."""

    verdict: LedgerVerdict
    counts: dict[str, int]
    refused: dict[str, int]
    rules: list[str]
    misses: list[str]

    def lines(self, name: str) -> Iterator[str]:
        """Return the result as text."""
        counted = ", ".join(
            f"{self.counts[each]:,} {each}" for each in ("sent", "acked", "stored", "failed", "unknown")
        )
        yield f"{name}: {counted}"
        yield from (
            f"brokers refused {plural(count, 'batch', 'batches')} with {each}" for each, count in self.refused.items()
        )
        yield self.verdict.text()
        yield from self.rules
        yield from (f"not as expected: {miss}" for miss in self.misses)
        yield "as expected" if not self.misses else "NOT as expected"


def serve_scenario(
    scenario: Scenario, seed: int, *, host: str, ports: list[int] | None, duration_s: float, journal: Path | None
) -> int:
    """Serve until a signal or the end of the time. Returns 0 if all is as the file expects, else 1.

    Raises:
        ScenarioError: the file has what only its own clients could do.
        BrokerSimError: an address cannot be used, or a rule does not fit the cluster.
    """
    scenario = scenario.drawn(seed)
    ended = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    # Not as a context manager, which raises an error for a rule that never fired: here it is a part of the result.
    with closing(cluster_of(scenario, seed, timeout_s=_CALL_TIMEOUT_S, host=host, ports=ports)) as threaded:
        writer = None if journal is None else threaded.call(JournalWriter, journal, threaded.cluster.journal)
        book = threaded.call(_began, threaded, scenario)
        sys.stdout.write(f"BOOTSTRAP_SERVERS={threaded.bootstrap_servers}\n")
        sys.stdout.flush()
        ended.wait(duration_s)
        result = _result(threaded, scenario, book)
        if writer is not None:
            threaded.call(writer.close)
    for line in result.lines(scenario.name):
        sys.stdout.write(f"{line}\n")
    return 1 if result.misses else 0


def _began(threaded: ThreadedCluster, scenario: Scenario) -> WireBook:
    faults = threaded.cluster.faults
    if scenario.records:
        faults.expect(records=scenario.records)
    for rule in scenario.rules:
        faults.add(rule)
    faults.start_load()
    return WireBook(threaded.cluster, [topic.name for topic in scenario.topics])


def _result(threaded: ThreadedCluster, scenario: Scenario, wire: WireBook) -> ServedResult:
    cluster, topics = threaded.cluster, wire.book.topics
    reports = threaded.rule_reports()
    threaded.call(settling.heal, cluster)
    threaded.call(wait_until_replicated, cluster, topics, _SETTLED_MS)
    threaded.call(wire.close)
    brokers = threaded.call(read_brokers, cluster, topics)
    verdict = judge_book(wire.book, brokers, _promises(scenario, wire), all_delivered=False, other_producers=False)
    counts = _counts(wire, verdict)
    expected = scenario.expectation
    misses = [f"rule {report.name!r} {report.problem}" for report in reports if report.problem]
    if expected.validity is not None and verdict.judged.validity is not expected.validity:
        why = "; ".join(verdict.judged.unknown)
        misses.append(
            f"verdict {verdict.judged.validity.value}, expected {expected.validity.value}{why and f': {why}'}"
        )
    misses += [
        f"{name} {counts[name]}, expected {wanted}"
        for name, wanted in expected.counts.items()
        if not wanted.holds(counts[name])
    ]
    misses += [
        f"{plural(wire.refused[name], 'batch', 'batches')} refused with {name}, expected {wanted}"
        for name, wanted in expected.errors.items()
        if not wanted.holds(wire.refused[name])
    ]
    return ServedResult(
        verdict=verdict,
        counts=counts,
        refused=dict(wire.refused),
        rules=[str(report) for report in reports],
        misses=misses,
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


def _promises(scenario: Scenario, wire: WireBook) -> dict[str, Any]:
    """Return what the requests of the clients and the file's topics promise: the weakest of each."""
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
    }
