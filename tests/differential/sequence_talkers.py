"""One side of a drawn conversation: its connections, its ids, and the wait until a change is there."""

from __future__ import annotations

import struct
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.framing import decode_response, encode_request
from protocol_specs.json_form import from_json, to_json
from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from protocol_specs.messages.produce import ProduceRequest
from protocol_specs.registry import response_type
from tests.differential.cases.describe_log_dirs import named as named_log_dirs
from tests.differential.exploration_sides import SECONDS
from tests.differential.explore import CHANGING
from tests.differential.probe import Connection, Probe, attempts
from tests.differential.requests import metadata
from tests.differential.sequence_steps import SLOTS, session_marker, topic_marker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.differential.sequence_steps import Step

BURST_CHANCE: Final = 0.15
SETTLE_SECONDS: Final = 0.06
WATERMARK_SECONDS: Final = 0.55
"""After an append, until a follower that has nothing to fetch knows the high watermark for sure."""

WHOLE_SECONDS: Final = 4.0
"""How long replicas may need to come into sync; those of a throttled or lost leader never do."""

PRODUCE, CREATE_TOPICS, DELETE_RECORDS, DESCRIBE_LOG_DIRS = 0, 19, 21, 35
NO_SESSION: Final = b"\x7f\xff\xff\x00"
ANY_ORDER: Final = ("isrNodes", "offlineReplicas", "eligibleLeaderReplicas", "lastKnownElr")


class Talker:
    """Sends the requests of steps to one cluster."""

    def __init__(self, bootstrap: str, release: str, name: str, alive: tuple[int, ...]) -> None:
        self._probe = Probe(bootstrap, release=release, name=name)
        self._alive = alive
        self._ids: dict[bytes, bytes] = {}
        self._names: dict[str, None] = {}
        self._sessions = [NO_SESSION] * SLOTS
        self._connections: dict[tuple[int, int], Connection] = {}
        self._last_id = 0
        self._pause = Event()

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._probe.close()

    def exchange(self, steps: list[Step]) -> list[Any]:
        """Send steps of one connection at once; return the responses, normalised, in order."""
        place = steps[0].broker, steps[0].connection
        connection = self._connection(*place)
        first = self._last_id + 1
        connection.send(b"".join(map(self._frame, steps)))
        responses = []
        for correlation_id, step in enumerate(steps, first):
            if _is_silent(step):
                continue
            responses.append(self._response(connection, step, correlation_id))
            if isinstance(responses[-1], str):
                self._connections.pop(place).close()
                break
        return responses

    def _connection(self, broker: int, number: int) -> Connection:
        known = self._connections.get((broker, number))
        if known is None or known.closed:
            known = self._connections[broker, number] = Connection(self._probe.address_of(broker))
        return known

    def _frame(self, step: Step) -> bytes:
        self._last_id += 1
        request = from_json(type(step.request), step.version, to_json(step.request, step.version))
        data = encode_request(request, step.version, correlation_id=self._last_id, client_id="probe")
        for marked, topic_id in self._ids.items():
            data = data.replace(marked, topic_id)
        for slot, session in enumerate(self._sessions):
            data = data.replace(struct.pack(">i", session_marker(slot)), session)
        return data

    def _response(self, connection: Connection, step: Step, correlation_id: int) -> Any:
        frame = connection.receive(SECONDS)
        if isinstance(frame, str):
            return frame
        returned_id, message = decode_response(response_type(step.request.API_KEY), step.version, frame)
        if returned_id != correlation_id:
            return f"a response to the request {correlation_id - returned_id} before it"
        response: Any = to_json(message, step.version)
        if step.slot is not None and response.get("sessionId"):
            self._sessions[step.slot] = struct.pack(">i", response["sessionId"])
        if step.request.API_KEY == DESCRIBE_LOG_DIRS:
            response = _without_sizes(named_log_dirs(response))
        if step.request.API_KEY == CREATE_TOPICS:
            for each in response["topics"]:
                if not each["errorCode"]:
                    self._learn(each["name"])
        return _in_any_order(self._probe.normaliser.normalise(response))

    def _learn(self, name: str) -> None:
        """Know the id of a topic that has been made."""
        self._names[name] = None
        on = self._connection(self._alive[0], 0)
        for _ in attempts(f"{name} to be there"):
            topic: Any = self._probe.quiet(metadata(name), 12, on=on)
            if not topic.topics[0].error_code:
                break
        self._ids[topic_marker(name)] = topic.topics[0].topic_id
        self._probe.normaliser.know_topic(name, topic.topics[0].topic_id)

    def settle(self, steps: list[Step]) -> None:
        """Wait until what these have changed is known to every broker that is up, and nothing more happens."""
        keys = {step.request.API_KEY for step in steps}
        if not keys & {*CHANGING, DELETE_RECORDS}:
            return
        self._pause.wait(SETTLE_SECONDS)
        if len(self._probe.addresses) > 1 and keys & {PRODUCE, DELETE_RECORDS}:
            self._pause.wait(WATERMARK_SECONDS)
        last: Any = None
        seen = 0
        for turn, _ in enumerate(attempts(f"{self._probe.name} to settle")):
            views = [self._view(broker) for broker in self._alive]
            same = all(view == last for view in views)
            last, seen = views[0], seen + 1 if same else 0
            is_due = turn * SETTLE_SECONDS > WHOLE_SECONDS
            if seen > 1 and (is_due or self._is_whole(views[0])):
                return
            self._pause.wait(SETTLE_SECONDS)

    def _view(self, broker: int) -> Any:
        response: Any = self._probe.quiet(metadata(*self._names), 12, on=self._connection(broker, 0))
        return [
            (topic.name, each.partition_index, each.leader_id, each.leader_epoch, each.replica_nodes, each.isr_nodes)
            for topic in response.topics
            for each in sorted(topic.partitions, key=lambda each: each.partition_index)
        ]

    def _is_whole(self, view: Any) -> bool:
        """Return True if all live replicas are in sync and no reassignment that can complete is in progress."""
        if len(self._probe.addresses) == 1:
            return True
        for *_, leader, _, replicas, isr in view:
            if leader >= 0 and {*replicas} & {*self._alive} != {*isr} & {*self._alive}:
                return False
        if len(self._alive) < len(self._probe.addresses):
            return True
        listed: Any = self._probe.quiet(
            ListPartitionReassignmentsRequest(topics=None), 0, on=self._connection(self._alive[0], 0)
        )
        return not listed.topics


