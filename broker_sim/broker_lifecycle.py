"""A broker's registration with the controller, its heartbeats and its controlled shutdown. Mirrors
BrokerLifecycleManager; the states are in `broker_state`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.internet.defer import Deferred

from broker_sim.broker_state import TABLE, BrokerEvent, BrokerState
from broker_sim.controller.broker_registration import RegisteredBroker, registration_request
from broker_sim.links.controller_versions import controller_version
from broker_sim.links.node_links import CONTROLLER_ID
from protocol_specs.api_key import ApiKey
from protocol_specs.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.links.node_links import NodeLinks
    from protocol_specs.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
    from protocol_specs.releases import Release
    from sim_runtime.interfaces import IReactor

NO_EPOCH: Final = -1
CAUGHT_UP_CHECK_MS: Final = 10
SHUTDOWN_CHECK_MS: Final = 50
FIRST_WITH_CORDONED_DIRECTORIES: Final = 2
"""The first version of BrokerHeartbeat with the field."""
CONTROLLED_SHUTDOWN_TIMEOUT_MS: Final = 300_000
"""As in Kafka: after five minutes the broker stops without the controller's approval."""


class LifecycleHost(RegisteredBroker, Protocol):
    """The part of a broker that its lifecycle uses: facts for heartbeats, and notifications of progress."""

    release: Release
    config: BrokerConfig
    links: NodeLinks
    reactor: IReactor

    @property
    def metadata_version(self) -> int:
        """The version of the image that is applied."""

    def registered(self, broker_epoch: int) -> None:
        """Take the epoch that the controller has assigned."""

    def caught_up(self) -> None:
        """Open the listeners: the metadata holds the broker's own registration."""

    def unfenced(self) -> None:
        """Serve clients: the controller has unfenced this incarnation for the first time."""

    @property
    def cordoned_log_dirs(self) -> tuple[bytes, ...]:
        """The ids of the log directories that take no new replicas."""

    def kill(self) -> None:
        """End the process at once."""


