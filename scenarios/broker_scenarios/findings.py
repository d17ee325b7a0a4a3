"""The results of the checks: one result per record, findings, and crashes of checks.

A finding states an anomaly, not whether the configuration permits it: `promises` decides that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from broker_scenarios.operations import Process, Value

__all__ = [
    "FINDING_HELP",
    "IN_RUNS",
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
    G1A = "G1a"
    PRECOMMITTED_READ = "precommitted-read"
    GHOST_READ = "ghost-read"
    TORN_TXN = "torn-txn"
    POLL_SKIP = "poll-skip"
    INT_POLL_SKIP = "int-poll-skip"
    INT_SEND_SKIP = "int-send-skip"
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    INT_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    INT_NONMONOTONIC_SEND = "int-nonmonotonic-send"
    CONSUME_COUNTS = "consume-counts"
    KEY_ORDER = "key-order"
    AUTO_COMMIT = "auto-commit"
    ABORT_CLASS = "abort-class"
    G0 = "G0"
    G0_PROCESS = "G0-process"
    G0_REALTIME = "G0-realtime"
    G1C = "G1c"
    G1C_PROCESS = "G1c-process"
    G1C_REALTIME = "G1c-realtime"
    HUNG_TXN = "hung-txn"
    LIVENESS = "liveness"
    REALTIME_LAG = "realtime-lag"
    REPLICA_DIVERGENCE = "replica-divergence"
    WIRE_BATCH_IDENTITY = "wire-batch-identity"
    WIRE_SEQ = "wire-seq"
    WIRE_EPOCH = "wire-epoch"
    WIRE_IDEMPOTENCE = "wire-idempotence"
    WIRE_THROTTLE = "wire-throttle"
    WIRE_RATE = "wire-rate"
    WIRE_STALE_LEADER = "wire-stale-leader"
    WIRE_UNREADABLE = "wire-unreadable"
    WIRE_OLD_VERSION = "wire-old-version"
    WIRE_HOT_LOOP = "wire-hot-loop"
    WIRE_NO_PRODUCE = "wire-no-produce"
    WIRE_NO_ENDTXN = "wire-no-endtxn"
    RES_POOL = "res-pool"
    RES_CALLBACK = "res-callback"
    HIGH_WATERMARK_WITHIN_ISR = "high-watermark-within-isr"
    HIGH_WATERMARK_NEVER_BACK = "high-watermark-never-back"
    LOG_START_NEVER_BACK = "log-start-never-back"
    STABLE_OFFSET_WITHIN_TRANSACTIONS = "stable-offset-within-transactions"
    ACKNOWLEDGED_RECORDS_KEPT = "acknowledged-records-kept"
    ONE_LEADER_PER_EPOCH = "one-leader-per-epoch"
    ONE_VALUE_PER_EPOCH_AND_OFFSET = "one-value-per-epoch-and-offset"
    ONE_CONTROLLER_PER_EPOCH = "one-controller-per-epoch"
    ONE_OWNER_PER_PARTITION = "one-owner-per-partition"
    MARKERS_FOLLOW_DECISIONS = "markers-follow-decisions"


FINDING_HELP: Final[dict[FindingKind, str]] = {
    FindingKind.LOST_WRITE: "acknowledged, and in no log at the end, or passed by every reader",
    FindingKind.DUPLICATE: "stored at two or more offsets",
    FindingKind.NONMONOTONIC_SEND: "stored out of the order in which one client sent",
    FindingKind.INCONSISTENT_OFFSETS: "two records acknowledged or polled at one offset",
    FindingKind.OFFSET_ORACLE: "acknowledged with an offset at which it never was",
    FindingKind.MISDELIVERED: "stored in a partition to which no client sent it",
    FindingKind.FAILED_BUT_STORED: "reported as certainly failed, and stored",
    FindingKind.UNRESOLVED: "accepted by the client, never reported",
    FindingKind.DOUBLE_COMPLETION: "reported more than once",
    FindingKind.RECOVERED: "outcome unknown to the client, and stored: a time-out is not a failure",
    FindingKind.UNSEEN: "acknowledged, and not polled by the final polls",
    FindingKind.SET_LOSS: "acknowledged without an offset, and in no log at the end",
    FindingKind.G1A: "polled, although its send or transaction failed",
    FindingKind.PRECOMMITTED_READ: "polled by the operation that sent it",
    FindingKind.GHOST_READ: "polled, and not committed in the log",
    FindingKind.TORN_TXN: "not visible, while another write of its transaction is",
    FindingKind.POLL_SKIP: "skipped by a process between two polls",
    FindingKind.INT_POLL_SKIP: "skipped within one operation that polls",
    FindingKind.INT_SEND_SKIP: "stored between two records of one operation that sends",
    FindingKind.NONMONOTONIC_POLL: "a process polls at or before the place that it had reached",
    FindingKind.INT_NONMONOTONIC_POLL: "one operation polls at or before the place that it had reached",
    FindingKind.INT_NONMONOTONIC_SEND: "records of one operation stored out of their order",
    FindingKind.CONSUME_COUNTS: "polled more than once by one group or subscribed process",
    FindingKind.KEY_ORDER: "records of one message key polled out of their order across partitions",
    FindingKind.AUTO_COMMIT: "committed by the client while the application still works on it",
    FindingKind.ABORT_CLASS: "where a consumer reads on after an aborted transaction",
    FindingKind.G0: "transactions whose writes are in a cycle",
    FindingKind.G0_PROCESS: "writes in a cycle with the order of a process",
    FindingKind.G0_REALTIME: "writes in a cycle with real time",
    FindingKind.G1C: "operations that read each other's writes in a cycle",
    FindingKind.G1C_PROCESS: "reads and writes in a cycle with the order of a process",
    FindingKind.G1C_REALTIME: "reads and writes in a cycle with real time",
    FindingKind.HUNG_TXN: "the last stable offset stands while the high watermark grows",
    FindingKind.LIVENESS: "no operation succeeds on a healthy partition after the last fault",
    FindingKind.REALTIME_LAG: "a poll further behind than claimed",
    FindingKind.REPLICA_DIVERGENCE: "a replica holds other records than its leader below the high watermark",
    FindingKind.WIRE_BATCH_IDENTITY: "a batch sent again with other records under its producer id, epoch and sequence",
    FindingKind.WIRE_SEQ: "a batch whose sequence does not follow the one before",
    FindingKind.WIRE_EPOCH: "an epoch that its producer had left or knew to be fenced, or stored behind a newer one",
    FindingKind.WIRE_IDEMPOTENCE: "a batch without a producer id, of a producer that is not configured so",
    FindingKind.WIRE_THROTTLE: "a request sent within the throttle time that a response had stated",
    FindingKind.WIRE_RATE: "a batch sent again before its back-off has passed",
    FindingKind.WIRE_STALE_LEADER: "a batch sent to the leader of an earlier epoch, or to a broker that never led",
    FindingKind.WIRE_UNREADABLE: "bytes that no broker of the release can read, or a corrupt batch",
    FindingKind.WIRE_OLD_VERSION: "a version that Kafka 4.0 has removed, where the broker has a newer one",
    FindingKind.WIRE_HOT_LOOP: "a request that a client repeats on one connection without a pause",
    FindingKind.WIRE_NO_PRODUCE: "acknowledged, and in no request that a broker has received",
    FindingKind.WIRE_NO_ENDTXN: "a commit reported without a request that ends the transaction",
    FindingKind.RES_POOL: "a producer with more free memory than buffer.memory",
    FindingKind.RES_CALLBACK: "a call in a delivery callback that never returned",
    FindingKind.HIGH_WATERMARK_WITHIN_ISR: "a member of the ISR lacks a record below the high watermark",
    FindingKind.HIGH_WATERMARK_NEVER_BACK: "the high watermark of a leader decreased in its leader epoch",
    FindingKind.LOG_START_NEVER_BACK: "the log start offset of a leader decreased in its leader epoch",
    FindingKind.STABLE_OFFSET_WITHIN_TRANSACTIONS: "the last stable offset has passed an open transaction",
    FindingKind.ACKNOWLEDGED_RECORDS_KEPT: "a broker that may lead lacks a record acknowledged with acks=all",
    FindingKind.ONE_LEADER_PER_EPOCH: "two brokers lead a partition in one leader epoch",
    FindingKind.ONE_VALUE_PER_EPOCH_AND_OFFSET: "an offset was assigned twice in one leader epoch",
    FindingKind.ONE_CONTROLLER_PER_EPOCH: "two nodes are the active controller in one controller epoch",
    FindingKind.ONE_OWNER_PER_PARTITION: "a group has given a partition to two members",
    FindingKind.MARKERS_FOLLOW_DECISIONS: "a marker ends a transaction otherwise than decided",
}

IN_RUNS: Final = frozenset(list(FindingKind)[list(FindingKind).index(FindingKind.REPLICA_DIVERGENCE) :])
"""The kinds that need brokers whose state and journal are known: a run has them, a foreign history has not."""


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
    PIPELINED = "pipelined"
    """The first send was not acknowledged yet when the second was invoked."""
    RETRY = "retry"
    APPLICATION_RESEND = "application-resend"
    LEADER_FAULT = "leader-fault"
    """A leader crashed or moved during or after the send."""
    UNCLEAN_ELECTION = "unclean-election"
    RETENTION = "retention"
    COMPACTION = "compaction"
    TOPIC_DELETED = "topic-deleted"
    SUBSCRIBED = "subscribed"
    """The group gives a subscribed process its partitions, and takes them away."""
    UNCOMMITTED = "uncommitted"
    """Written by a transaction that is not committed."""
    WRITE_ORDER = "write-order"
    """The cycle needs the order of writes, which Kafka does not isolate."""


@dataclass(slots=True, kw_only=True)
class Finding:
    """One anomaly of one record: `detail` describes it in a sentence, `cause` is set as soon as it is known."""

    kind: FindingKind
    topic: str
    partition: int
    value_id: Value
    detail: str
    process: Process = -1
    producer_id: int = -1
    index: int = -1
    ack_offset: int = -1
    offset: int = -1
    complete_us: int = -1
    other_value_id: Value = -1
    cause: Cause = Cause.UNEXPLAINED
    values: tuple[Value, ...] = ()
    """All values that it is about; kinds that are only counted have none."""
    ops: tuple[int, ...] = ()
    """The operations that it is about, by their `i`."""


@dataclass(slots=True, kw_only=True)
class RecordResult:
    """The fate of one record; -1 stands for none. A value that was sent twice has one result, of its best send."""

    topic: str
    partition: int
    value_id: Value
    process: Process
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
    count: int = 1
    """How many records it stands for: a large history has one result for plain sends with the same times."""


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
