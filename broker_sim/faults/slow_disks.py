"""Log directories on slow disks: every append and every flush takes time, one after the other, as on one spindle.

As in Kafka, two threads wait for a disk: the request handler that appends (ReplicaManager.appendToLocalLog), also for
the flush that `flush.messages` requires, and the fetcher thread of a follower
(ReplicaFetcherThread.processPartitionData), whose next Fetch leaves when its disk is done. Flushes by time keep the
disk busy without a handler. Reads come from the page cache and take no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.faults.interception import Interception, Phase
from broker_sim.topic_partition import TopicPartition
from protocol_specs.api_key import ApiKey
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from twisted.internet.interfaces import IReactorTime

    from broker_sim.faults.engine import FaultEngine
    from broker_sim.faults.interception import FaultPoint

__all__ = ["DiskPace", "DiskSpeed", "SlowDisks", "slow_log_dirs"]

TOLERANCE_MS: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpeed:
    """The time that a disk takes per append and per flush, and its rate of bytes (None: bytes take no time).

    With `topic`, and also with `partition`, the flushes of other logs take no time.
    """

    append_ms: float = 0
    sync_ms: float = 0
    bytes_per_second: float | None = None
    topic: str | None = None
    partition: int | None = None

    def sync_ms_of(self, log: TopicPartition) -> float:
        """Return the time of a flush of a log."""
        fits = self.topic in (None, log.topic) and self.partition in (None, log.partition)
        return self.sync_ms if fits else 0


class DiskPace:
    """The disk of one directory: an operation begins when the one before is complete."""

    __slots__ = ("_done_s", "_owed_until_s", "_reactor", "speed")

    def __init__(self, reactor: IReactorTime, speed: DiskSpeed) -> None:
        self._reactor = reactor
        self.speed = speed
        self._done_s = 0.0
        self._owed_until_s = 0.0

    def begin_append(self) -> float:
        """Return how many milliseconds a handler waits that is about to append."""
        return max(0.0, (self._take(self.speed.append_ms / 1000) - self._reactor.seconds()) * 1000)

    def wrote(self, size: int, *, as_follower: bool = False) -> None:
        """Count appended bytes; a follower did not wait before its append."""
        rate = self.speed.bytes_per_second
        cost_s = 0.0 if rate is None else size / rate
        if as_follower:
            cost_s += self.speed.append_ms / 1000
        if cost_s > 0:
            self._owed_until_s = self._take(cost_s)

    def synced(self, log: TopicPartition, *, in_background: bool) -> None:
        """Count a flush of a log; the handler that has appended waits for it unless another thread flushes."""
        sync_ms = self.speed.sync_ms_of(log)
        done_s = self._take(sync_ms / 1000)
        if not in_background and sync_ms:
            self._owed_until_s = done_s

    def owed_ms(self) -> float:
        """Return how many milliseconds the disk still works on data that a handler or fetcher waits for."""
        return max(0.0, (self._owed_until_s - self._reactor.seconds()) * 1000)

    def _take(self, cost_s: float) -> float:
        """Queue an operation. Returns the time in seconds at which the disk completes it."""
        self._done_s = max(self._done_s, self._reactor.seconds()) + cost_s
        return self._done_s


class Directories(Protocol):
    """Mirrors LogDirsImage: the directory of each replica."""

    def of(self, topic_partition: TopicPartition, /) -> str | None:
        """Return the directory of a replica, None if the broker has no such replica."""


class DiskStorage(Protocol):
    """The log directories of one broker."""

    @property
    def directories(self) -> Directories:
        """The directory of each replica."""

    def slow_directory(self, name: str, pace: DiskPace | None, /) -> None:
        """Slow a directory down; None restores its speed."""


class BrokerWithDisks(Protocol):
    """The part of a broker whose disks can be slow."""

    id: int

    @property
    def storage(self) -> DiskStorage:
        """Its log directories."""


class ClusterWithDisks(Protocol):
    """The part of a cluster whose disks can be slow."""

    faults: FaultEngine

    @property
    def reactor(self) -> IReactorTime:
        """The cluster's clock."""

    def broker(self, broker_id: int, /) -> BrokerWithDisks:
        """Return one broker."""


class SlowDisks:
    """The slow directories of a cluster, by broker; `directory_of` knows where a broker's replica lies."""

    def __init__(self, reactor: IReactorTime, directory_of: Callable[[int, TopicPartition], str | None]) -> None:
        self._reactor = reactor
        self._directory_of = directory_of
        self._paces: dict[int, dict[str, DiskPace]] = {}

    def __bool__(self) -> bool:
        return bool(self._paces)

    def slow(self, broker_id: int, directory: str, pace: DiskPace) -> None:
        """Make a directory slow from now on."""
        self._paces.setdefault(broker_id, {})[directory] = pace

    def mend_broker(self, broker: BrokerWithDisks, directory: str | None) -> None:
        """End the slowness of one directory, or (None) of all."""
        paces = self._paces.get(broker.id, {})
        for name in [directory] if directory is not None else [*paces]:
            if paces.pop(name, None) is not None:
                broker.storage.slow_directory(name, None)
        if not paces:
            self._paces.pop(broker.id, None)

    def intercept(
        self, phase: Phase, point: FaultPoint, rules: Callable[[Phase, FaultPoint], Interception | None]
    ) -> Interception | None:
        """Return the wait for the disk, followed by the decision of the rules."""
        wait_ms = self._wait_ms(phase, point)
        fired = rules(phase, point)
        if wait_ms <= TOLERANCE_MS:
            return fired
        wait = sleep(self._reactor, wait_ms)
        if fired is None:
            return Interception(wait=wait)
        ruled = fired.wait
        fired.wait = wait if ruled is None else wait.addCallback(lambda _: ruled)
        return fired

    def _wait_ms(self, phase: Phase, point: FaultPoint) -> float:
        if point.api_key == ApiKey.FETCH and point.replica_id in self._paces and phase is Phase.BEFORE_PARSE:
            return max(pace.owed_ms() for pace in self._paces[point.replica_id].values())
        paces = self._paces.get(point.broker_id)
        if paces is None or point.api_key != ApiKey.PRODUCE or point.topic is None or point.partition is None:
            return 0
        directory = self._directory_of(point.broker_id, TopicPartition(point.topic, point.partition))
        pace = None if directory is None else paces.get(directory)
        if pace is None:
            return 0
        if phase is Phase.BEFORE_APPEND:
            return pace.begin_append()
        return pace.owed_ms() if phase is Phase.AFTER_APPEND else 0


def slow_log_dirs(cluster: ClusterWithDisks, broker_id: int, names: Iterable[str], speed: DiskSpeed) -> None:
    """Make directories slow from now on. Raises BrokerSimError for a cluster without a disk."""
    faults = cluster.faults
    if faults.slow_disks is None:
        faults.slow_disks = SlowDisks(
            cluster.reactor, lambda broker, each: cluster.broker(broker).storage.directories.of(each)
        )
    for name in names:
        pace = DiskPace(cluster.reactor, speed)
        cluster.broker(broker_id).storage.slow_directory(name, pace)
        faults.slow_disks.slow(broker_id, name, pace)
    faults.changed()
