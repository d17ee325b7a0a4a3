"""The messages between brokers and ZooKeeper over their links. Mirrors the requests of KafkaZkClient.

ZooKeeper's own protocol is not modelled: a request carries its operation on the store, under the name of its purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.ensemble import ZooKeeper
    from broker_sim.zookeeper.leader_and_isr import LeaderAndIsr
    from broker_sim.zookeeper.sessions import Session

    Operation = Callable[[ZooKeeper, Session], Any]

ZOOKEEPER_ID: Final = 2181
"""The node id of the ensemble, as links know it."""

NO_CONTROLLER: Final = -1


class Path(Enum):
    """The znodes that can be watched."""

    BROKER_IDS = "/brokers/ids"
    TOPICS = "/brokers/topics"
    TOPIC_PARTITIONS = "/brokers/topics/*"
    CONTROLLER = "/controller"
    CONFIG_CHANGES = "/config/changes"
    ACL_CHANGES = "/kafka-acl-changes"
    """Here also the notifications below /kafka-acl-extended-changes."""
    DELETE_TOPICS = "/admin/delete_topics"
    REASSIGN_PARTITIONS = "/admin/reassign_partitions"
    PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
    LOG_DIR_EVENT_NOTIFICATION = "/log_dir_event_notification"
    ISR_CHANGE_NOTIFICATION = "/isr_change_notification"


EVERYBODY_WATCHES: Final = (Path.CONTROLLER, Path.CONFIG_CHANGES, Path.ACL_CHANGES)


class Code(Enum):
    """The outcome of a request."""

    OK = auto()
    NODE_EXISTS = auto()
    SESSION_EXPIRED = auto()
    CONTROLLER_MOVED = auto()
    """The controller epoch's znode has another version than the request names."""
    BAD_ARGUMENTS = auto()
    """The path is invalid."""


class ZooKeeperError(Exception):
    """A request failed at the store; the session stays valid, except with SESSION_EXPIRED."""

    def __init__(self, code: Code) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass(frozen=True, slots=True)
class ZooKeeperApi:
    """Replaces ApiKey: ZooKeeper's requests are no APIs of Kafka, and the journal shows their names."""

    api_name: str


@dataclass(slots=True, kw_only=True)
class ZooKeeperRequest:
    """One request of a session; `operation` is applied at the store, in the order of arrival."""

    RULE_API_KEY: ClassVar[None] = None
    NAME: str
    session_id: int
    """NO_SESSION to open one."""
    operation: Operation

    @property
    def API_KEY(self) -> ZooKeeperApi:  # noqa: N802 - as every message has it
        """Its name."""
        return ZooKeeperApi(self.NAME)


@dataclass(slots=True, kw_only=True)
class ZooKeeperResponse:
    """The outcome of a request; `value` is valid with code OK alone."""

    code: Code = Code.OK
    value: Any = None


@dataclass(slots=True, kw_only=True)
class WatchFired:
    """A session's watches have fired: the content under these paths has changed."""

    NAME: ClassVar[str] = "ZooKeeperWatch"
    session_id: int
    paths: list[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerInfo:
    """The controller and its epoch; `elected` if this request has elected it."""

    controller_id: int
    epoch: int
    epoch_version: int
    elected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state that a new controller reads."""

    image: MetadataImage
    states: Mapping[TopicPartition, LeaderAndIsr]
    deletions: tuple[str, ...]
    reassignments: Mapping[TopicPartition, tuple[int, ...]]
    preferred_elections: tuple[TopicPartition, ...]
