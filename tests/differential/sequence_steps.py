"""Conversations drawn step by step: each step speaks of what the steps before it may have left behind.

A drawer guesses what its steps did (the next sequence of a producer, the next epoch of a fetch session), so that most
of them are good; it never reads a response, so that both sides receive the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol_specs.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol_specs.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.differential.config_requests import APPEND, DELETE, SET, SUBTRACT, TOPIC, incremental, legacy
from tests.differential.requests import FAR_FUTURE_MS, TIME_MS
from tests.differential.sequence_records import RecordDrawer

if TYPE_CHECKING:
    from random import Random

    from protocol_specs.message import Message

SLOTS: Final = 2
INT32, INT64 = 2**31 - 1, 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request. Ids that a side gives itself stand in it as markers."""

    request: Message
    version: int
    broker: int = 1
    connection: int = 1
    slot: int | None = None
    """The fetch session that it opens or goes on with."""


def topic_marker(name: str) -> bytes:
    """Return the placeholder of a topic's id."""
    return b"id" + name.encode()[-13:].rjust(13, b".") + b"#"


def session_marker(slot: int) -> int:
    """Return the placeholder of a fetch session's id."""
    return 0x5E551D01 + slot


TOPIC_CONFIGS: Final[dict[str, tuple[str, ...]]] = {
    "cleanup.policy": ("delete", "compact", "compact,delete", "delete,compact"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime", "LogAppendTime"),
    "compression.type": ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
    "max.message.bytes": ("0", "100", "150", "1000", "100000"),
    "message.timestamp.before.max.ms": ("0", "1", "1000", "9223372036854775807"),
    "message.timestamp.after.max.ms": ("0", "1", "1000", "9223372036854775807"),
    "message.timestamp.difference.max.ms": ("0", "1000", "9223372036854775807"),
    "segment.bytes": ("14", "100", "200", "1048576", "1000000"),
    "segment.ms": ("1", "2", "1000"),
    "segment.jitter.ms": ("0",),
    "index.interval.bytes": ("0", "1", "4096"),
    "min.insync.replicas": ("1", "2", "3"),
    "flush.messages": ("1",),
    "delete.retention.ms": ("0", "100"),
    "message.format.version": ("0.9.0", "0.10.0", "0.11.0", "3.0-IV1"),
    "message.downconversion.enable": ("false", "true"),
    "preallocate": ("true", "false"),
    "segment.index.bytes": ("24", "1000"),
    "retention.bytes": ("-1",),
}
GONE_WITH_4: Final = ("message.timestamp.difference.max.ms", "message.format.version", "message.downconversion.enable")


@dataclass(slots=True)
class _Session:
    epoch: int = 1
    by_id: bool = False


@dataclass(slots=True)
class Sequence:
    """The state that the drawer believes in."""

    random: Random
    name: str
    release: str
    topics: dict[str, int] = field(default_factory=dict)
    """Name -> partitions."""

    _drawn: RecordDrawer = field(init=False)
    sessions: dict[int, _Session] = field(default_factory=dict)
    age: float = 0.1
    """The chance of an old version on releases that still serve it."""

    def __post_init__(self) -> None:
        self._drawn = RecordDrawer(self.random)

    @property
    def old(self) -> bool:
        """Return True for releases before 4.0."""
        return self.release.startswith("3")

    def steps(self, count: int) -> list[Step]:
        """Return a sequence of requests, and those that read the result."""
        kinds = [
            self._produce, self._produce, self._produce, self._produce, self._list_offsets, self._fetch,
            self._session_fetch, self._session_fetch, self._epochs, self._describe_producers, self._delete_records,
            self._alter_topic, self._create_partitions, self._delete_topic, self._metadata, self._describe_configs,
            self._log_dirs, self._quotas, self._create_topic, self._describe_quotas,
        ]  # fmt: skip
        self.age = self._pick(0.1, 0.1, 0.5, 0.8)
        chosen = [kind for kind in kinds if self._chance(0.6)] or kinds
        made = [self._create_topic() for _ in range(self.random.randint(1, 2))]
        made += [self._produce() for _ in range(self.random.randint(0, 4))]
        made += [self.random.choice(chosen)() for _ in range(count)]
        return [*made, *self._audit()]

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _pick(self, *values: Any) -> Any:
        return self.random.choice(values)

    def _step(self, request: Message, version: int, **options: Any) -> Step:
        return Step(request=request, version=version, connection=self._pick(1, 1, 2, 3), **options)

    def _topic(self) -> str:
        if not self.topics or self._chance(0.03):
            return f"{self.name}-none"
        return self.random.choice(list(self.topics))

    def _partition(self, topic: str) -> int:
        return self.random.choice((*range(self.topics.get(topic, 1)), 0, 0, *([7] if self._chance(0.1) else [])))

    def _offset(self) -> int:
        return self._pick(0, 0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 20, -1, 1000)

    # Topics

    def _config(self) -> tuple[str, str]:
        names = [each for each in TOPIC_CONFIGS if self.old or each not in GONE_WITH_4]
        name = self.random.choice(names)
        value = self.random.choice(TOPIC_CONFIGS[name])
        if name == "segment.bytes" and not self.old:
            value = "1048576"
        return name, value

    def _create_topic(self) -> Step:
        name = f"{self.name}-{'abc'[len(self.topics) % 3]}"
        partitions = self._pick(1, 1, 2, 3)
        configs = dict(self._config() for _ in range(self._pick(0, 1, 1, 2, 3)))
        configs["retention.ms"] = "-1"
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        if name not in self.topics:
            self.topics[name] = partitions
        return self._step(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), self._pick(7, 7, 6, 5, 4, 2))

    def _create_partitions(self) -> Step:
        name = self._topic()
        count = self.topics.get(name, 1) + self._pick(1, 1, 0, -1)
        validate = self._chance(0.2)
        if name in self.topics and count > self.topics[name] and not validate:
            self.topics[name] = count
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        return self._step(CreatePartitionsRequest(topics=[topic], timeout_ms=5_000, validate_only=validate), 3)

    def _delete_topic(self) -> Step:
        name = self._topic()
        if self._chance(0.5):
            return self._metadata()
        self.topics.pop(name, None)
        self._drawn.forget(name)
        version = self._pick(6, 5, 3, 1)
        request = DeleteTopicsRequest(topic_names=[name], topics=[DeleteTopicState(name=name)], timeout_ms=5_000)
        return self._step(request, version)

    def _alter_topic(self) -> Step:
        name = self._topic()
        if self._chance(0.2):
            configs = [self._config() for _ in range(self._pick(0, 1, 2))]
            return self._step(legacy((TOPIC, name, [("retention.ms", "-1"), *configs])), self._pick(0, 1, 2))
        changes = []
        for _ in range(self._pick(1, 1, 2)):
            key, value = self._config()
            operation = self._pick(SET, SET, SET, SET, DELETE)
            if key == "cleanup.policy":
                operation, value = self._pick(SET, APPEND, SUBTRACT), self._pick(value, "compact", "delete")
            changes.append((key, operation, None if operation == DELETE else value))
        return self._step(incremental((TOPIC, name, changes)), self._pick(0, 1))

    def _describe_configs(self) -> Step:
        keys = None if self._chance(0.3) else [self._config()[0] for _ in range(3)]
        resource = DescribeConfigsResource(resource_type=TOPIC, resource_name=self._topic(), configuration_keys=keys)
        return self._step(
            DescribeConfigsRequest(resources=[resource], include_synonyms=self._chance(0.5)), self._pick(4, 1, 2)
        )

    def _metadata(self) -> Step:
        topics = [MetadataRequestTopic(name=self._topic()) for _ in range(self._pick(1, 2))]
        return self._step(MetadataRequest(topics=topics, allow_auto_topic_creation=False), self.random.randint(4, 12))

    def _log_dirs(self) -> Step:
        name = self._topic()
        topic = DescribableLogDirTopic(topic=name, partitions=list(range(self.topics.get(name, 1))))
        return self._step(DescribeLogDirsRequest(topics=[topic]), self._pick(1, 2, 4))

    def _quotas(self) -> Step:
        entity = [EntityData(entity_type=self._pick("user", "client-id"), entity_name=self._pick("s1", "s2", None))]
        if self._chance(0.3):
            entity.append(EntityData(entity_type=self._pick("user", "client-id"), entity_name=self._pick("s1", None)))
        ops = [
            OpData(
                key=self._pick("producer_byte_rate", "consumer_byte_rate", "request_percentage"),
                value=self._pick(1e9, 2e9, 3e9),
                remove=self._chance(0.4),
            )
            for _ in range(self._pick(1, 1, 2))
        ]
        request = AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=ops)], validate_only=self._chance(0.1))
        return self._step(request, self._pick(0, 1))

    def _describe_quotas(self) -> Step:
        components = [
            ComponentData(entity_type=kind, match_type=self._pick(0, 1, 2), match=self._pick("s1", "s2"))
            for kind in self._pick(("user",), ("client-id",), ("user", "client-id"), ())
        ]
        for each in components:
            if each.match_type:
                each.match = None
        return self._step(DescribeClientQuotasRequest(components=components, strict=self._chance(0.3)), 1)

    # Records

    def _produce(self) -> Step:
        version = self._pick(9, 9, 8, 7, 3, 5, 11 if not self.old else 10, 13 if not self.old else 9)
        if self.old and self._chance(self.age):
            version = self.random.randint(0, 2)
        entries = []
        for _ in range(self._pick(1, 1, 1, 2, 3)):
            topic = self._topic()
            partition = self._partition(topic)
            entries.append((topic, partition, self._drawn.records(topic, partition, version)))
        data = [
            TopicProduceData(
                name=topic,
                topic_id=topic_marker(topic),
                partition_data=[PartitionProduceData(index=partition, records=records)],
            )
            for topic, partition, records in entries
        ]
        acks = self._pick(-1, -1, -1, -1, 1, 1, 0)
        return self._step(ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=data), version)

    def _delete_records(self) -> Step:
        name = self._topic()
        partitions = [
            DeleteRecordsPartition(partition_index=self._partition(name), offset=self._pick(-1, 0, 1, 2, 3, 5, 9, 100))
        ]
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=name, partitions=partitions)], timeout_ms=5_000)
        return self._step(request, self._pick(0, 1, 2))

    # Questions

    def _list_offsets(self) -> Step:
        name = self._topic()
        top = 8 if self.old else 11
        version = self._pick(top, self.random.randint(1, top), self.random.randint(0 if self.old else 1, top))
        partitions = [
            ListOffsetsPartition(
                partition_index=self._partition(name),
                timestamp=self._pick(
                    -1, -2, -3, -3, -4, -5, 0, TIME_MS, TIME_MS + 1, TIME_MS + 4, TIME_MS - 3, TIME_MS + 100,
                    FAR_FUTURE_MS, FAR_FUTURE_MS + 2, INT64, -9, -6, 1,
                ),
                current_leader_epoch=self._pick(-1, -1, -1, 0, 1),
                max_num_offsets=self._pick(1, 2, 5),
            )
            for _ in range(self._pick(1, 1, 2))
        ]  # fmt: skip
        return self._step(
            ListOffsetsRequest(
                replica_id=self._pick(-1, -1, -1, -2, 1),
                isolation_level=self._pick(0, 1),
                topics=[ListOffsetsTopic(name=name, partitions=partitions)],
                timeout_ms=1000,
            ),
            version,
        )

    def _epochs(self) -> Step:
        name = self._topic()
        partitions = [
            OffsetForLeaderPartition(
                partition=self._partition(name),
                current_leader_epoch=self._pick(-1, -1, 0, 1),
                leader_epoch=self._pick(0, 0, 1, -1, 5, -2),
            )
        ]
        topics = [OffsetForLeaderTopic(topic=name, partitions=partitions)]
        low = 0 if self.old else 2
        return self._step(
            OffsetForLeaderEpochRequest(replica_id=self._pick(-1, -2, 1), topics=topics), self.random.randint(low, 4)
        )

    def _describe_producers(self) -> Step:
        name = self._topic()
        indexes = sorted({self._partition(name) for _ in range(2)})
        return self._step(DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=indexes)]), 0)

    def _wanted(self, topic: str) -> FetchPartition:
        return FetchPartition(
            partition=self._partition(topic),
            fetch_offset=self._offset(),
            partition_max_bytes=self._pick(1 << 20, 1 << 20, 200, 70, 1, 0),
            current_leader_epoch=self._pick(-1, -1, -1, 0, 1),
            last_fetched_epoch=self._pick(-1, -1, -1, 0, 1),
            log_start_offset=-1,
        )

    def _fetch_request(self, **options: Any) -> FetchRequest:
        topics = []
        for _ in range(self._pick(0, 1, 1, 1, 2)):
            name = self._topic()
            topics.append(
                FetchTopic(
                    topic=name,
                    topic_id=topic_marker(name),
                    partitions=[self._wanted(name) for _ in range(self._pick(1, 1, 2, 3))],
                )
            )
        return FetchRequest(
            max_wait_ms=self._pick(0, 0, 0, 30),
            min_bytes=self._pick(0, 1, 1, 300),
            max_bytes=self._pick(1 << 20, 1 << 20, 300, 100, 1, 0),
            isolation_level=self._pick(0, 0, 1),
            topics=topics,
            **options,
        )

    def _fetch(self) -> Step:
        top = 16 if self.old else 18
        if self.old and self._chance(self.age):
            top = 3
        version = self._pick(top, min(top, 12), min(top, 11), self.random.randint(0 if self.old else 4, top))
        return self._step(self._fetch_request(session_epoch=-1), version)

    def _session_fetch(self) -> Step:
        slot = self.random.randrange(SLOTS)
        session = self.sessions.get(slot)
        top = 16 if self.old else 18
        if session is None or self._chance(0.1):
            replaced = session is not None and self._chance(0.5)
            session = self.sessions[slot] = _Session(by_id=self._chance(0.5))
            request = self._fetch_request(session_id=session_marker(slot) if replaced else 0, session_epoch=0)
            return self._step(request, self._session_version(session, top), slot=slot)
        kind = self.random.randrange(20)
        epoch = session.epoch
        if kind == 0:
            epoch = -1
            del self.sessions[slot]
        elif kind == 1:
            epoch += self._pick(1, 4, -1)
        else:
            session.epoch += 1
        forgotten = []
        if self._chance(0.3):
            name = self._topic()
            forgotten = [ForgottenTopic(topic=name, topic_id=topic_marker(name), partitions=[self._partition(name)])]
        request = self._fetch_request(
            session_id=session_marker(slot), session_epoch=epoch, forgotten_topics_data=forgotten
        )
        if self._chance(0.4):
            request.topics = []
        return self._step(request, self._session_version(session, top), slot=slot)

    def _session_version(self, session: _Session, top: int) -> int:
        by_id = session.by_id if self._chance(0.95) else not session.by_id
        return self.random.randint(13, top) if by_id else self.random.randint(7, 12)

    def _audit(self) -> list[Step]:
        """Return the requests that read everything about every topic."""
        made: list[Step] = []
        for name, count in self.topics.items():
            listed = list(range(count))
            made.append(
                self._step(
                    MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False), 12
                )
            )
            made.append(
                self._step(DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=listed)]), 0)
            )
            for timestamp in (-1, -2, -3, -4, -5, TIME_MS, TIME_MS + 2, FAR_FUTURE_MS):
                partitions = [ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in listed]
                topics = [ListOffsetsTopic(name=name, partitions=partitions)]
                made.append(self._step(ListOffsetsRequest(replica_id=-1, topics=topics), 8))
            for offset in (0, 3, 7):
                wanted = [
                    FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
                    for index in listed
                ]
                made.append(
                    self._step(
                        FetchRequest(min_bytes=0, max_wait_ms=0, topics=[FetchTopic(topic=name, partitions=wanted)]), 12
                    )
                )
            epochs = [OffsetForLeaderPartition(partition=index, leader_epoch=0) for index in listed]
            made.append(
                self._step(OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=name, partitions=epochs)]), 4)
            )
            made.append(
                self._step(DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=name, partitions=listed)]), 4)
            )
            made.append(
                self._step(
                    DescribeConfigsRequest(
                        resources=[
                            DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=None)
                        ]
                    ),
                    4,
                )
            )
        return made
