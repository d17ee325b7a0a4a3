"""A broker's standing with the controller: registration, heartbeats, shutdown. Mirrors BrokerLifecycleManager.

- STARTING: registered or trying to be; heartbeats say that it wants to stay fenced, until its metadata has caught up.
- RECOVERY: caught up, its logs are there; it asks to be unfenced.
- RUNNING: unfenced once. What the controller thinks of it later (fenced for its silence, say) changes nothing here.
- PENDING_CONTROLLED_SHUTDOWN: heartbeats ask to go; the controller moves leaderships away and then agrees.
- SHUTTING_DOWN: it may go.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.internet.defer import Deferred

from broker_sim.controller.broker_registration import RegisteredBroker, registration_request
from broker_sim.links.controller_versions import controller_version
from broker_sim.links.node_links import CONTROLLER_ID, LinkFailure
from protocol_specs.api_key import ApiKey
from protocol_specs.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    import random

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.links.node_links import NodeLinks
    from protocol_specs.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
    from protocol_specs.releases import Release
    from sim_runtime.interfaces import IReactor

NO_EPOCH: Final = -1
CAUGHT_UP_CHECK_MS: Final = 10
SHUTDOWN_CHECK_MS: Final = 50
FIRST_WITH_CORDONED_DIRECTORIES: Final = 2
"""The version of BrokerHeartbeat that names them."""
CONTROLLED_SHUTDOWN_TIMEOUT_MS: Final = 300_000
"""As in Kafka: after five minutes without the controller's consent the broker goes all the same."""


class BrokerState(Enum):
    """Mirrors org.apache.kafka.metadata.BrokerState."""

    NOT_RUNNING = auto()
    STARTING = auto()
    RECOVERY = auto()
    RUNNING = auto()
    PENDING_CONTROLLED_SHUTDOWN = auto()
    SHUTTING_DOWN = auto()


class LifecycleHost(RegisteredBroker, Protocol):
    """What the lifecycle needs of its broker beside what is registered, and tells it."""

    release: Release
    config: BrokerConfig
    links: NodeLinks
    reactor: IReactor

    @property
    def metadata_version(self) -> int:
        """The version of the image that is applied."""

    def registered(self, broker_epoch: int) -> None:
        """The controller has given an epoch."""

    def caught_up(self) -> None:
        """The metadata holds the own registration: the broker may open its doors."""

    def unfenced(self) -> None:
        """The controller lets the broker serve, for the first time in this run."""

    @property
    def cordoned_log_dirs(self) -> tuple[bytes, ...]:
        """The ids of the log directories that take no new replicas."""

    def kill(self) -> None:
        """The process ends at once."""


