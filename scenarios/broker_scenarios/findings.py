"""The results of the checks: one result per record, findings, and crashes of checks.

A finding states an anomaly, not whether the configuration permits it: `promises` decides that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

__all__ = [
    "FINDING_HELP",
    "Cause",
    "CheckCrash",
    "CheckResult",
    "Finding",
    "FindingKind",
    "Outcome",
    "RecordResult",
]


class Outcome(StrEnum):
    """The outcome of a record as its client knows it at the end of the run."""

    ACKED = "acked"
    FAILED = "failed"
    UNKNOWN = "unknown"


class FindingKind(StrEnum):
    """The anomalies, with the names of Jepsen's Kafka checker where it has the same."""

    LOST_WRITE = "lost-write"
    DUPLICATE = "duplicate"
    NONMONOTONIC_SEND = "nonmonotonic-send"
    INCONSISTENT_OFFSETS = "inconsistent-offsets"
    OFFSET_ORACLE = "offset-oracle"
    MISDELIVERED = "misdelivered"
    FAILED_BUT_STORED = "failed-but-stored"
    UNRESOLVED = "unresolved"
    DOUBLE_COMPLETION = "double-completion"
    RECOVERED = "recovered"
    UNSEEN = "unseen"
    SET_LOSS = "set-loss"
    ABORTED_READ = "G1a"
    PRECOMMITTED_READ = "precommitted-read"
    GHOST_READ = "ghost-read"
    CONSUME_COUNTS = "consume-counts"
    POLL_SKIP = "poll-skip"
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    POLL_SKIP_WITHIN = "int-poll-skip"
    NONMONOTONIC_POLL_WITHIN = "int-nonmonotonic-poll"
    SEND_SKIP_WITHIN = "int-send-skip"
    NONMONOTONIC_SEND_WITHIN = "int-nonmonotonic-send"
    WRITE_CYCLE = "G0"
    CYCLE = "G1c"
    CYCLE_OF_PROCESS = "G1c-process"
    CYCLE_IN_REAL_TIME = "G1c-realtime"
    TORN = "torn-txn"
    HUNG = "hung-txn"
    LIVENESS = "liveness"
    REALTIME_LAG = "realtime-lag"
    KEY_ORDER = "key-order"
    AUTO_COMMIT = "auto-commit"
    ABORT_CLASS = "abort-class"


FINDING_HELP: Final[dict[FindingKind, str]] = {
    FindingKind.LOST_WRITE: "acknowledged, and in no log at the end",
    FindingKind.DUPLICATE: "stored at two or more offsets",
    FindingKind.NONMONOTONIC_SEND: "stored out of the order in which one client sent",
    FindingKind.INCONSISTENT_OFFSETS: "two records acknowledged at one offset",
    FindingKind.OFFSET_ORACLE: "acknowledged with an offset at which it never was",
    FindingKind.MISDELIVERED: "stored in a partition to which no client sent it",
    FindingKind.FAILED_BUT_STORED: "reported as certainly failed, and stored",
    FindingKind.UNRESOLVED: "accepted by the client, never reported",
    FindingKind.DOUBLE_COMPLETION: "reported more than once",
    FindingKind.RECOVERED: "outcome unknown to the client, and stored: a time-out is not a failure",
    FindingKind.UNSEEN: "acknowledged, and in no read although final polls read everything",
    FindingKind.SET_LOSS: "acknowledged without an offset, and in no log at the end",
    FindingKind.ABORTED_READ: "read although its send failed or its transaction was aborted",
    FindingKind.PRECOMMITTED_READ: "read by the transaction that sends it",
    FindingKind.GHOST_READ: "read, and never committed",
    FindingKind.CONSUME_COUNTS: "consumed more than once by a group",
    FindingKind.POLL_SKIP: "a consumer left out records between two polls",
    FindingKind.NONMONOTONIC_POLL: "a consumer read records again, or out of order, in a later poll",
    FindingKind.POLL_SKIP_WITHIN: "a consumer left out records within one poll",
    FindingKind.NONMONOTONIC_POLL_WITHIN: "a consumer read records out of order within one poll",
    FindingKind.SEND_SKIP_WITHIN: "records of others lie between those of one transaction",
    FindingKind.NONMONOTONIC_SEND_WITHIN: "stored out of the order of the sends of one transaction",
    FindingKind.WRITE_CYCLE: "transactions wrote around each other in a circle",
    FindingKind.CYCLE: "transactions read each other's writes in a circle",
    FindingKind.CYCLE_OF_PROCESS: "such a circle, with the order of one process",
    FindingKind.CYCLE_IN_REAL_TIME: "such a circle, with the order of real time",
    FindingKind.TORN: "a transaction of which a part is visible and a part is not",
    FindingKind.HUNG: "the last stable offset stands for longer than a transaction may last",
    FindingKind.LIVENESS: "no operation succeeds within the claimed time after the last fault",
    FindingKind.REALTIME_LAG: "a poll returns less than what was known for longer than is claimed",
    FindingKind.KEY_ORDER: "read in another order than sent, of one message key",
    FindingKind.AUTO_COMMIT: "committed automatically while the application still worked on it",
    FindingKind.ABORT_CLASS: "where a consumer reads on after an aborted transaction",
}


