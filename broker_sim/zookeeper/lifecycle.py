"""The lifecycle of a broker in ZooKeeper mode: session, registration, controlled shutdown. Mirrors KafkaServer.

A broker id that a previous incarnation still holds rejects the registration until the session of that one has expired.
Kafka's process exits then, and its supervisor starts it again; here the broker retries.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.broker_lifecycle import NO_EPOCH, BrokerLifecycle
from broker_sim.broker_state import TABLE, BrokerEvent, BrokerState
from broker_sim.links.node_links import LinkFailure
from broker_sim.metadata.metadata_image import BrokerRegistration
from broker_sim.zookeeper.messages import Code, ControllerInfo, ZooKeeperError
from protocol_specs.messages.controlled_shutdown import ControlledShutdownRequest
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    import random

    from broker_sim.broker_lifecycle import LifecycleHost
    from broker_sim.zookeeper.ensemble import ZooKeeper
    from broker_sim.zookeeper.sessions import Session
    from broker_sim.zookeeper.zookeeper_client import ZooKeeperClient
    from protocol_specs.messages.controlled_shutdown import ControlledShutdownResponse

BROKER_EPOCHS_SINCE: Final = 2
RESTART_MS: Final = 500
"""The time after which a broker retries a rejected registration."""


class ZooKeeperLifecycle(BrokerLifecycle):
    """Notifies the host that the broker is registered; the controller's first requests do the rest of a start."""

    def __init__(
        self,
        *,
        host: LifecycleHost,
        incarnation: bytes,
        random: random.Random,
        client: ZooKeeperClient,
        controlled_shutdown_version: int,
        survives_failed_directories: bool,
    ) -> None:
        super().__init__(host=host, incarnation=incarnation, previous_epoch=NO_EPOCH, random=random)
        self._client = client
        self._survives_failed_directories = survives_failed_directories
        self._version = controlled_shutdown_version

    def start(self) -> None:
        """Connect and register."""
        self._change(BrokerEvent.STARTED)
        Deferred.fromCoroutine(self.register())

    def adopt(self, epoch: int) -> None:
        """Run at once, registered with `epoch`, as part of a cluster that starts as a whole."""
        self.epoch = epoch
        self._change(BrokerEvent.JOINED)

    async def register(self) -> None:
        """Begin a session and register in it; retry until the registration succeeds."""
        host = self._host
        while self.state is not BrokerState.NOT_RUNNING:
            await self._client.connect()
            broker = BrokerRegistration(
                id=host.id,
                host=host.host,
                port=host.port,
                listeners=host.registered_listeners,
                rack=host.rack,
                fenced=False,
                epoch=NO_EPOCH,
            )
            register = partial(_register, broker=broker)
            try:
                self.epoch = await self._client.request("ZooKeeperRegisterBroker", register)
            except ZooKeeperError as error:
                if error.code is Code.SESSION_EXPIRED:
                    return  # the client reports it, and a new session begins there
                await sleep(host.reactor, RESTART_MS)
                continue
            if TABLE.allows(self.state, BrokerEvent.UNFENCED):
                self._change(BrokerEvent.UNFENCED)
                host.registered(self.epoch)
            return

    def propagate_directory_failure(self, directory_id: bytes, timeout_ms: int | None) -> None:  # noqa: ARG002 - KRaft's
        """Let the controller request which replicas are gone; before 1.0 the broker stops with its directory."""
        if self._survives_failed_directories:
            Deferred.fromCoroutine(self._notify_of_directory())
        else:
            self._host.kill()

    async def _notify_of_directory(self) -> None:
        try:
            await self._client.request(
                "ZooKeeperNotifyLogDirEvent", lambda zookeeper, session: zookeeper.note_log_dir_failure(session)
            )
        except ZooKeeperError:
            return  # the session has ended, and the controller sends all replicas to the next one

    def begin_controlled_shutdown(self) -> Deferred[None]:
        """Let the controller move the leaderships; fires when it has, or after the last retry."""
        if self._shutdown is None:
            self._shutdown = Deferred()
            self._change(BrokerEvent.SHUTDOWN_REQUESTED)
            Deferred.fromCoroutine(self._controlled_shutdown())
        return self._shutdown

    async def _controlled_shutdown(self) -> None:
        config = self._host.config
        retries = config["controlled.shutdown.max.retries"]
        backoff_ms = config["controlled.shutdown.retry.backoff.ms"]
        assert isinstance(retries, int)
        assert isinstance(backoff_ms, int)
        for attempt in range(max(1, retries)):
            if attempt:
                await sleep(self._host.reactor, backoff_ms)
            if self.state is not BrokerState.PENDING_CONTROLLED_SHUTDOWN or await self._request_shutdown():
                break
        if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:  # else the process was killed meanwhile
            self._shut_down()

    async def _request_shutdown(self) -> bool:
        """Return True if the controller approves the shutdown."""
        host = self._host
        try:
            info: ControllerInfo = await self._client.request(
                "ZooKeeperGetController", lambda zookeeper, session: zookeeper.controller_info(session)
            )
            if info.controller_id < 0:
                return False
            request = ControlledShutdownRequest(
                broker_id=host.id, broker_epoch=self.epoch if self._version >= BROKER_EPOCHS_SINCE else NO_EPOCH
            )
            response: ControlledShutdownResponse = await host.links.send(
                host.id, info.controller_id, request, version=self._version
            )
        except (LinkFailure, ZooKeeperError):
            return False
        return not response.error_code and not response.remaining_partitions


def _register(zookeeper: ZooKeeper, session: Session, *, broker: BrokerRegistration) -> int:
    return zookeeper.register_broker(session, broker)