class BrokerLifecycle:
    """One incarnation of one broker.

    `incarnation` is its unique id. `previous_epoch` is the epoch of the previous one after a clean stop, else -1.
    """

    def __init__(self, *, host: LifecycleHost, incarnation: bytes, previous_epoch: int, random: random.Random) -> None:
        self._host = host
        self._heartbeat_version = controller_version(host.release, ApiKey.BROKER_HEARTBEAT)
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
        self._shutdown_is_delayed = False
        """The controller has responded to the shutdown request, but not approved it yet."""
        self._offline_log_dirs: tuple[bytes, ...] = ()
        self._log_dir_deadline: IDelayedCall | None = None

    def start(self) -> None:
        """Register, then send heartbeats."""
        self._change(BrokerEvent.STARTED)
        self._communicate()

    def adopt(self, epoch: int) -> None:
        """Run at once, registered and unfenced with `epoch`, as part of a cluster that starts as a whole."""
        self.epoch = epoch
        self._change(BrokerEvent.JOINED)
        self._schedule(self._host.config.broker_heartbeat_interval_ms)

    def begin_controlled_shutdown(self) -> Deferred[None]:
        """Request a controlled shutdown; fires when the controller approves it, or when the time for it is up."""
        if self._shutdown is None:
            self._shutdown = Deferred()
            self._change(BrokerEvent.SHUTDOWN_REQUESTED)
            self._shutdown_deadline = self._host.reactor.callLater(
                CONTROLLED_SHUTDOWN_TIMEOUT_MS / 1000, self._shut_down
            )
            self._schedule_now()
        return self._shutdown

    def stop(self) -> None:
        """Cancel all timers: the process has ended."""
        self._change(BrokerEvent.STOPPED)
        for timer in (self._timer, self._shutdown_deadline, self._log_dir_deadline):
            if timer is not None and timer.active():
                timer.cancel()
        self._timer = self._shutdown_deadline = self._log_dir_deadline = None
        shutdown, self._shutdown = self._shutdown, None
        if shutdown is not None:
            shutdown.callback(None)  # its waiter checks whether the process still runs

    def propagate_directory_failure(self, directory_id: bytes, timeout_ms: int | None) -> None:
        """Report an offline log directory to the controller.

        The broker shuts down if the controller has not received the report within `timeout_ms`; None for no limit.
        """
        self._offline_log_dirs += (directory_id,)
        if timeout_ms is not None and self._log_dir_deadline is None:
            self._log_dir_deadline = self._host.reactor.callLater(timeout_ms / 1000, self._host.kill)
        if self.epoch != NO_EPOCH:
            self._schedule_now()

    def _change(self, event: BrokerEvent) -> None:
        self.state = TABLE.next(self.state, event)

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
            version = controller_version(host.release, ApiKey.BROKER_REGISTRATION)
            self._send(registration, version, self._registered)
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
        self._send(heartbeat, self._heartbeat_version, self._heartbeat_succeeded)

    def _cordoned_log_dirs(self) -> list[bytes] | None:
        """Return the field of every heartbeat of a release with cordoned directories (KIP-1066), else None."""
        has_field = self._heartbeat_version >= FIRST_WITH_CORDONED_DIRECTORIES
        return list(self._host.cordoned_log_dirs) if has_field else None

    def _send(
        self,
        request: BrokerRegistrationRequest | BrokerHeartbeatRequest,
        version: int,
        on_response: Callable[[Any, int], None],
    ) -> None:
        """Send a request; the number of the call is that of the failed log directories when it was sent."""
        host = self._host
        number = len(self._offline_log_dirs)
        # The session has expired when a later response arrives.
        timeout_ms = host.config.broker_session_timeout_ms
        host.links.call(host.id, CONTROLLER_ID, request, on_response, self._failed, version, number, timeout_ms)

    def _failed(self, _link_failure: Exception, _number: int) -> None:
        self._in_flight = False
        if self.state is not BrokerState.NOT_RUNNING:
            self._retry()

    def _retry(self) -> None:
        delay_ms = self._backoff.backoff_ms(self._failures)
        self._failures += 1
        self._due_at_once = False
        self._schedule(delay_ms)

    def _registered(self, response: BrokerRegistrationResponse, _number: int) -> None:
        self._in_flight = False
        if self.state is BrokerState.NOT_RUNNING:
            return
        if response.error_code:
            self._retry()
            return
        self._failures = 0
        self.epoch = response.broker_epoch
        self._host.registered(self.epoch)
        self._schedule(0)

    def _heartbeat_succeeded(self, response: BrokerHeartbeatResponse, reported_offline: int) -> None:
        self._in_flight = False
        if self.state is BrokerState.NOT_RUNNING:
            return
        if response.error_code:
            self._retry()
            return
        self._failures = 0
        if self._log_dir_deadline is not None and reported_offline == len(self._offline_log_dirs):
            self._log_dir_deadline.cancel()
            self._log_dir_deadline = None
        event = self._event_of(response)
        if event is BrokerEvent.SHUTDOWN_APPROVED:
            self._shut_down()
            return
        delay_ms = self._heartbeat_delay_ms(event)
        if event is not None:
            self._change(event)
        if event is BrokerEvent.CAUGHT_UP:
            self._host.caught_up()
        elif event is BrokerEvent.UNFENCED:
            self._host.unfenced()
        self._schedule(delay_ms)

    def _event_of(self, response: BrokerHeartbeatResponse) -> BrokerEvent | None:
        """Return the change that the controller grants; None for no change."""
        state = self.state
        if state is BrokerState.STARTING and response.is_caught_up:
            return BrokerEvent.CAUGHT_UP
        if state is BrokerState.RECOVERY and not response.is_fenced:
            return BrokerEvent.UNFENCED
        if state is BrokerState.PENDING_CONTROLLED_SHUTDOWN and response.should_shut_down:
            return BrokerEvent.SHUTDOWN_APPROVED
        return None

    def _heartbeat_delay_ms(self, event: BrokerEvent | None) -> int:
        """Return the time until the next heartbeat; a broker that waits for the controller sends it sooner."""
        if event is BrokerEvent.CAUGHT_UP:
            return 0
        if self.state is BrokerState.STARTING:
            return CAUGHT_UP_CHECK_MS
        if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN and not self._shutdown_is_delayed:
            self._shutdown_is_delayed = True
            return SHUTDOWN_CHECK_MS
        return self._host.config.broker_heartbeat_interval_ms

    def _shut_down(self) -> None:
        self._change(BrokerEvent.SHUTDOWN_APPROVED)
        if self._shutdown_deadline is not None and self._shutdown_deadline.active():
            self._shutdown_deadline.cancel()
        shutdown, self._shutdown = self._shutdown, None
        if shutdown is not None:
            shutdown.callback(None)
