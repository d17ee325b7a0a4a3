"""The acts `fail_log_dir`, `fill_log_dir`, `slow_log_dir` and `mend_log_dir`: what disks do, and what is done about it.

Without a name the last directory of the broker is meant, because the first one has the metadata and ends the broker;
of slow ones, and of those that are mended from it, all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Strike
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class FailLogDir:
    """A log directory of `broker` answers nothing but errors: its replicas are offline (KIP-112)."""

    name: ClassVar[str] = "fail_log_dir"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef
    log_dir: str | None = None

    def strike(self, strike: Strike) -> None:
        """Fail it in the next turn."""
        broker = strike.resolve(self.broker)
        strike.soon(lambda: strike.cluster.fail_log_dir(broker, self.log_dir))


@dataclass(frozen=True, slots=True)
class FillLogDir:
    """A log directory of `broker` has room for `left_bytes` more; the append that does not fit fails it."""

    name: ClassVar[str] = "fill_log_dir"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef
    log_dir: str | None = None
    left_bytes: int = 0

    def strike(self, strike: Strike) -> None:
        """Fill it in the next turn."""
        broker = strike.resolve(self.broker)
        strike.needs_disk(self.name)
        strike.soon(lambda: strike.cluster.fill_log_dir(broker, self.log_dir, left_bytes=self.left_bytes))


@dataclass(frozen=True, slots=True)
class SlowLogDir:
    """A log directory of `broker` takes its time for appends, for flushes, and for bytes."""

    name: ClassVar[str] = "slow_log_dir"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef
    log_dir: str | None = None
    append_ms: float = 0
    sync_ms: float = 0
    bytes_per_second: float | None = None

    def strike(self, strike: Strike) -> None:
        """Slow it down in the next turn."""
        broker = strike.resolve(self.broker)
        strike.needs_disk(self.name)
        strike.soon(
            lambda: strike.cluster.slow_log_dir(
                broker,
                self.log_dir,
                append_ms=self.append_ms,
                sync_ms=self.sync_ms,
                bytes_per_second=self.bytes_per_second,
            )
        )


@dataclass(frozen=True, slots=True)
class MendLogDir:
    """A log directory of `broker` is sound again: a slow one at once, any other with the broker's next start."""

    name: ClassVar[str] = "mend_log_dir"
    on_cluster: ClassVar[bool] = True
    broker: BrokerRef
    log_dir: str | None = None

    def strike(self, strike: Strike) -> None:
        """Mend it in the next turn."""
        broker = strike.resolve(self.broker)
        strike.soon(lambda: strike.cluster.mend_log_dir(broker, self.log_dir))
