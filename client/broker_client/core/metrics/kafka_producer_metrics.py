"""The waits of callers, and the memory that they wait for.

Mirrors KafkaProducerMetrics, and the metrics of BufferPool and RecordAccumulator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.metrics.client_metrics import S_IN_NS, TimeTotal
from broker_client.core.metrics.stats import NANOSECONDS, CumulativeSum
from broker_client.core.producer.sender_loop import now_ms_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.batching.buffer_pool import BufferPool
    from broker_client.core.metrics.registry import Metrics
    from broker_client.metrics import MetricName
    from sim_runtime.interfaces import IReactor

__all__ = ["BufferPoolMetrics", "KafkaProducerMetrics"]

GROUP: Final = "producer-metrics"


class KafkaProducerMetrics:
    """Calls that wait."""

    def __init__(self, metrics: Metrics, reactor: IReactor) -> None:
        def total(name: str, doing: str) -> TimeTotal:
            sensor = metrics.sensor()
            described = f"Total time producer has spent {doing} in nanoseconds."
            sensor.add(metrics.name(f"{name}-time-ns-total", GROUP, described), CumulativeSum)
            return TimeTotal(sensor, reactor)

        self.flush = total("flush", "in flush")
        self.metadata_wait = total("metadata-wait", "waiting on topic metadata")
        self.init_transactions = total("txn-init", "in initTransactions")
        self.begin_transaction = total("txn-begin", "in beginTransaction")
        self.send_offsets = total("txn-send-offsets", "in sendOffsetsToTransaction")
        self.prepare_transaction = total("txn-prepare", "in prepareTransaction")
        self.commit_transaction = total("txn-commit", "in commitTransaction")
        self.abort_transaction = total("txn-abort", "in abortTransaction")


class BufferPoolMetrics:
    """Memory, and waits for it."""

    def __init__(self, metrics: Metrics, reactor: IReactor) -> None:
        self._metrics = metrics
        self._reactor = reactor
        self._wait_time = metrics.sensor()
        self._wait_time.add_meter(
            self._name("bufferpool-wait-ratio", "The fraction of time an appender waits for space allocation."),
            self._name(
                "bufferpool-wait-time-ns-total", "The total time in nanoseconds an appender waits for space allocation."
            ),
            unit=NANOSECONDS,
        )
        self._exhausted = metrics.sensor()
        dropped = "number of record sends that are dropped due to buffer exhaustion"
        self._exhausted.add_meter(
            self._name("buffer-exhausted-rate", f"The average per-second {dropped}"),
            self._name("buffer-exhausted-total", f"The total {dropped}"),
        )

    def observe(self, pool: BufferPool) -> None:
        """Show what a pool has."""
        self._gauge(
            "waiting-threads",
            "The number of user threads blocked waiting for buffer memory to enqueue their records",
            lambda: pool.queued,
        )
        self._gauge(
            "buffer-total-bytes",
            "The maximum amount of buffer memory the client can use (whether or not it is currently used).",
            lambda: pool.memory_bytes,
        )
        self._gauge(
            "buffer-available-bytes",
            "The total amount of buffer memory that is not being used (either unallocated or in the free list).",
            lambda: pool.available_bytes,
        )

    def seconds(self) -> float:
        """The time at which a wait begins."""
        return self._reactor.seconds()

    def waited(self, began_s: float) -> None:
        """A wait has ended, with memory or without."""
        waited_s = max(self._reactor.seconds() - began_s, 0.0)
        self._wait_time.record(round(waited_s * S_IN_NS), now_ms_of(self._reactor))

    def exhausted(self) -> None:
        """A record was given up because there was no memory for max.block.ms."""
        self._exhausted.record(1.0, now_ms_of(self._reactor))

    def _gauge(self, name: str, description: str, measure: Callable[[], int]) -> None:
        self._metrics.gauge(self._name(name, description), lambda _: float(measure()))

    def _name(self, name: str, description: str) -> MetricName:
        return self._metrics.name(name, GROUP, description)
