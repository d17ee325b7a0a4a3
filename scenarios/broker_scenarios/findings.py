"""What a check can find, and the one table in which every check's result travels.

A finding says what happened, not whether it may: `promises` says that. The table carries three sorts of rows
under one schema, because Spark's applyInArrow returns one: a row per record of the load (its outcome, its
copies, its flags), a row per finding, and a row per check that crashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa

__all__ = ["FINDING_HELP", "RESULT_SCHEMA", "Cause", "Finding", "FindingKind", "Outcome", "RowSort"]


class Outcome(StrEnum):
    """What the application knows of a record once everything is over."""

    ACKED = "acked"
    FAILED = "failed"
    UNKNOWN = "unknown"


class FindingKind(StrEnum):
    """The anomalies, under the names of Jepsen's Kafka checker where it has one."""

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


FINDING_HELP: Final[dict[FindingKind, str]] = {
    FindingKind.LOST_WRITE: "acknowledged, and in no log at the end",
    FindingKind.DUPLICATE: "stored at two or more offsets",
    FindingKind.NONMONOTONIC_SEND: "stored out of the order in which one client sent",
    FindingKind.INCONSISTENT_OFFSETS: "two records acknowledged at one offset",
    FindingKind.OFFSET_ORACLE: "acknowledged with an offset at which it never was",
    FindingKind.MISDELIVERED: "stored in a partition to which nobody sent it",
    FindingKind.FAILED_BUT_STORED: "reported as certainly failed, and stored",
    FindingKind.UNRESOLVED: "accepted by the client, never reported",
    FindingKind.DOUBLE_COMPLETION: "reported more than once",
    FindingKind.RECOVERED: "outcome unknown to the client, and stored: a time-out is not a failure",
}


class Cause(StrEnum):
    """Why it happened, as far as logs and journal tell."""

    UNEXPLAINED = "unexplained"
    NOT_RECORDED = "not-recorded"
    TRUNCATED = "truncated"
    LEADER_REPLACED = "leader-replaced"
    POWER_LOST = "power-lost"
    NEVER_CONFIRMED = "never-confirmed"
    RETRY = "retry"
    APPLICATION_RESEND = "application-resend"


class RowSort(StrEnum):
    """The three sorts of rows of RESULT_SCHEMA."""

    RECORD = "record"
    FINDING = "finding"
    CRASH = "crash"


RESULT_SCHEMA: Final = pa.schema(
    [
        ("sort", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("value_id", pa.int64()),
        ("process", pa.int32()),
        ("producer_id", pa.int32()),
        ("index", pa.int64()),
        ("outcome", pa.string()),
        ("complete_us", pa.int64()),
        ("ack_offset", pa.int64()),
        ("offset", pa.int64()),
        ("copies", pa.int32()),
        ("lost", pa.bool_()),
        ("duplicated", pa.bool_()),
        ("reordered", pa.bool_()),
        ("kind", pa.string()),
        ("cause", pa.string()),
        ("other_value_id", pa.int64()),
        ("detail", pa.string()),
    ]
)
"""One row a record, a finding or a crash (`sort`); -1 stands for: none. For a crash, `kind` names the check."""


@dataclass(slots=True, kw_only=True)
class Finding:
    """One anomaly of one record: `detail` says in a sentence what was seen, `cause` is filled as it is known."""

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
