"""The actions `fail_log_dir`, `fill_log_dir`, `slow_log_dir` and `mend_log_dir`: faults of a broker's log directories.

Without a name, `fail_log_dir` and `fill_log_dir` take the broker's last directory: the first one holds the metadata,
and its failure ends the broker. `slow_log_dir` and the end of slowness then apply to all directories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class FailLogDir:
    """Fail a log directory of `broker` with I/O errors: its replicas go offline (KIP-112)."""

    name: ClassVar[str] = "fail_log_dir"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef
    log_dir: str | None = None

    def fire(self, firing: Firing) -> None:
        """Fail the directory in the next loop iteration."""
        broker = firing.resolve(self.broker)
        firing.soon(lambda: firing.cluster.fail_log_dir(broker, self.log_dir))


@dataclass(frozen=True, slots=True)
class FillLogDir:
    """Leave room for `left_bytes` in a log directory of `broker`; the append that does not fit fails the directory."""

    name: ClassVar[str] = "fill_log_dir"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef
    log_dir: str | None = None
    left_bytes: int = 0

    def fire(self, firing: Firing) -> None:
        """Fill the directory in the next loop iteration. Raises RuleError for a cluster without a disk."""
        broker = firing.resolve(self.broker)
        firing.needs_disk(self.name)
        firing.soon(lambda: firing.cluster.fill_log_dir(broker, self.log_dir, left_bytes=self.left_bytes))


@dataclass(frozen=True, slots=True)
class SlowLogDir:
    """Make a log directory of `broker` slow: a time per append, a time per flush, a rate of bytes."""

    name: ClassVar[str] = "slow_log_dir"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef
    log_dir: str | None = None
    append_ms: float = 0
    sync_ms: float = 0
    bytes_per_second: float | None = None

    def fire(self, firing: Firing) -> None:
        """Slow the directory down in the next loop iteration. Raises RuleError for a cluster without a disk."""
        broker = firing.resolve(self.broker)
        firing.needs_disk(self.name)
        firing.soon(
            lambda: firing.cluster.slow_log_dir(
                broker,
                self.log_dir,
                append_ms=self.append_ms,
                sync_ms=self.sync_ms,
                bytes_per_second=self.bytes_per_second,
            )
        )


@dataclass(frozen=True, slots=True)
class MendLogDir:
    """Repair a log directory of `broker`: a slow one at once, a failed or full one with the broker's next start."""

    name: ClassVar[str] = "mend_log_dir"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef
    log_dir: str | None = None

    def fire(self, firing: Firing) -> None:
        """Repair the directory in the next loop iteration."""
        broker = firing.resolve(self.broker)
        firing.soon(lambda: firing.cluster.mend_log_dir(broker, self.log_dir))