class BrokerLifecycle:
    """One run of one broker's process. `incarnation` tells runs apart, `previous_epoch` is known after a clean stop."""

    def __init__(self, *, host: LifecycleHost, incarnation: bytes, previous_epoch: int, random: random.Random) -> None:
        self._host = host
        self.incarnation = incarnation
        self.epoch = NO_EPOCH
        self.state = BrokerState.NOT_RUNNING
        self._previous_epoch = previous_epoch
        self._backoff = ExponentialBackoff(100, host.config.broker_session_timeout_ms, 2, 0.02, random)
        self._failures = 0
        self._timer: IDelayedCall | None = None
        self._in_flight = False
        self._due_at_once = False
        self._shutdown: Deferred[None] | None = None
        self._shutdown_deadline: IDelayedCall | None = None
        self._shutdown_answered = False
        self._offline_log_dirs: tuple[bytes, ...] = ()
        self._log_dir_deadline: IDelayedCall | None = None

    def start(self) -> None:
        """Register, and go on from there."""
        self.state = BrokerState.STARTING
        self._communicate()

    def adopt(self, epoch: int) -> None:
        """Be what a cluster that was started as a whole has made of this broker: registered and unfenced."""
        self.epoch = epoch
        self.state = BrokerState.RUNNING
        self._schedule(self._host.config.broker_heartbeat_interval_ms)

    def begin_controlled_shutdown(self) -> Deferred[None]:
        """Ask the controller to be let go; fires when it agrees, or when the time for that is up."""
        if self._shutdown is None:
            self._shutdown = Deferred()
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            self._shutdown_deadline = self._host.reactor.callLater(
                CONTROLLED_SHUTDOWN_TIMEOUT_MS / 1000, self._shut_down
            )
            self._schedule_now()
        return self._shutdown

    def stop(self) -> None:
        """The process ends."""
        self.state = BrokerState.NOT_RUNNING
        for timer in (self._timer, self._shutdown_deadline, self._log_dir_deadline):
            if timer is not None and timer.active():
                timer.cancel()
        self._timer = self._shutdown_deadline = self._log_dir_deadline = None
        shutdown, self._shutdown = self._shutdown, None
        if shutdown is not None:
            shutdown.callback(None)  # whoever awaits the shutdown sees that the process is gone

    def propagate_directory_failure(self, directory_id: bytes, timeout_ms: int | None) -> None:
        """Tell the controller that a log directory is offline; a broker that cannot within `timeout_ms` shuts down."""
        self._offline_log_dirs += (directory_id,)
        if timeout_ms is not None and self._log_dir_deadline is None:
            self._log_dir_deadline = self._host.reactor.callLater(timeout_ms / 1000, self._host.kill)
        if self.epoch != NO_EPOCH:
            self._schedule_now()

    # Communication -------------------------------------------------------------------------------------------

    def _schedule(self, delay_ms: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._due_at_once:
            self._due_at_once = False
            delay_ms = 0
        self._timer = self._host.reactor.callLater(delay_ms / 1000, self._communicate)

    def _schedule_now(self) -> None:
        if self._in_flight:
            self._due_at_once = True
        else:
            self._schedule(0)

    def _communicate(self) -> None:
        self._timer = None
        host = self._host
        self._in_flight = True
        if self.epoch == NO_EPOCH:
            registration = registration_request(
                host, incarnation_id=self.incarnation, previous_broker_epoch=self._previous_epoch
            )
            registered: Deferred[BrokerRegistrationResponse] = self._send(registration, ApiKey.BROKER_REGISTRATION)
            registered.addCallbacks(self._registered, self._failed)
            return
        heartbeat = BrokerHeartbeatRequest(
            broker_id=host.id,
            broker_epoch=self.epoch,
            current_metadata_offset=host.metadata_version,
            want_fence=self.state is BrokerState.STARTING,
            want_shut_down=self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN,
            offline_log_dirs=list(self._offline_log_dirs),
            cordoned_log_dirs=self._cordoned_log_dirs(),
        )
        answered: Deferred[BrokerHeartbeatResponse] = self._send(heartbeat, ApiKey.BROKER_HEARTBEAT)
        answered.addCallbacks(self._heartbeat_answered, self._failed, callbackArgs=(self._offline_log_dirs,))

    def _cordoned_log_dirs(self) -> list[bytes] | None:
        """What a broker says in every heartbeat since there are cordoned directories (KIP-1066)."""
        knows = controller_version(self._host.release, ApiKey.BROKER_HEARTBEAT) >= FIRST_WITH_CORDONED_DIRECTORIES
        return list(self._host.cordoned_log_dirs) if knows else None

    def _send(self, request: BrokerRegistrationRequest | BrokerHeartbeatRequest, api_key: ApiKey) -> Deferred[Any]:
        host = self._host
        version = controller_version(host.release, api_key)
        # A heartbeat that takes longer than a session is worth nothing.
        timeout_ms = host.config.broker_session_timeout_ms
        return host.links.send(host.id, CONTROLLER_ID, request, version=version, timeout_ms=timeout_ms)

    def _failed(self, failure: Failure) -> None:
        failure.trap(LinkFailure)
        self._in_flight = False
        if self.state is not BrokerState.NOT_RUNNING:
            self._again_after_failure()

    def _again_after_failure(self) -> None:
        delay_ms = self._backoff.backoff_ms(self._failures)
        self._failures += 1
        self._due_at_once = False
        self._schedule(delay_ms)

    def _registered(self, response: BrokerRegistrationResponse) -> None:
        self._in_flight = False
        if self.state is BrokerState.NOT_RUNNING:
            return
        if response.error_code:
            self._again_after_failure()
            return
        self._failures = 0
        self.epoch = response.broker_epoch
        self._host.registered(self.epoch)
        self._schedule(0)

    def _heartbeat_answered(self, response: BrokerHeartbeatResponse, told_offline: tuple[bytes, ...]) -> None:
        self._in_flight = False
        if self.state is BrokerState.NOT_RUNNING:
            return
        if response.error_code:
            self._again_after_failure()
            return
        self._failures = 0
        if self._log_dir_deadline is not None and told_offline == self._offline_log_dirs:
            self._log_dir_deadline.cancel()
            self._log_dir_deadline = None
        interval_ms = self._host.config.broker_heartbeat_interval_ms
        if self.state is BrokerState.STARTING:
            if response.is_caught_up:
                self.state = BrokerState.RECOVERY
                self._host.caught_up()
                self._schedule(0)
            else:
                self._schedule(CAUGHT_UP_CHECK_MS)
        elif self.state is BrokerState.RECOVERY:
            if not response.is_fenced:
                self.state = BrokerState.RUNNING
                self._host.unfenced()
            self._schedule(interval_ms)
        elif self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            self._shutdown_step(response, interval_ms)
        else:
            self._schedule(interval_ms)

    def _shutdown_step(self, response: BrokerHeartbeatResponse, interval_ms: int) -> None:
        if response.should_shut_down:
            self._shut_down()
            return
        self._schedule(interval_ms if self._shutdown_answered else SHUTDOWN_CHECK_MS)
        self._shutdown_answered = True

    def _shut_down(self) -> None:
        self.state = BrokerState.SHUTTING_DOWN
        if self._shutdown_deadline is not None and self._shutdown_deadline.active():
            self._shutdown_deadline.cancel()
        shutdown, self._shutdown = self._shutdown, None
        if shutdown is not None:
            shutdown.callback(None)
