"""Requests drawn from values that brokers treat apart: known topics beside unknown ones, right numbers beside odd ones.

What a field may hold depends on its name, because that decides what a broker makes of it. Most values are good: of two
bad ones in one request a broker reports one only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.config.definitions import broker_definitions, topic_definitions
from protocol_specs.fields import Array, FieldType, FixedType, SizedType, String
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID
from tests.differential.exploration_sides import FRESH_TOPICS, PRODUCER_ID, SESSION_MARKER, marker
from tests.differential.requests import FAR_FUTURE_MS, TIME_MS, batch, idempotent, message_set, patched, timed

if TYPE_CHECKING:
    from random import Random

    from protocol_specs.message import Field, Message, Struct

INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1

SUFFIXES: Final = ("data", "wide", "compact", "appendtime", "trimmed", "small")
ODD_NAMES: Final = ("", ".", "..", "no such topic", "a/b", "é", "x" * 249, "x" * 250, "__consumer_offsets", "__x")
UNSAFE_BROKER_CONFIGS: Final = (
    "listener", "ssl.", "sasl.", "principal", "max.connection", "metric", "authorizer", "num.", "broker.id", "log.dir",
    "connection", "queued", "socket", "thread", "remote.log", "controller", "quota", "process", "node.id", "unclean",
    "config.providers", "min.insync", "leader.imbalance", "background", "cleaner",
)  # fmt: skip
"""Broker configurations that would change how a broker serves the shots behind."""

OLD_VERSION_CHANCE: Final = {  # chance of another value than the first
    "validate_only": 0.5,
    "strict": 0.4,
}


class Drawer:
    """Draws messages for one exploration; `number` moves the window of topics that may be changed for good."""

    def __init__(self, random: Random, name: str, release: str, *, brokers: int = 1) -> None:
        self.random = random
        self.name = name
        self.number = 0
        self._release = release
        self._brokers = list(range(1, brokers + 1))
        self._topic_configs = list(topic_definitions(release))
        self._broker_configs = [
            each for each in broker_definitions(release) if not any(part in each for part in UNSAFE_BROKER_CONFIGS)
        ]

    def message(self, cls: type[Message], version: int, *, sound: bool = False) -> Message:
        """A request of this version; a `sound` one has only good values, and something in every array."""
        self._sound = sound
        drawn = self._struct(cls, version, cls.NAME)
        assert isinstance(drawn, cls)
        return drawn

    def _struct(self, cls: type[Struct], version: int, path: str) -> Struct:
        made = cls()
        for field in cls.FIELDS:
            if version in field.versions and not (version in field.tagged and self._chance(0.8)):
                setattr(made, field.name, self._field(field, version, f"{path}.{field.name}", made))
        return made

    def _field(self, field: Field, version: int, path: str, made: Struct) -> Any:
        if version in field.nullable and self._null(path, made):
            return None
        if isinstance(field.type, Array):
            return self._array(field.type, version, path, made)
        if not isinstance(field.type, FieldType):
            return self._struct(field.type, version, path)
        return self._value(field.type, path, made)

    def _null(self, path: str, made: Struct) -> bool:
        if self._sound:
            return False
        end = path.rsplit(".", 1)[1]
        if end == "name" and getattr(made, "topic_id", ZERO_UUID) != ZERO_UUID:
            return self._chance(0.9)
        if end in ("transactional_id", "cluster_id"):
            return self._chance(0.95)
        return self._chance(0.05 if end == "records" else 0.15)

    def _array(self, array: Array, version: int, path: str, made: Struct) -> list[Any]:
        size = 1 if self._sound else self.random.choice((0, 1, 1, 1, 1, 2, 2, 3))
        drawn = []
        for _ in range(size):
            if drawn and self._chance(0.1) and not path.startswith("AddRaftVoter"):
                drawn.append(drawn[0])
            elif isinstance(array.element, FieldType):
                drawn.append(self._value(array.element, path, made))
            else:
                drawn.append(self._struct(array.element, version, path))
        return drawn

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _value(self, field_type: FieldType, path: str, made: Struct) -> Any:
        end = path.rsplit(".", 1)[1]
        good, odd = self._values(end, path, made)
        if good or odd:
            return self.random.choice(good if self._sound or not odd or (good and self._chance(0.8)) else odd)
        if isinstance(field_type, SizedType):
            return self.random.choice(("", "a")) if field_type is String else b""
        assert isinstance(field_type, FixedType)
        if field_type.name == "bool":
            return self._chance(OLD_VERSION_CHANCE.get(end, 0.3))
        return field_type.zero if self._sound or self._chance(0.7) else self._border(field_type)

    def _border(self, field_type: FixedType) -> Any:
        if field_type.name == "float64":
            return self.random.choice((0.0, -1.0, 1.5, float("nan"), float("inf")))
        if field_type.name == "uuid":
            return self.random.choice((ZERO_UUID, METADATA_TOPIC_UUID, b"no such id......"))
        if field_type.name.startswith("u"):
            return self.random.choice((0, 1, 2 ** (8 * field_type.size) - 1))
        top = {1: 127, 2: INT16, 4: INT32, 8: INT64}[field_type.size]
        return self.random.choice((-1, -2, 1, 2, top, -top - 1))

    def topic(self, suffix: str) -> str:
        """The name of one of the exploration's topics."""
        return f"{self.name}-{suffix}"

    def _fresh(self) -> str:
        return f"fresh{(self.number // 4 + self.random.randrange(4)) % FRESH_TOPICS}"

    def _new(self) -> str:
        return self.topic(f"new{self.number // 3 + self.random.randrange(3)}")

    def _values(self, end: str, path: str, made: Struct) -> tuple[Any, Any]:
        api = path.split(".", 1)[0]
        if end == "topic_id":
            ids = [marker(self._fresh())] if api == "DeleteTopics" else [marker(suffix) for suffix in SUFFIXES]
            none = [ZERO_UUID] * 3 if api in ("DeleteTopics", "Metadata") else []
            return none + ids, [ZERO_UUID, marker("gone"), b"no such id......", METADATA_TOPIC_UUID]
        if _names_a_topic(api, end, path):
            return self._topic_names(api, made)
        if api in ("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs", "CreateTopics"):
            found = self._config_values(api, end, path, made)
            if found is not None:
                return found
        if end in ("replicas", "broker_ids") or (end == "replica_id" and len(self._brokers) > 1):
            return [*self._brokers, *([-1] * 4 if end == "replica_id" else [])], [0, len(self._brokers) + 1, -1, INT32]
        if api == "AlterReplicaLogDirs" and end == "path":
            return ["/nowhere", "/tmp"], ["", "relative", "/", "/tmp/", "//", "é"]
        return _TABLE.get(f"{api}.{end}") or _TABLE.get(end) or ([], [])

    def _topic_names(self, api: str, made: Struct) -> tuple[Any, Any]:
        odd = [*ODD_NAMES, self.topic("gone")]
        if api == "DescribeQuorum":
            return ["__cluster_metadata"], odd
        if getattr(made, "topic_id", ZERO_UUID) != ZERO_UUID:
            return [""], [self.topic("data")]
        if api == "CreateTopics":
            return [self._new(), self._new(), self._new(), self.topic("data")], [*odd, self._new().replace("-", "_")]
        if api in _CHANGING:
            return [self.topic(self._fresh())], odd if api not in ("DeleteTopics", "ElectLeaders") else odd[:8]
        return [self.topic(suffix) for suffix in SUFFIXES], odd

    def _config_values(self, api: str, end: str, path: str, made: Struct) -> tuple[Any, Any] | None:
        if end == "resource_type":
            return [2, 2, 4] if api != "DescribeConfigs" else [2, 2, 4, 8, 16, 32], [0, 1, 3, 8, 16, 32, 64, 127, -1]
        if end == "resource_name":
            self._resource = getattr(made, "resource_type", 0)
            if self._resource == 2:
                names = [self.topic(s) for s in SUFFIXES] if api == "DescribeConfigs" else [self.topic(self._fresh())]
                return names, [*ODD_NAMES, "1"]
            return ["1", "", "1"], ["2", "x", "-1", "01", "99", " 1", self.topic("data")]
        if (end == "name" and ".configs" in path) or end == "configuration_keys":
            of_a_broker = api != "CreateTopics" and self._resource != 2
            known = self._broker_configs if of_a_broker else self._topic_configs
            other = self._topic_configs if of_a_broker else self._broker_configs
            return self.random.sample(known, 3), ["", "no.such", " retention.ms", *self.random.sample(other, 2)]
        if end == "value":
            return self._config_value(str(getattr(made, "name", "")))
        if end == "config_operation":
            return [0, 0, 0, 1, 2, 3], [4, -1, 127]
        return None

    def _config_value(self, name: str) -> tuple[list[str], list[str]]:
        definitions = topic_definitions(self._release)
        found = definitions.get(name) or broker_definitions(self._release).get(name)
        good = ["1", "1000", "0", "true", "delete", "compact", "gzip", "producer", "a,b", "CreateTime", "-1", "60000"]
        if found is not None:
            good += [str(found.default).lower() if isinstance(found.default, bool) else str(found.default)] * 8
            good += [*found.one_of, *found.list_of] * 3
            good += [str(int(each)) for each in (found.minimum, found.maximum) if each is not None] * 3
        return good, [
            "", " ", "x", "-2", "1.5", " 5 ", "0x10", "9223372036854775807", "9223372036854775808", "2147483648",
            "TRUE", "delete,compact", "compact,compact", ",", "a,,b", "GZIP", "none", "1e3", "é", "+7", "-0",
            "1:1,2:2", "*", "0:x",
        ]  # fmt: skip