class Cause(StrEnum):
    """The cause of a finding, as far as logs and journal show it."""

    UNEXPLAINED = "unexplained"
    NOT_RECORDED = "not-recorded"
    TRUNCATED = "truncated"
    LEADER_REPLACED = "leader-replaced"
    POWER_LOST = "power-lost"
    NEVER_CONFIRMED = "never-confirmed"
    LATE_APPEND = "late-append"
    """A broker appended a request after the producer had given it up and sent later records."""
    RETRY = "retry"
    RETENTION = "retention"
    COMPACTION = "compaction"
    APPLICATION_RESEND = "application-resend"


@dataclass(slots=True, kw_only=True)
class Finding:
    """One anomaly of one record: `detail` describes it in a sentence, `cause` is set as soon as it is known."""

    kind: FindingKind
    topic: str
    partition: int
    value_id: int
    detail: str
    process: int = -1
    producer_id: int = -1
    index: int = -1
    ack_offset: int = -1
    offset: int = -1
    complete_us: int = -1
    other_value_id: int = -1
    cause: Cause = Cause.UNEXPLAINED


@dataclass(slots=True, kw_only=True)
class RecordResult:
    """The fate of one record; -1 stands for none. A value that was sent twice has one result, of its best send."""

    topic: str
    partition: int
    value_id: int
    process: int
    producer_id: int
    index: int
    outcome: Outcome
    invoke_us: int
    complete_us: int
    ack_offset: int
    copies: int
    lost: bool
    duplicated: bool
    reordered: bool
    error_code: int = 0
    error: str | None = None


@dataclass(slots=True, kw_only=True)
class CheckCrash:
    """A check that raised an error: `kind` names the check, `detail` the error."""

    topic: str
    partition: int
    kind: str
    detail: str


@dataclass(slots=True)
class CheckResult:
    """All results of the checks, of one partition or of a run."""

    records: list[RecordResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    crashes: list[CheckCrash] = field(default_factory=list)

    def extend(self, other: CheckResult) -> None:
        """Add the results of another partition."""
        self.records += other.records
        self.findings += other.findings
        self.crashes += other.crashes

    def sort(self) -> None:
        """Put the results into an order that does not depend on the order of the checks."""
        self.records.sort(key=lambda each: (each.topic, each.partition, each.process, each.index, each.value_id))
        self.findings.sort(
            key=lambda each: (
                each.topic, each.partition, each.kind, each.process, each.index, each.value_id, each.offset,
            )
        )  # fmt: skip
        self.crashes.sort(key=lambda each: (each.topic, each.partition, each.kind))
