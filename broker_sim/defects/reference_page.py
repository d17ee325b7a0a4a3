"""docs/reference/defects.md, written from the code: `python -m broker_sim.defects.reference_page` prints it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from broker_sim.defects import DEFECTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.defects.defect import Defect

__all__ = ["reference_page"]

INTRODUCTION: Final = """\
# Broker defects

`make docs` writes this page from the code. A defect is a documented bug of a broker that a cluster can have:
`Cluster(defects=["dedup-returns-45"])` has it on all brokers, `defects=["2:dedup-returns-45"]` on broker 2 alone.
`broker-sim run`, `sweep` and `shrink` plant one with `--defect NAME`; [the swarms find many of
them](planted-defects.md). A scenario shows the effect with the defect, and that it is gone without. [Add a
defect](../design/add-a-defect.md) explains how to write one.
"""
OTHERWISE: Final = """
## Bugs that need no defect

The emulated releases have the bugs of their time, and faults or configurations cause others:

| anomaly | cause | without it |
|---|---|---|"""
NEED_NO_DEFECT: Final = (
    ("hw-truncation-loss", "`release` below 0.11", "0.11 (KIP-101)"),
    ("log-divergence", "`release` below 0.11", "0.11 (KIP-101)"),
    ("fast-failover-divergence", "`release` 0.11 to 1.1", "2.0 (KIP-279)"),
    ("dedup-window-5", "`release` 0.11", "1.0 (KAFKA-5494)"),
    ("unknown-producer-id", "`release` 0.11 to 2.3", "2.4 (KIP-360)"),
    ("abort-seq-reuse-loss", "`release` below 2.5", "2.5 (KIP-360)"),
    ("last-replica-standing", "`release` below 4.0", "4.0 (KIP-966)"),
    ("delayed-endtxn", "transactions of version 1", "transactions of version 2 (4.0, KIP-890)"),
    ("timeout-looks-like-fencing", "a transaction longer than its transaction.timeout.ms", "a commit in time"),
    ("hanging-transaction-late-produce", "`release` below 3.6", "3.6 (KIP-890), unless verification is disabled"),
    ("late-produce-joins-next-txn", "transactions of version 1", "transactions of version 2 (4.0, KIP-890)"),
    ("zombie-consumer-offsets", "offsets sent with the id of the group alone", "its group metadata (KIP-447)"),
    ("offsets-lost-or-stale", "`release` below 2.1: offsets expire while the group is active", "2.1 (KIP-211)"),
    ("throttle-timeout-spiral", "`release` below 2.0, and a quota of the client", "2.0 (KIP-219)"),
    ("unknown-server-error-dup", "a rule with `error: UNKNOWN_SERVER_ERROR`", "the rule removed"),
)
"""The anomalies of brokers whose cause is an emulated release, a configuration or a fault rule."""


def reference_page() -> str:
    """Return the page in Markdown."""
    return "\n".join([INTRODUCTION, *_table(), OTHERWISE, *_otherwise(), *_lessons()]) + "\n"


def _table() -> Iterator[str]:
    yield "| defect | scenarios | source | affected |\n|---|---|---|---|"
    for defect in DEFECTS.values():
        anomalies = ", ".join(defect.anomalies)
        yield f"| [`{defect.name}`](#{defect.name}) | {anomalies} | {defect.source} | {defect.affected} |"


def _otherwise() -> Iterator[str]:
    for anomaly, cause, without in NEED_NO_DEFECT:
        yield f"| {anomaly} | {cause} | {without} |"


def _lessons() -> Iterator[str]:
    for defect in DEFECTS.values():
        yield f"\n## {defect.name}\n"
        yield defect.lesson.strip()
        if (needs := _needs(defect)) is not None:
            yield f"\n{needs}"


def _needs(defect: Defect) -> str | None:
    words = []
    if defect.until:
        words.append(f"For releases from {defect.since} on and before {defect.until}.")
    elif defect.needs_kraft:
        words.append(f"For releases from {defect.since} on, with KRaft.")
    elif defect.since != "0.8.0":
        words.append(f"For releases from {defect.since} on.")
    if defect.needs_config:
        configs = " and ".join(f"`{name}={text}`" for name, text in defect.needs_config.items())
        words.append(f"It needs {configs}.")
    return " ".join(words) or None


if __name__ == "__main__":
    sys.stdout.write(reference_page())
