"""Finds the coordinator of a group and notices when it is lost. Mirrors AbstractCoordinator.ensureCoordinatorReady.

Requests to the coordinator have a connection of their own: a parked JoinGroup must not hold up fetches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.logger import Logger

from broker_client.consumer_errors import group_error, is_retriable
from broker_client.core.consumer.call_waits import PendingResult
from broker_client.core.network.cluster import Node
from broker_client.errors import ConnectionFailed, IllegalState
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.network.client_core import ClientCore
    from protocol_specs.message import Message

__all__ = ["CoordinatorFinder"]

M = TypeVar("M", bound="Message")

INT32_MAX: Final = 2**31 - 1
BATCHED_FROM: Final = 4
GROUP_KEY_TYPE: Final = 0
_log = Logger()


class CoordinatorFinder:
    """Call everything on the reactor's thread. `on_found` is called with each coordinator that was found."""

    def __init__(self, core: ClientCore, options: GroupOptions, waits: CallWaits) -> None:
        self._core = core
        self._options = options
        self._waits = waits
        self._node: Node | None = None
        self._lookup: PendingResult | None = None
        self.backoff = ExponentialBackoff(options.retry_backoff_ms, options.retry_backoff_max_ms, 2, 0.2, core.random)
        self.on_found: Callable[[], None] = lambda: None

    @property
    def node(self) -> Node | None:
        """The coordinator; None before it is found and after its connection is lost."""
        if self._node is not None and self._core.is_unavailable(self._node):
            self.mark_unknown("its connection is down", is_disconnected=True)
        return self._node

    def mark_unknown(self, cause: str, *, is_disconnected: bool = False) -> None:
        """Forget the coordinator; the next call that needs it looks it up again."""
        node, self._node = self._node, None
        if node is None:
            return
        _log.info(
            "group coordinator: lost group={group} node={node} cause={cause}",
            group=self._options.group_id,
            node=INT32_MAX - node.id,
            cause=cause,
        )
        if not is_disconnected:
            self._core.disconnect(node.id)

    async def ensure_ready(self, timer: CallTimer) -> bool:
        """Look the coordinator up until it is found; return False when the time is over.

        Raises:
            GroupAuthorizationFailed: the client may not describe the group.
            ProducerError: a broker refuses the look-up.
        """
        attempts = 0
        while self.node is None:
            found = self.look_up()
            if not await self._waits.until(lambda found=found: found.is_done, timer):  # type: ignore[misc]
                return False
            if self._lookup is found:
                self._lookup = None
            if found.error is not None:
                if not is_retriable(found.error):
                    raise found.error
                await self._waits.sleep(self.backoff.backoff_ms(attempts), timer)
                attempts += 1
                if not await self._waits.metadata_update(timer):
                    return False
            elif self._node is not None and self._core.is_unavailable(self._node):
                self.mark_unknown("its connection is down", is_disconnected=True)
                await self._waits.sleep(self.backoff.backoff_ms(attempts), timer)
                attempts += 1
            if timer.is_expired and self.node is None:
                return False
        return True

    def look_up(self) -> PendingResult:
        """Send FindCoordinator unless one is under way; return its result."""
        if self._lookup is None:
            self._lookup = PendingResult.of(self._send(), self._waits)
        return self._lookup

    @property
    def is_looking_up(self) -> bool:
        """True if FindCoordinator was sent and its result has not been taken."""
        return self._lookup is not None

    def forget_look_up(self) -> None:
        """Let the next look-up send a request even if one is under way."""
        self._lookup = None

    def send(
        self,
        kind: type[M],
        build: Callable[[int], M],
        *,
        timeout_ms: int | None = None,
        highest_version: int | None = None,
    ) -> Deferred[Any]:
        """Send to the coordinator; a lost connection marks it as unknown.

        Raises:
            BrokerError: the coordinator is unknown: COORDINATOR_NOT_AVAILABLE.
        """
        node = self.node
        if node is None:
            raise group_error(ErrorCode.COORDINATOR_NOT_AVAILABLE, self._options.group_id)
        limit_ms = self._core.options.network.request_timeout_ms if timeout_ms is None else timeout_ms
        response = self._core.request(kind, build, node=node, timeout_ms=limit_ms, highest_version=highest_version)

        def failed(failure: Failure) -> Failure:
            if failure.check(ConnectionFailed) is not None:
                self.mark_unknown(str(failure.value), is_disconnected=True)
            return failure

        return response.addErrback(failed)

    # Details

    def _send(self) -> Deferred[None]:
        group_id = self._options.group_id

        def build(version: int) -> FindCoordinatorRequest:
            if version >= BATCHED_FROM:
                return FindCoordinatorRequest(key_type=GROUP_KEY_TYPE, coordinator_keys=[group_id])
            return FindCoordinatorRequest(key=group_id, key_type=GROUP_KEY_TYPE)

        response = self._core.request(
            FindCoordinatorRequest, build, timeout_ms=self._core.options.network.request_timeout_ms
        )
        return response.addCallback(self._take)

    def _take(self, response: Any) -> None:
        found = response
        if response.coordinators:
            if len(response.coordinators) != 1:
                raise IllegalState("FindCoordinator: the response has more than the one coordinator that was requested")
            (found,) = response.coordinators
        code = ErrorCode.for_code(found.error_code)
        if code is not ErrorCode.NONE:
            raise group_error(code, self._options.group_id, found.error_message)
        self._node = Node(INT32_MAX - found.node_id, found.host, found.port)
        _log.info(
            "group coordinator: found group={group} node={node}", group=self._options.group_id, node=found.node_id
        )
        self._core.connect(self._node)
        self.on_found()