def _names_a_topic(api: str, end: str, path: str) -> bool:
    if end in ("topic", "topic_name", "topic_names"):
        return True
    return end == "name" and api != "AddRaftVoter" and ".configs" not in path


_CHANGING: Final = (
    "AlterPartitionReassignments", "CreatePartitions", "DeleteRecords", "DeleteTopics", "ElectLeaders", "Produce",
)  # fmt: skip

_BATCH = batch(b"a", b"b")

_PARTITIONS: Final = ([0, 0, 0, 1], [2, 3, -1, INT32, -INT32 - 1])
_EPOCHS: Final = ([-1, -1, 0], [1, -2, INT32, -INT32 - 1])
_OFFSETS: Final = ([0, 1, 2, 3, 7, 8], [-1, -2, 9, 100, INT64, -INT64 - 1])
_TIMEOUTS: Final = ([1000, 5000], [0, -1, -INT32 - 1])

_TABLE: Final[dict[str, tuple[list[Any], list[Any]]]] = {
    "acks": ([-1, 1], [0, 2, -2, INT16]),
    "allow_replication_factor_change": ([True, False], []),
    "broker_id": ([99, 2], [-1, INT32, -INT32 - 1]),
    "client_software_name": (["probe", "a.b-c"], ["", " ", "-a", "a-", ".", "a b", "é", "x" * 300]),
    "client_software_version": (["1", "1.0-x"], ["", "-1", "1.", " 1", "é"]),
    "cluster_id": ([""], ["x"]),
    "compression_type": ([0, 1], [2, 3, 4, 5, -1, 127]),
    "coordinator_keys": (["g", "group"], ["", "é", "g:AAAAAAAAAAAAAAAAAAAAAA:0", "x" * 300]),
    "count": ([3, 4, 5], [0, -1, 1, 2]),
    "current_leader_epoch": _EPOCHS,
    "election_type": ([0, 1], [2, -1, 127]),
    "endpoint_type": ([1], [0, 2, 3, -1, 127]),
    "entity_name": (["u1", "u2"], ["", "é", "127.0.0.1", "x" * 300]),
    "entity_type": (["user", "client-id", "user"], ["ip", "", "User", "x"]),
    "feature": (
        ["metadata.version", "kraft.version", "transaction.version", "group.version"],
        ["", "x", "share.version", "streams.version", "eligible.leader.replicas.version"],
    ),
    "fetch_offset": _OFFSETS,
    "high_watermark": ([-1], [0, INT64]),
    "isolation_level": ([0, 1], [2, -1, 127]),
    "key": (["g", "group"], ["", "é", "g:AAAAAAAAAAAAAAAAAAAAAA:0", "x" * 300]),
    "AlterClientQuotas.key": (
        ["producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"],
        ["connection_creation_rate", "", "x"],
    ),
    "AlterClientQuotas.value": ([1e9, 1e6, 2e9], [0.0, -1.0, 1.5e6 + 0.5, 1e19, 1e308]),
    "key_type": ([0], [2, 3, -1, 127]),
    "last_fetched_epoch": ([-1, -1, 0], [1, -2, INT32]),
    "leader_epoch": ([0, 0, -1], [1, 2, -2, INT32, -INT32 - 1]),
    "log_start_offset": ([-1, 0], [5, INT64]),
    "match": (["u1", "u2"], ["", "é", "127.0.0.1"]),
    "match_type": ([0, 1, 2], [3, -1, 127]),
    "max_bytes": ([1 << 20], [0, 1, -1, INT32, 300]),
    "max_num_offsets": ([1, 2], [0, -1, INT32]),
    "max_version_level": ([1, 2], [0, -1, 3, 7, 20, 27, INT16]),
    "max_wait_ms": ([0], [-1, 50, -INT32 - 1]),
    "metrics": ([b""], [b"x", b"\x0a\x00"]),
    "min_bytes": ([0, 1], [-1, INT32]),
    "num_partitions": ([1, 2, -1], [0, -2, 3, 10_001]),
    "DeleteRecords.offset": ([-1, 0, 1], [-2, 5, INT64, -INT64 - 1]),
    "partition": _PARTITIONS,
    "partition_index": _PARTITIONS,
    "partition_indexes": _PARTITIONS,
    "partition_max_bytes": ([1 << 20, 1 << 20, 100], [0, 1, -1, INT32]),
    "partitions": _PARTITIONS,
    "Produce.index": _PARTITIONS,
    "producer_epoch": ([-1, -1, 0], [1, -2, INT16]),
    "producer_id": ([-1, -1, PRODUCER_ID], [0, -2, INT64]),
    "rack_id": ([""], ["a", "é"]),
    "records": (
        [_BATCH, batch(b"v", key=None), timed(TIME_MS), idempotent(7, 0, 0), batch(b"x" * 300)],
        [
            b"", _BATCH[:40], _BATCH + b"x", _BATCH + _BATCH, message_set(0), message_set(1),
            patched(_BATCH, 17, ">I", 1), idempotent(7, 0, 5), idempotent(7, 1, 0), idempotent(7, -1, 0),
            batch(b"t", producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True),
            timed(FAR_FUTURE_MS), timed(-1), timed(5, 3),
            *(timed(TIME_MS, TIME_MS + 1, codec=codec) for codec in CompressionCodec),
        ],
    ),
    "replica_epoch": ([-1], [0, 1, INT64]),
    "Vote.replica_epoch": ([1, 0], [2, 3, -1]),
    "replica_id": ([-1, -1, -1], [-2, 1, 2, -3, INT32]),
    "replication_factor": ([1, 1, -1], [0, 2, -2, INT16]),
    "resource_types": ([2, 4, 8, 16, 32], [0, 1, 3, 64, -1, 127]),
    "response_partition_limit": ([2000, 1, 2, 3], [0, -1, INT32]),
    "session_epoch": ([-1, -1, 0, 1], [2, 3, INT32, -2]),
    "session_id": ([0, 0, SESSION_MARKER], [1, -1, INT32]),
    "subscription_id": ([0], [1, -1]),
    "timeout_ms": _TIMEOUTS,
    "ListOffsets.timestamp": ([-1, -2, -3, 0, TIME_MS, TIME_MS + 1, 2], [-4, -5, -6, -7, INT64, -INT64 - 1]),
    "transaction_timeout_ms": ([0, 1000], [-1, 900_001, INT32]),
    "transactional_id": (["", "t"], []),
    "upgrade_type": ([1, 2, 3], [0, 4, -1, 127]),
    "validate_only": ([True, False], []),
    "UpdateFeatures.validate_only": ([True], []),
    "voter_id": ([1, 2, 99], [-1, INT32]),
}  # fmt: skip
"""Field, or API and field -> good values and odd ones."""
