"""One broker's path to the active controller. Mirrors NodeToControllerChannelManager and RaftControllerNodeProvider.

A request goes to the last known leader. If that node responds NOT_CONTROLLER or cannot be reached, the broker requests
the leader from the voters, one after the other, as any observer of the metadata log does, and retries the request until
its time is up. It sends them Fetch requests for that; the broker's own Fetch of the metadata log is MetadataLoader's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_sim.controller.not_controller import is_not_controller
from broker_sim.links.node_links import CONTROLLER_ID, LinkFailure
from broker_sim.quorum.raft_log import OffsetAndEpoch

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.controller.group.controller_group import ControllerGroup
    from protocol_specs.messages.fetch import FetchResponse

__all__ = ["ControllerChannel"]

RETRY_BACKOFF_MS: Final = 50
"""How long a broker that has not found the controller waits before it tries the next voter."""
UUID_BYTES: Final = 16
NO_NODE: Final = -1


class _Call:
    __slots__ = ("deadline_s", "deferred", "request", "timer", "version")

    def __init__(self, request: Any, version: int, deadline_s: float) -> None:
        self.request = request
        self.version = version
        self.deadline_s = deadline_s
        self.deferred: Deferred[Any] = Deferred()
        self.timer: IDelayedCall | None = None


class ControllerChannel:
    """The requests of one run of broker `broker_id`; `call`, that of NodeLinks, sends one to a node."""

    def __init__(self, group: ControllerGroup, broker_id: int, *, call: Callable[..., None]) -> None:
        self._group = group
        self._reactor = group.reactor
        self._broker_id = broker_id
        self._call = call
        random = group.streams.stream(f"broker {broker_id} controller channel")
        self._messages = group.messages_of(broker_id, random.randbytes(UUID_BYTES))
        self._next_voter = random.randrange(len(group.node_ids))
        self._epoch = 0
        # A cluster starts with its first controller active; a channel of a later start finds the leader itself.
        self._leader_id = CONTROLLER_ID
        self._waiting: list[_Call] = []
        self._looking = False
        self._timer: IDelayedCall | None = None
        self._stopped = False

    def send(self, request: Any, *, version: int, timeout_ms: int) -> Deferred[Any]:
        """Send a request to the active controller; fails with LinkFailure without a response in time."""
        call = _Call(request, version, self._reactor.seconds() + timeout_ms / 1000)
        self._try(call)
        return call.deferred

    def stop(self) -> None:
        """Drop all requests: the broker's process has ended."""
        self._stopped = True
        for call in self._waiting:
            if call.timer is not None:
                call.timer.cancel()
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _try(self, call: _Call) -> None:
        if self._leader_id == NO_NODE:
            self._wait(call)
            return
        remaining_ms = max(1, round((call.deadline_s - self._reactor.seconds()) * 1000))
        leader_id = self._leader_id
        response = self._send(leader_id, call.request, version=call.version, timeout_ms=remaining_ms)
        response.addCallbacks(
            self._responded, self._failed, callbackArgs=(call, leader_id), errbackArgs=(call, leader_id)
        )

    def _send(self, node_id: int, request: Any, *, version: int, timeout_ms: int) -> Deferred[Any]:
        responded: Deferred[Any] = Deferred()
        self._call(
            self._broker_id,
            node_id,
            request,
            lambda response, _: responded.callback(response),
            lambda failure, _: responded.errback(failure),
            version=version,
            timeout_ms=timeout_ms,
        )
        return responded

    def _responded(self, response: Any, call: _Call, leader_id: int) -> None:
        if is_not_controller(response):
            self._again(call, leader_id)
        elif not self._stopped:
            call.deferred.callback(response)

    def _failed(self, failure: Failure, call: _Call, leader_id: int) -> None:
        failure.trap(LinkFailure)
        self._again(call, leader_id)

    def _again(self, call: _Call, leader_id: int) -> None:
        if self._stopped:
            return
        if leader_id == self._leader_id:
            self._leader_id = NO_NODE
            self._look_later()
        self._wait(call)

    # Without a controller.

    def _wait(self, call: _Call) -> None:
        delay_s = call.deadline_s - self._reactor.seconds()
        if delay_s <= 0:
            self._expire(call)
            return
        self._waiting.append(call)
        call.timer = self._reactor.callLater(delay_s, self._due, call)
        if self._leader_id != NO_NODE:
            self._look_later()  # another is known already, but the network may take no time at all

    def _due(self, call: _Call) -> None:
        call.timer = None
        self._waiting.remove(call)
        self._expire(call)

    def _expire(self, call: _Call) -> None:
        name = call.request.NAME
        call.deferred.errback(
            LinkFailure(f"{name} from {self._broker_id}: no response of an active controller in time")
        )

    def _look_later(self) -> None:
        if self._timer is None and not self._looking:
            self._timer = self._reactor.callLater(RETRY_BACKOFF_MS / 1000, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._leader_id != NO_NODE:
            self._found()
            return
        self._looking = True
        node_ids = self._group.node_ids
        voter = node_ids[self._next_voter % len(node_ids)]
        self._next_voter += 1
        request = self._messages.fetch_request(
            epoch=self._epoch, log_end=OffsetAndEpoch(0, 0), high_watermark=-1, max_wait_ms=0
        )
        requested = self._send(
            voter,
            request,
            version=self._messages.versions[request.API_KEY],
            timeout_ms=self._group.settings.request_timeout_ms,
        )
        requested.addCallbacks(self._leader_fetched, self._leader_fetch_failed)

    def _leader_fetched(self, response: FetchResponse) -> None:
        self._looking = False
        if self._stopped:
            return
        if response.responses:
            leader = response.responses[0].partitions[0].current_leader
            if leader.leader_epoch >= self._epoch and leader.leader_id != NO_NODE:
                self._epoch, self._leader_id = leader.leader_epoch, leader.leader_id
        if self._leader_id == NO_NODE:
            self._look_later()
        else:
            self._found()

    def _leader_fetch_failed(self, failure: Failure) -> None:
        failure.trap(LinkFailure)
        self._looking = False
        if not self._stopped:
            self._look_later()

    def _found(self) -> None:
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            if call.timer is not None:
                call.timer.cancel()
                call.timer = None
            self._try(call)