def groups(steps: list[Step], random: Random) -> Iterator[list[Step]]:
    """Yield the steps that are sent at once: a metadata change goes alone, acks=0 goes before another request."""
    group: list[Step] = []
    for step in steps:
        alone = step.request.API_KEY in CHANGING - {PRODUCE}
        if group:
            elsewhere = (step.broker, step.connection) != (group[0].broker, group[0].connection)
            if alone or elsewhere or not (_is_silent(group[-1]) or random.random() < BURST_CHANCE):
                yield group
                group = []
        group.append(step)
        if alone:
            yield group
            group = []
    if group:
        yield group


def _is_silent(step: Step) -> bool:
    return isinstance(step.request, ProduceRequest) and step.request.acks == 0


def _without_sizes(response: Any) -> Any:
    """Reduce each size to whether it is above zero: the size of compressed data depends on the compressor."""
    for result in response["results"]:
        for topic in result["topics"]:
            for partition in topic["partitions"]:
                partition["partitionSize"] = partition["partitionSize"] > 0
    return response


def _in_any_order(value: Any) -> Any:
    """Return the response without the quorum's leader and with replicas sorted: both are random with three brokers."""
    if isinstance(value, dict):
        return {
            key: sorted(item) if key in ANY_ORDER and item else _in_any_order(item)
            for key, item in value.items()
            if key != "controllerId"
        }
    return [_in_any_order(item) for item in value] if isinstance(value, list) else value
