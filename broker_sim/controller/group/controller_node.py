"""One controller's process on the cluster's links: its voter, its timer, its state machine. Mirrors ControllerServer
with KafkaRaftClientDriver and KafkaNetworkChannel.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from broker_sim.links.node_links import LinkFailure
from broker_sim.quorum.raft_outputs import (
    Committed,
    LeaderChanged,
    Output,
    SendRequest,
    SendResponse,
    SnapshotLoaded,
)
from broker_sim.quorum.raft_replica import RaftReplica

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.controller.group.controller_group import ControllerGroup
    from broker_sim.controller.group.quorum_controller import QuorumController
    from broker_sim.metadata.metadata_log import MetadataBatch

__all__ = ["ControllerNode"]


class ControllerNode:
    """`storage` outlives the process; `replica` and `controller` are one run's."""

    def __init__(self, group: ControllerGroup, node_id: int) -> None:
        self.group = group
        self.id = node_id
        self.storage = group.storage_of(node_id)
        self.alive = False
        self._random = group.streams.stream(f"controller {node_id} elections")
        self._reactor = group.reactor
        self._timer: IDelayedCall | None = None
        self._outputs: deque[Output] = deque()
        self._handing_out = False
        self._responses: dict[int, Deferred[Any]] = {}
        self._tickets = 0
        self._boot_parts()

    def _boot_parts(self) -> None:
        group = self.group
        self.controller: QuorumController = group.make_controller(self)
        self.replica = RaftReplica(
            node_id=self.id,
            voters=group.node_ids,
            settings=group.settings,
            messages=group.messages_of(self.id),
            storage=self.storage,
            random=self._random,
        )

    def _now_ms(self) -> float:
        return self._reactor.seconds() * 1000

    # Start and end of the process.

    def adopt(self, batches: Sequence[MetadataBatch]) -> None:
        """Run at once, in the middle of an epoch: how a cluster starts as a whole."""
        self._attach()
        if self.replica.node_id != self.storage.quorum_state.leader_id:
            self.controller.follow(batches)
        self.replica.adopt(self._now_ms())
        self._hand_out()

    def start(self) -> None:
        """Restart the process: read the log, and find the leader."""
        self._boot_parts()
        self.controller.follow(())
        if self.storage.log.snapshot is not None:
            self.controller.load_snapshot(self.storage.log.snapshot)
        self._attach()
        self.replica.initialize(self._now_ms())
        self._hand_out()

    def kill(self) -> None:
        """End the process without a shutdown; log and quorum-state stay."""
        self.alive = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._outputs.clear()
        self._responses.clear()
        self.controller.stop()
        self.group.links.detach(self.id)

    def resign(self) -> None:
        """Stop leading, in order; does nothing to one that does not lead."""
        self.replica.resign(self._now_ms())
        self._hand_out()

    def _attach(self) -> None:
        self.alive = True
        self.group.links.attach(self.id, self.group.link_node_of(self))

    # Requests of other voters.

    def voter_request(self, request: Any, source: int) -> Deferred[Any]:
        """Give a request of the quorum's APIs to the voter; fires with its response, or never from a dead process."""
        response: Deferred[Any] = Deferred()
        if not self.alive:
            return response  # a rule has delayed it beyond the end of the process
        self._tickets += 1
        self._responses[self._tickets] = response
        self.replica.receive_request(source, self._tickets, request, self._now_ms())
        self._hand_out()
        return response

    # The voter's outputs.

    def append(self, batch: MetadataBatch, *, records: int) -> None:
        """Replicate a batch of the active controller."""
        appended = self.replica.append(batch, records=records, now_ms=self._now_ms())
        assert appended.base_offset == batch.base_offset, "both logs count the same records"
        self._hand_out()

    def _hand_out(self) -> None:
        outputs = self.replica.take_outbox()
        if not self.alive:
            return  # what a process does while it ends reaches no other node
        self._outputs.extend(outputs)
        if self._handing_out:
            return  # a message that was delivered at once has called back: the loop below handles its outputs
        self._handing_out = True
        try:
            while self._outputs and self.alive:
                self._obey(self._outputs.popleft())
        finally:
            self._handing_out = False
        if self.alive:
            self._arm()

    def _obey(self, output: Output) -> None:
        if isinstance(output, SendRequest):
            response = self.group.links.send(
                self.id,
                output.destination,
                output.request,
                version=output.version,
                timeout_ms=self.group.settings.request_timeout_ms,
            )
            response.addCallbacks(self._responded, self._failed, callbackArgs=(output,), errbackArgs=(output,))
        elif isinstance(output, SendResponse):
            self._responses.pop(output.correlation_id).callback(output.response)
        elif isinstance(output, SnapshotLoaded):
            self.controller.load_snapshot(output.snapshot)
        elif isinstance(output, Committed):
            self.controller.apply_committed(output.batches)
        else:
            self._leader_changed(output)

    def _responded(self, response: Any, sent: SendRequest) -> None:
        if self.alive:
            self.replica.receive_response(sent.destination, sent.correlation_id, response, self._now_ms())
            self._hand_out()

    def _failed(self, failure: Failure, sent: SendRequest) -> None:
        failure.trap(LinkFailure)
        if self.alive:
            self.replica.receive_failure(sent.destination, sent.correlation_id, self._now_ms())
            self._hand_out()

    def _leader_changed(self, change: LeaderChanged) -> None:
        if self.controller.is_active:
            self.controller.deactivate()
        leader = self.replica.leader_state
        if change.leader_id == self.id and leader is not None and self.replica.epoch == change.epoch:
            first = self.replica.log.read(leader.epoch_start_offset)[0]
            self.controller.activate(change.epoch, first.content, leader.epoch_start_offset)
        self.group.leader_changed(self, change)

    # Time.

    def _arm(self) -> None:
        due_s = self.replica.due_ms / 1000
        if self._timer is not None:
            if self._timer.getTime() <= due_s:
                return  # it looks again when it is due
            self._timer.cancel()
        self._timer = self._reactor.callLater(max(0.0, due_s - self._reactor.seconds()), self._due)

    def _due(self) -> None:
        self._timer = None
        if self.replica.due_ms <= self._now_ms() + 1e-3:
            self.replica.poll(self._now_ms())
        self._hand_out()
