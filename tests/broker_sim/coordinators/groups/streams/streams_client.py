"""A member of a streams group on virtual time: it heartbeats, closes and opens tasks, and recovers from every error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds
from tests.broker_sim.coordinators.faulty_cluster import OFFSETS_TOPIC
from tests.broker_sim.coordinators.groups.streams.streams_cluster import GROUP, REBALANCE_MS, topology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.broker_sim.coordinators.groups.streams.streams_cluster import StreamsCluster, Task

HEARTBEAT_MS: Final = 500
RETRY_MS: Final = 200
REQUEST_MS: Final = 1_500


class StreamsClient:
    """One member of a process. Its tasks are those that it runs, which follow the assigned ones after a while."""

    def __init__(self, cluster: StreamsCluster, name: str, process: str, *, close_ms: int) -> None:
        self.name = name
        self.process = process
        self.close_ms = close_ms
        """How long it takes to close tasks."""
        self.alive = True
        self.paused = False
        self.loses_response = False
        self.epoch = 0
        self.active: set[Task] = set()
        self.standby: set[Task] = set()
        self.acknowledged: set[Task] = set()
        """The active tasks that a successful heartbeat has reported."""
        self.past: list[tuple[int, Task]] = []
        """The active tasks that are closed, each with the last epoch of the member that had it."""
        self.statuses: list[int] = []
        self.violations: list[str] = []
        self._cluster = cluster
        self._assigned: tuple[set[Task], set[Task]] = (set(), set())
        self._delayed: list[Callable[[], None]] = []
        self._requests = 0
        self._in_flight = False
        self._heartbeat()

    @property
    def owned(self) -> set[Task]:
        """The active tasks that the coordinator knows and the member has not closed since: a response may be lost."""
        return self.acknowledged & self.active

    # Faults.

    def crash(self) -> None:
        """Stop without a request."""
        self.alive = False

    def leave(self) -> None:
        """Leave the group, if its coordinator can be reached."""
        coordinator = self._cluster.leader(OFFSETS_TOPIC)
        if coordinator is not None and self.epoch > 0:
            self._cluster.send(coordinator, self._request(-1), 0)
        self.crash()

    def pause(self) -> None:
        """Send and receive nothing until `resume`; the tasks run on."""
        self.paused = True

    def resume(self) -> None:
        """Go on where the pause began."""
        self.paused = False
        delayed, self._delayed = self._delayed, []
        for action in delayed:
            self._act(action)

    def _act(self, action: Callable[[], None]) -> None:
        if self.alive and self.paused:
            self._delayed.append(action)
        elif self.alive:
            action()

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._cluster.reactor.callLater(delay_ms / 1000, self._act, action)

    # Heartbeats.

    def _request(self, epoch: int) -> StreamsGroupHeartbeatRequest:
        usual = {"group_id": GROUP, "member_id": self.name, "member_epoch": epoch, "endpoint_information_epoch": 0}
        if epoch < 0:
            return StreamsGroupHeartbeatRequest(**usual)
        request = StreamsGroupHeartbeatRequest(
            **usual, active_tasks=_ids(self.active), standby_tasks=_ids(self.standby), warmup_tasks=[]
        )
        if epoch == 0:
            request.topology = topology()
            request.rebalance_timeout_ms = REBALANCE_MS
            request.process_id = self.process
            request.client_tags = []
        return request

    def _heartbeat(self) -> None:
        coordinator = self._cluster.leader(OFFSETS_TOPIC)
        if coordinator is None:
            self._later(RETRY_MS, self._heartbeat)
            return
        self._requests += 1
        self._in_flight = True
        number, reported = self._requests, set(self.active)
        sent = self._cluster.send(coordinator, self._request(self.epoch), 0)

        def received(response: Any) -> None:
            if self._requests != number or self.loses_response or not hasattr(response, "error_code"):
                return
            self._requests += 1
            self._received(response, reported)

        def lost() -> None:
            if self._requests == number:
                self.loses_response = False
                self._lose_everything()
                self._heartbeat()

        sent.addCallback(lambda response: self._act(lambda: received(response)))
        sent.addErrback(lambda failure: self.violations.append(failure.getTraceback()))
        self._later(REQUEST_MS, lost)

    def _received(self, response: Any, reported: set[Task]) -> None:
        self._in_flight = False
        if response.error_code:
            self._lose_everything()
        else:
            if response.member_epoch < self.epoch:
                self.violations.append(f"the epoch of {self.name} is {response.member_epoch} after {self.epoch}")
            self.epoch = response.member_epoch
            self.acknowledged = reported
            self.statuses = [each.status_code for each in response.status or ()]
            if response.active_tasks is not None:
                self._assigned = (_tasks(response.active_tasks), _tasks(response.standby_tasks))
                assigned = self._assigned
                self._later(self.close_ms, lambda: self._reconcile(assigned))
        self._later(RETRY_MS if response.error_code else HEARTBEAT_MS, self._heartbeat)

    def _reconcile(self, assigned: tuple[set[Task], set[Task]]) -> None:
        """Close the tasks that are not assigned any more, and open new ones, when no heartbeat is in flight."""
        if self._assigned is assigned and self._in_flight:
            self._later(RETRY_MS, lambda: self._reconcile(assigned))
        elif self._assigned is assigned:
            self.past += [(self.epoch, task) for task in sorted(self.active - assigned[0])]
            self.active, self.standby = set(assigned[0]), set(assigned[1])

    def _lose_everything(self) -> None:
        """Begin anew: the member is fenced, or a response is lost, or hidden by an error.

        A lost response may have had tasks, or taken tasks away, and no later response repeats it: the recorded case
        streams-group-heartbeat-responses-that-are-lost shows that. Kafka's clients go on all the same.
        """
        self._in_flight = False
        self.past += [(self.epoch, task) for task in sorted(self.active)]
        self.epoch = 0
        self.active, self.standby, self.acknowledged = set(), set(), set()
        self._assigned = (set(), set())


def _ids(tasks: Iterable[Task]) -> list[TaskIds]:
    found: dict[str, list[int]] = {}
    for subtopology, partition in sorted(tasks):
        found.setdefault(subtopology, []).append(partition)
    return [TaskIds(subtopology_id=name, partitions=partitions) for name, partitions in found.items()]


def _tasks(listed: Iterable[TaskIds]) -> set[Task]:
    return {(each.subtopology_id, partition) for each in listed for partition in each.partitions}
