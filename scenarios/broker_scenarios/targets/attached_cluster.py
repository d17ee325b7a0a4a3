"""A running cluster as a target of fault rules: its wire by the proxy, its processes, and an administrator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred, DeferredLock

from broker_scenarios.targets.attached_admin import AttachedAdmin
from broker_sim.control.events import BrokerKilled, BrokerStarted, BrokerStopped, ControllerKilled
from broker_sim.errors import BrokerSimError
from broker_sim.faults.action import Need
from broker_sim.wire_proxy.proxied_cluster import ProxiedCluster
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.core.admin.admin_core import AdminCore
    from broker_scenarios.targets.broker_processes import BrokerProcesses
    from broker_sim.control.journal import Journal
    from sim_runtime.interfaces import IReactor

__all__ = ["AttachedCluster"]

CATCH_UP_POLL_MS: Final = 200
CATCH_UP_POLLS_MAX: Final = 600


class AttachedCluster(ProxiedCluster):
    """It has the verbs of a simulated cluster, without those for its clocks, disks and defects."""

    def __init__(
        self, journal: Journal, reactor: IReactor, admin: AdminCore, processes: BrokerProcesses | None
    ) -> None:
        super().__init__(journal)
        self.down: set[int] = set()
        """The nodes that were killed or stopped."""
        self.paused: set[int] = set()
        self.active: int | None = None
        """The active controller, where controllers are processes of their own."""
        self._reactor = reactor
        self._processes = processes
        self._locks: dict[int, DeferredLock] = {}
        self._admin = AttachedAdmin(admin, self, reactor)

    @property
    def admin(self) -> AttachedAdmin:
        """The administrator."""
        return self._admin

    @property
    def capabilities(self) -> frozenset[Need]:
        """The parts that actions can need: processes only where they can be controlled."""
        of_processes = frozenset({Need.PROCESS, Need.PAUSE}) if self._processes is not None else frozenset()
        return of_processes | {Need.WIRE, Need.ADMIN, Need.CLIENTS}

    @property
    def controller_ids(self) -> Sequence[int]:
        """The controllers that are processes of their own."""
        return () if self._processes is None else self._processes.controller_ids

    @property
    def active_controller(self) -> int | None:
        """The active controller, None while there is none or it is not a process of its own."""
        return self.active

    def is_running(self, node_id: int) -> bool:
        """Return True for a node that is known and was not killed or stopped; a paused one runs."""
        return node_id not in self.down and (node_id in self.addresses or node_id in self.controller_ids)

    def kill(self, node_id: int) -> Deferred[None]:
        """Kill a node, as by SIGKILL."""
        self.down.add(node_id)
        kind = ControllerKilled if node_id in self.controller_ids else BrokerKilled
        self.journal.append(kind(time_us=self.journal.now_us(), broker_id=node_id))
        return self._do("kill", node_id)

    def stop(self, broker_id: int) -> Deferred[None]:
        """Shut a broker down in order; fires when its process has ended."""
        self.down.add(broker_id)

        def stopped(_: None) -> None:
            self.journal.append(BrokerStopped(time_us=self.journal.now_us(), broker_id=broker_id))

        return self._do("stop", broker_id).addCallback(stopped)

    def restart(self, node_id: int) -> Deferred[None]:
        """Start a node, after a kill if it runs."""

        async def restart() -> None:
            if node_id not in self.down:
                await self.kill(node_id)
            await self._do("start", node_id)
            self.down.discard(node_id)
            self.paused.discard(node_id)
            self.journal.append(BrokerStarted(time_us=self.journal.now_us(), broker_id=node_id))

        return Deferred.fromCoroutine(restart())

    def rolling_restart(self, broker_ids: Sequence[int] | None = None) -> Deferred[None]:
        """Restart brokers in order, one at a time, each when the one before is in sync again."""

        async def one_by_one() -> None:
            for broker_id in self.broker_ids if broker_ids is None else broker_ids:
                await self.stop(broker_id)
                await self.restart(broker_id)
                await self._in_sync(broker_id)

        return Deferred.fromCoroutine(one_by_one())

    async def _in_sync(self, broker_id: int) -> None:
        for _ in range(CATCH_UP_POLLS_MAX):
            await sleep(self._reactor, CATCH_UP_POLL_MS)
            if not self.out_of_sync(broker_id):
                return
        raise BrokerSimError(f"rolling restart: broker {broker_id} was not in sync in time")

    def out_of_sync(self, broker_id: int | None = None) -> list[str]:
        """Return the partitions with a replica, of a broker or of any, that is not in the ISR."""
        return [
            f"{topic}-{index}"
            for (topic, index), partition in self.partitions.items()
            if any(each not in partition.isr for each in partition.replicas if broker_id in {None, each})
        ]

    def pause(self, node_id: int) -> Deferred[None]:
        """Pause a node, as by SIGSTOP."""
        self.paused.add(node_id)
        return self._do("pause", node_id)

    def resume(self, node_id: int) -> Deferred[None]:
        """Continue a paused node."""
        self.paused.discard(node_id)
        return self._do("unpause", node_id)

    async def heal(self) -> None:
        """Continue what is paused and start what is down."""
        for node_id in list(self.paused):
            await self.resume(node_id)
        for node_id in list(self.down):
            await self.restart(node_id)

    def processes_problem(self) -> str | None:
        """Return why a node has ended by itself, None if that cannot be seen."""
        return None if self._processes is None else self._processes.problem()

    def _do(self, action: str, node_id: int) -> Deferred[None]:
        """Do something to the process of a node, after what is being done to it already."""
        assert self._processes is not None, "capabilities refuse the action before"
        lock = self._locks.setdefault(node_id, DeferredLock())
        return lock.run(self._processes.do, action, node_id)
