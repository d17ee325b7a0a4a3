"""Drawn conversations of transactional producers whose coordinators and leaders move between two of three brokers.

The third broker is down. A topic that wants three replicas in sync is frozen: nothing is written to it with acks=all,
markers included, and a transaction stays prepared until the topic is thawed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.internal_partitions import partition_for
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import CreateTopicsRequest
from tests.differential.cases.alter_partition_reassignments import reassign
from tests.differential.cases.cluster import ALL
from tests.differential.cases.create_topics import new
from tests.differential.cases.elect_leaders import elect
from tests.differential.cases.init_producer_id import init
from tests.differential.config_requests import SET, TOPIC, incremental
from tests.differential.group_requests import OFFSETS_TOPIC, fetch_offsets
from tests.differential.probe import attempts
from tests.differential.requests import batch, list_offsets, metadata, produce
from tests.differential.transaction_requests import LOADING, STATE_TOPIC, describe
from tests.differential.transaction_sequences import (
    INTERNAL_PARTITIONS,
    TransactionSequence,
    TransactionSide,
    TransactionStep,
)

if TYPE_CHECKING:
    from tests.differential.probe import Connection, Probe
    from tests.differential.transaction_sequences import Draw, Partition

__all__ = ["DEBUGGER", "DOWN", "MovingSequence", "MovingSide", "place_internal_topics"]

DOWN: Final = 3
ALIVE: Final = (1, 2)
STRICT, LENIENT = "3", "1"
REPLICAS: Final = ([1, 2, 3], [2, 1, 3], [1, 2, 3])
BARRIER: Final = "barrier"
"""A topic whose configuration changes together with those of others, and shows when they are in force."""

LEADS: Final = (ErrorCode.NONE, ErrorCode.OFFSET_NOT_AVAILABLE)
"""The high watermark of a frozen partition stays below the first offset of its new leader."""

DEBUGGER: Final = -2
"""The replica id that lists the end of a log instead of its high watermark."""

MOVE_CHANCE: Final = 0.2


def place_internal_topics(probe: Probe) -> None:
    """Make the topics of coordinators, and the barrier, so that both sides have the same leaders with equal epochs."""
    compacted = {"cleanup_policy": "compact", "min_insync_replicas": LENIENT}
    state = {"unclean_leader_election_enable": "false", "compression_type": "uncompressed"}
    _make_topic(probe, STATE_TOPIC, *REPLICAS, **compacted, **state)
    _make_topic(probe, OFFSETS_TOPIC, *REPLICAS, **compacted, compression_type="producer")
    _make_topic(probe, BARRIER, *REPLICAS[:2], min_insync_replicas=LENIENT)


def _make_topic(probe: Probe, name: str, *replicas: list[int], **configs: str) -> None:
    topic = new(name, -1, -1, assigned=list(enumerate(replicas)), **configs)
    created: Any = probe.quiet(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
    assert created.topics[0].error_code == 0, created
    probe.await_topic(name, len(replicas))


class MovingSide(TransactionSide):
    """One side of a conversation with two brokers."""

    def _make_topics(self) -> dict[str, int]:
        self._connections = {broker: self.probe.connect(broker) for broker in ALIVE}
        self._leaders: dict[Partition, int] = {}
        topics = {}
        for suffix, count in (("a", 2), ("b", 1)):
            topic = f"{self.probe.name}-{suffix}"
            _make_topic(self.probe, topic, *REPLICAS[:count], retention_ms="-1", min_insync_replicas=LENIENT)
            topics[topic] = count
        for topic in (*topics, STATE_TOPIC, OFFSETS_TOPIC, BARRIER):
            self._find_leaders(topic)
        return topics

    def _find_leaders(self, topic: str) -> None:
        """Learn the leaders of a topic, and wait until each leads."""
        described: Any = self.probe.quiet(metadata(topic), 12)
        self.probe.normaliser.know_topic(topic, described.topics[0].topic_id)
        for each in described.topics[0].partitions:
            self._leaders[topic, each.partition_index] = each.leader_id
            self._await_leader((topic, each.partition_index))

    def _await_leader(self, at: Partition) -> None:
        topic, partition = at
        for _ in attempts(f"broker {self._leaders[at]} to lead {at}"):
            listed: Any = self.probe.quiet(list_offsets(topic, -1, partition=partition), 5, on=self.connection(at))
            if listed.topics[0].partitions[0].error_code in LEADS:
                return

    def _await_watermark(self, at: Partition) -> None:
        """Wait until a new leader knows that its log is replicated: until then its high watermark is an older one."""
        topic, partition = at
        for _ in attempts(f"the high watermark of {at}"):
            ends = set()
            for replica_id in (-1, DEBUGGER):
                request = list_offsets(topic, -1, partition=partition, replica_id=replica_id)
                listed: Any = self.probe.quiet(request, 5, on=self.connection(at))
                ends.add(listed.topics[0].partitions[0].offset)
            if len(ends) == 1:
                return

    def _await_coordinators(self) -> None:
        self._await_applied()
        for connection in self._connections.values():
            for _ in attempts("a first block of producer ids"):
                response: Any = self.probe.quiet(init(), 4, on=connection)
                if response.error_code == 0:
                    break
        for index in range(INTERNAL_PARTITIONS):
            self._await_loaded((STATE_TOPIC, index))
            self._await_loaded((OFFSETS_TOPIC, index))

    def _await_loaded(self, at: Partition) -> None:
        """Wait until the coordinator of a partition of an internal topic serves its keys."""
        for _ in attempts(f"the coordinator of {at}"):
            if self._error_of_coordinator(at, self.connection(at)) not in LOADING:
                return

    def _await_reloaded(self, at: Partition) -> None:
        """Wait until a coordinator has loaded a partition whose replicas have changed.

        Kafka 3.7.2 loads a partition again whenever its registration changes. A load that ends after the broker has
        resigned makes it a coordinator for good: it resigns at the next leader epoch, which the load does not have.
        """
        self._await_applied()
        self._await_loaded(at)

    def _await_resigned(self, at: Partition, broker: int) -> None:
        """Wait until a broker is no longer the coordinator of a partition: then it lists nothing of it."""
        for _ in attempts(f"broker {broker} to leave the coordinator of {at}"):
            if self._error_of_coordinator(at, self._connections[broker]) == ErrorCode.NOT_COORDINATOR:
                return

    def _error_of_coordinator(self, at: Partition, connection: Connection) -> int:
        """Return the error with which a broker responds about a key of a partition of an internal topic."""
        key = next(key for key in map(str, range(1000)) if partition_for(key, INTERNAL_PARTITIONS) == at[1])
        response: Any
        if at[0] == STATE_TOPIC:
            response = self.probe.quiet(describe(key), 0, on=connection)
            return int(response.transaction_states[0].error_code)
        response = self.probe.quiet(fetch_offsets(key), 7, on=connection)
        return int(response.error_code)

    def connection(self, partition: Partition) -> Connection:
        """Return the connection to the leader of a partition."""
        return self._connections[self._leaders[partition]]

    def connections(self) -> list[Connection | None]:
        """Return the connection to each live broker."""
        return list(self._connections.values())

    def close(self) -> None:
        """Thaw every topic: the internal ones are those of the next conversation too."""
        if self.frozen:
            self.freeze(*sorted(self.frozen), strict=False)
        super().close()

    def move(self, at: Partition) -> None:
        """Let the other broker lead a partition."""
        topic, partition = at
        leader = next(broker for broker in ALIVE if broker != self._leaders[at])
        replicas = [leader, *(broker for broker in ALL if broker != leader)]
        for _ in attempts(f"{at} to move"):
            changed: Any = self.probe.quiet(reassign((topic, {partition: replicas})), 0)
            if not changed.error_code and not changed.responses[0].partitions[0].error_code:
                break
        if topic in (STATE_TOPIC, OFFSETS_TOPIC):
            self._await_reloaded(at)
        for connection in self._connections.values():
            for _ in attempts(f"leader {leader} of {at}"):
                self.probe.quiet(elect((topic, [partition])), 2)
                described: Any = self.probe.quiet(metadata(topic), 12, on=connection)
                if (partition, leader) in [
                    (each.partition_index, each.leader_id) for each in described.topics[0].partitions
                ]:
                    break
        former = self._leaders[at]
        self._leaders[at] = leader
        self._await_leader(at)
        if topic not in self.frozen:
            self._await_watermark(at)
        if topic in (STATE_TOPIC, OFFSETS_TOPIC):
            self._await_loaded(at)
            self._await_resigned(at, former)

    def freeze(self, *topics: str, strict: bool) -> None:
        """Refuse writes with acks=all to some topics, or take them again."""
        self._alter(dict.fromkeys(topics, STRICT if strict else LENIENT))
        if strict:
            self.frozen.update(topics)
        else:
            self.frozen.difference_update(topics)

    def _await_applied(self) -> None:
        """Wait until each broker has done what was changed so far: it does all changes in their order."""
        self._alter({})

    def _alter(self, values: dict[str, str]) -> None:
        """Set the replicas that must be in sync; return when each broker has done it."""
        strict = not self._barrier_is_strict()
        changes = [(TOPIC, topic, [("min.insync.replicas", SET, value)]) for topic, value in values.items()]
        barrier = (TOPIC, BARRIER, [("min.insync.replicas", SET, STRICT if strict else LENIENT)])
        changed: Any = self.probe.quiet(incremental(*changes, barrier), 1)
        assert not any(each.error_code for each in changed.responses), changed
        for partition in range(len(ALIVE)):
            for _ in attempts(f"{values} in force"):
                if self._is_strict(partition) == strict:
                    break

    def _barrier_is_strict(self) -> bool:
        return self._is_strict(0)

    def _is_strict(self, partition: int) -> bool:
        on = self.connection((BARRIER, partition))
        response: Any = self.probe.quiet(produce(BARRIER, batch(b"b"), partition=partition), 9, on=on)
        return bool(response.responses[0].partition_responses[0].error_code)


class MovingSequence(TransactionSequence):
    """Draws the steps of a conversation with two brokers."""

    def _kinds(self, usual: list[Draw], rare: list[Draw]) -> list[Draw]:
        if self._random.random() < MOVE_CHANCE:
            return [self._move, self._move, self._freeze, self._thaw]
        return super()._kinds(usual, rare)

    def audit(self) -> list[TransactionStep]:
        """Return the steps that read what has become of the transactions, before and after every topic is thawed."""
        thaw = TransactionStep("thaws all", lambda side: _thaw(side, *sorted(side.frozen)))
        audit = super().audit()
        return [*audit, thaw, *audit]

    def _move(self) -> TransactionStep:
        choice = self._pick("state", "state", "offsets", (0, 0), (0, 1), (1, 0))
        slot = self._slot()

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MovingSide)
            if choice == "state":
                side.move(side.coordinator(slot))
            elif choice == "offsets":
                side.move(side.group_coordinator)
            else:
                side.move((side.topics_in_order[choice[0]], choice[1]))

        return TransactionStep(f"moves {choice} {slot}", act)

    def _freeze(self) -> TransactionStep:
        choice = self._pick(0, 0, 0, 1, 1, OFFSETS_TOPIC, STATE_TOPIC)

        def act(side: TransactionSide) -> None:
            assert isinstance(side, MovingSide)
            side.freeze(_topic_of(side, choice), strict=True)

        return TransactionStep(f"freezes {choice}", act)

    def _thaw(self) -> TransactionStep:
        choice = self._pick(0, 1, OFFSETS_TOPIC, STATE_TOPIC)
        return TransactionStep(f"thaws {choice}", lambda side: _thaw(side, _topic_of(side, choice)))


def _topic_of(side: TransactionSide, choice: int | str) -> str:
    return choice if isinstance(choice, str) else side.topics_in_order[choice]


def _thaw(side: TransactionSide, *topics: str) -> None:
    assert isinstance(side, MovingSide)
    frozen = [topic for topic in topics if topic in side.frozen]
    if frozen:
        side.freeze(*frozen, strict=False)
