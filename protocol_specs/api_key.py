"""The catalogue of Kafka's APIs: one entry per API with every fact about it. Mirrors ApiKeys.

No other list of API keys exists: every fact about an API is an attribute of its entry. The message classes of an API
are in `protocol_specs/messages/<module>.py`. Its handler at brokers is in `broker_sim/apis/<module>.py`; its handler at
controllers, where that is another one, in `broker_sim/apis/controller/<module>.py`.
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple, Self

from protocol_specs.errors import UnknownApi
from protocol_specs.spelling import close_names

__all__ = ["ApiFacts", "ApiKey", "RefusalText", "Served"]


class Served(enum.Flag):
    """Which of the simulator's nodes have a handler for an API. Kafka's own tables are in `protocol_specs.releases`."""

    NOWHERE = 0
    BROKER = enum.auto()
    CONTROLLER = enum.auto()
    BOTH = BROKER | CONTROLLER


NOWHERE: Final = Served.NOWHERE
BROKER: Final = Served.BROKER
CONTROLLER: Final = Served.CONTROLLER
BOTH: Final = Served.BOTH


class RefusalText(enum.Enum):
    """The text that the error response of a request takes from an exception. Mirrors getErrorResponse."""

    NULL = enum.auto()
    OF_ERROR = enum.auto()
    """That of the exception's error (Errors.message)."""
    OF_EXCEPTION = enum.auto()


NULL: Final = RefusalText.NULL
OF_ERROR: Final = RefusalText.OF_ERROR
OF_EXCEPTION: Final = RefusalText.OF_EXCEPTION


class ApiFacts(NamedTuple):
    """Facts about an API beside its key and its name."""

    served: Served = NOWHERE
    cluster_action: bool = False
    """Sent by nodes of the cluster alone; the authorizer requires ClusterAction. Mirrors ApiKeys.clusterAction."""
    forwardable: bool = False
    """A broker may send it on to the controller in an Envelope (KIP-590). Mirrors ApiKeys.forwardable."""
    exempt_from_quotas: bool = False
    """The request quota never throttles it. Mirrors RequestHandlerHelper.sendResponseExemptThrottle."""
    keeps_bytes: bool = False
    """Its request has fields of bytes or records, which refer to the frame until the response is sent.

    Mirrors ApiKeys.requiresDelayedAllocation.
    """
    strict_mutation_quota_since: int | None = None
    """The first version that a controller refuses with THROTTLING_QUOTA_EXCEEDED (KIP-599); None if it never does."""
    client_throttles_since: int | None = None
    """The first version after whose response a client waits for the throttle time itself (KIP-219); None for none."""
    needs_telemetry_receiver: bool = False
    """ApiVersions lists it only where a telemetry receiver is configured (KIP-714)."""
    login_refusal: RefusalText | None = None
    """The text of its error response in the middle of a SASL authentication; None: that of any other error."""
    earlier_names: tuple[str, ...] = ()
    """The names that the API had before its present one."""


_NO_FACTS: Final = ApiFacts()


class ApiKey(enum.IntEnum):
    """One API. `ApiKey.FETCH == 1`; an entry without facts has the defaults of `ApiFacts`."""

    facts: ApiFacts
    api_name: str
    """Kafka's name of the API, such as `ListOffsets`."""
    module: str
    """The name of the modules with its messages and handlers, such as `list_offsets`."""

    def __new__(cls, key: int, facts: ApiFacts = _NO_FACTS) -> Self:
        """Make an integer with facts."""
        member = int.__new__(cls, key)
        member._value_ = key
        member.facts = facts
        return member

    def __init__(self, key: int, facts: ApiFacts = _NO_FACTS) -> None:  # noqa: ARG002
        self.module = self.name.lower()
        self.api_name = "".join(map(str.capitalize, self.module.split("_")))

    PRODUCE = 0, ApiFacts(served=BROKER, keeps_bytes=True, client_throttles_since=6, login_refusal=OF_EXCEPTION)
    FETCH = 1, ApiFacts(served=BOTH, client_throttles_since=8)
    LIST_OFFSETS = 2, ApiFacts(served=BROKER, earlier_names=("ListOffset",), client_throttles_since=3)
    METADATA = 3, ApiFacts(served=BROKER, client_throttles_since=6)
    LEADER_AND_ISR = 4, ApiFacts(served=BROKER, cluster_action=True, exempt_from_quotas=True)
    STOP_REPLICA = 5, ApiFacts(served=BROKER, cluster_action=True, exempt_from_quotas=True)
    UPDATE_METADATA = 6, ApiFacts(served=BROKER, cluster_action=True, exempt_from_quotas=True)
    CONTROLLED_SHUTDOWN = 7, ApiFacts(served=BOTH, cluster_action=True, exempt_from_quotas=True)
    OFFSET_COMMIT = 8, ApiFacts(served=BROKER, client_throttles_since=4)
    OFFSET_FETCH = 9, ApiFacts(served=BROKER, client_throttles_since=4)
    FIND_COORDINATOR = 10, ApiFacts(served=BROKER, client_throttles_since=2, login_refusal=OF_ERROR)
    JOIN_GROUP = 11, ApiFacts(served=BROKER, keeps_bytes=True, client_throttles_since=3)
    HEARTBEAT = 12, ApiFacts(served=BROKER, client_throttles_since=2)
    LEAVE_GROUP = 13, ApiFacts(served=BROKER, client_throttles_since=2)
    SYNC_GROUP = 14, ApiFacts(served=BROKER, keeps_bytes=True, client_throttles_since=2)
    DESCRIBE_GROUPS = 15, ApiFacts(served=BROKER, client_throttles_since=2)
    LIST_GROUPS = 16, ApiFacts(served=BROKER, client_throttles_since=2)
    SASL_HANDSHAKE = 17, ApiFacts(served=BOTH)
    API_VERSIONS = 18, ApiFacts(served=BOTH, client_throttles_since=2)
    CREATE_TOPICS = (
        19,
        ApiFacts(
            served=BOTH,
            forwardable=True,
            strict_mutation_quota_since=6,
            client_throttles_since=3,
            login_refusal=OF_EXCEPTION,
        ),
    )
    DELETE_TOPICS = 20, ApiFacts(served=BOTH, forwardable=True, strict_mutation_quota_since=5, client_throttles_since=2)
    DELETE_RECORDS = 21, ApiFacts(served=BROKER, client_throttles_since=1)
    INIT_PRODUCER_ID = 22, ApiFacts(served=BROKER, client_throttles_since=1)
    OFFSET_FOR_LEADER_EPOCH = 23, ApiFacts(served=BROKER, client_throttles_since=0)
    ADD_PARTITIONS_TO_TXN = 24, ApiFacts(served=BROKER, client_throttles_since=1)
    ADD_OFFSETS_TO_TXN = 25, ApiFacts(served=BROKER, client_throttles_since=1)
    END_TXN = 26, ApiFacts(served=BROKER, client_throttles_since=1)
    WRITE_TXN_MARKERS = 27, ApiFacts(served=BROKER, cluster_action=True, exempt_from_quotas=True)
    TXN_OFFSET_COMMIT = 28, ApiFacts(served=BROKER, client_throttles_since=1)
    DESCRIBE_ACLS = 29, ApiFacts(served=BOTH, client_throttles_since=1, login_refusal=OF_EXCEPTION)
    CREATE_ACLS = 30, ApiFacts(served=BOTH, forwardable=True, client_throttles_since=1, login_refusal=OF_EXCEPTION)
    DELETE_ACLS = 31, ApiFacts(served=BOTH, forwardable=True, client_throttles_since=1, login_refusal=OF_EXCEPTION)
    DESCRIBE_CONFIGS = 32, ApiFacts(served=BOTH, client_throttles_since=2, login_refusal=OF_ERROR)
    ALTER_CONFIGS = 33, ApiFacts(served=BOTH, forwardable=True, client_throttles_since=1, login_refusal=OF_EXCEPTION)
    ALTER_REPLICA_LOG_DIRS = 34, ApiFacts(served=BROKER, client_throttles_since=1)
    DESCRIBE_LOG_DIRS = 35, ApiFacts(served=BROKER, client_throttles_since=1)
    SASL_AUTHENTICATE = 36, ApiFacts(served=BOTH, keeps_bytes=True)
    CREATE_PARTITIONS = (
        37,
        ApiFacts(
            served=BOTH,
            forwardable=True,
            strict_mutation_quota_since=3,
            client_throttles_since=1,
            login_refusal=OF_EXCEPTION,
        ),
    )
    CREATE_DELEGATION_TOKEN = (
        38,
        ApiFacts(served=BOTH, forwardable=True, keeps_bytes=True, client_throttles_since=1),
    )
    RENEW_DELEGATION_TOKEN = 39, ApiFacts(served=BOTH, forwardable=True, keeps_bytes=True, client_throttles_since=1)
    EXPIRE_DELEGATION_TOKEN = 40, ApiFacts(served=BOTH, forwardable=True, keeps_bytes=True, client_throttles_since=1)
    DESCRIBE_DELEGATION_TOKEN = 41, ApiFacts(served=BOTH, client_throttles_since=1)
    DELETE_GROUPS = 42, ApiFacts(served=BROKER, client_throttles_since=1)
    ELECT_LEADERS = (
        43,
        ApiFacts(
            served=BOTH,
            forwardable=True,
            earlier_names=("ElectPreferredLeaders",),
            client_throttles_since=0,
            login_refusal=OF_EXCEPTION,
        ),
    )
    INCREMENTAL_ALTER_CONFIGS = (
        44,
        ApiFacts(served=BOTH, forwardable=True, client_throttles_since=0, login_refusal=OF_EXCEPTION),
    )
    ALTER_PARTITION_REASSIGNMENTS = (
        45,
        ApiFacts(served=BOTH, forwardable=True, client_throttles_since=0, login_refusal=OF_EXCEPTION),
    )
    LIST_PARTITION_REASSIGNMENTS = (
        46,
        ApiFacts(served=BOTH, forwardable=True, client_throttles_since=0, login_refusal=OF_EXCEPTION),
    )
    OFFSET_DELETE = 47, ApiFacts(served=BROKER, client_throttles_since=0)
    DESCRIBE_CLIENT_QUOTAS = 48, ApiFacts(served=BROKER, login_refusal=OF_EXCEPTION)
    ALTER_CLIENT_QUOTAS = 49, ApiFacts(served=BOTH, forwardable=True, login_refusal=OF_ERROR)
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, ApiFacts(served=BOTH, client_throttles_since=0, login_refusal=OF_EXCEPTION)
    ALTER_USER_SCRAM_CREDENTIALS = (
        51,
        ApiFacts(served=BOTH, forwardable=True, keeps_bytes=True, client_throttles_since=0, login_refusal=OF_EXCEPTION),
    )
    VOTE = 52, ApiFacts(served=CONTROLLER, cluster_action=True, exempt_from_quotas=True)
    BEGIN_QUORUM_EPOCH = 53, ApiFacts(served=CONTROLLER, cluster_action=True, exempt_from_quotas=True)
    END_QUORUM_EPOCH = 54, ApiFacts(served=CONTROLLER, cluster_action=True, exempt_from_quotas=True)
    DESCRIBE_QUORUM = 55, ApiFacts(served=BOTH, cluster_action=True, forwardable=True, login_refusal=OF_ERROR)
    ALTER_PARTITION = (
        56,
        ApiFacts(served=BOTH, cluster_action=True, exempt_from_quotas=True, earlier_names=("AlterIsr",)),
    )
    UPDATE_FEATURES = 57, ApiFacts(served=BOTH, cluster_action=True, forwardable=True, login_refusal=OF_EXCEPTION)
    ENVELOPE = 58, ApiFacts(served=CONTROLLER, cluster_action=True, exempt_from_quotas=True, keeps_bytes=True)
    FETCH_SNAPSHOT = 59, ApiFacts(served=CONTROLLER, exempt_from_quotas=True)
    DESCRIBE_CLUSTER = 60, ApiFacts(served=BOTH, client_throttles_since=0, login_refusal=OF_EXCEPTION)
    DESCRIBE_PRODUCERS = 61, ApiFacts(served=BROKER)
    BROKER_REGISTRATION = (
        62,
        ApiFacts(served=CONTROLLER, cluster_action=True, exempt_from_quotas=True, client_throttles_since=0),
    )
    BROKER_HEARTBEAT = (
        63,
        ApiFacts(served=CONTROLLER, cluster_action=True, exempt_from_quotas=True, client_throttles_since=0),
    )
    UNREGISTER_BROKER = (
        64,
        ApiFacts(served=BOTH, forwardable=True, client_throttles_since=0, login_refusal=OF_EXCEPTION),
    )
    DESCRIBE_TRANSACTIONS = 65, ApiFacts(served=BROKER)
    LIST_TRANSACTIONS = 66, ApiFacts(served=BROKER)
    ALLOCATE_PRODUCER_IDS = (
        67,
        ApiFacts(served=CONTROLLER, cluster_action=True, forwardable=True, exempt_from_quotas=True),
    )
    CONSUMER_GROUP_HEARTBEAT = 68, ApiFacts(served=BROKER)
    CONSUMER_GROUP_DESCRIBE = 69, ApiFacts(served=BROKER)
    CONTROLLER_REGISTRATION = 70, ApiFacts(served=CONTROLLER, exempt_from_quotas=True)
    GET_TELEMETRY_SUBSCRIPTIONS = 71, ApiFacts(served=BROKER, needs_telemetry_receiver=True)
    PUSH_TELEMETRY = 72, ApiFacts(served=BROKER, keeps_bytes=True, needs_telemetry_receiver=True)
    ASSIGN_REPLICAS_TO_DIRS = 73, ApiFacts(served=CONTROLLER, exempt_from_quotas=True)
    LIST_CONFIG_RESOURCES = 74, ApiFacts(served=BROKER, earlier_names=("ListClientMetricsResources",))
    DESCRIBE_TOPIC_PARTITIONS = 75, ApiFacts(served=BROKER, client_throttles_since=0)
    SHARE_GROUP_HEARTBEAT = 76, ApiFacts(served=BROKER)
    SHARE_GROUP_DESCRIBE = 77, ApiFacts(served=BROKER)
    SHARE_FETCH = 78, ApiFacts(served=BROKER)
    SHARE_ACKNOWLEDGE = 79, ApiFacts(served=BROKER)
    ADD_RAFT_VOTER = 80, ApiFacts(served=BOTH, forwardable=True, login_refusal=OF_ERROR)
    REMOVE_RAFT_VOTER = 81, ApiFacts(served=BOTH, forwardable=True, login_refusal=OF_ERROR)
    UPDATE_RAFT_VOTER = 82, ApiFacts(served=CONTROLLER)
    INITIALIZE_SHARE_GROUP_STATE = 83, ApiFacts(served=BROKER, cluster_action=True, login_refusal=NULL)
    READ_SHARE_GROUP_STATE = 84, ApiFacts(served=BROKER, cluster_action=True, login_refusal=OF_ERROR)
    WRITE_SHARE_GROUP_STATE = 85, ApiFacts(served=BROKER, cluster_action=True, login_refusal=OF_ERROR)
    DELETE_SHARE_GROUP_STATE = 86, ApiFacts(served=BROKER, cluster_action=True, login_refusal=NULL)
    READ_SHARE_GROUP_STATE_SUMMARY = 87, ApiFacts(served=BROKER, cluster_action=True, login_refusal=OF_ERROR)
    STREAMS_GROUP_HEARTBEAT = 88, ApiFacts(served=BROKER)
    STREAMS_GROUP_DESCRIBE = 89, ApiFacts(served=BROKER)
    DESCRIBE_SHARE_GROUP_OFFSETS = 90, ApiFacts(served=BROKER, login_refusal=OF_EXCEPTION)
    ALTER_SHARE_GROUP_OFFSETS = 91, ApiFacts(served=BROKER, login_refusal=OF_ERROR)
    DELETE_SHARE_GROUP_OFFSETS = 92, ApiFacts(served=BROKER, login_refusal=OF_ERROR)

    @classmethod
    def of(cls, key: int) -> ApiKey:
        """The entry of an API key. Raises UnknownApi."""
        try:
            return cls(key)
        except ValueError:
            keys = list(cls)
            raise UnknownApi(f"key {key}", known=f"keys go from {keys[0]} to {keys[-1]}") from None

    @classmethod
    def named(cls, name: str) -> ApiKey:
        """The entry of Kafka's name, present or earlier, in any case. Raises UnknownApi with the nearest names."""
        wanted = name.lower()
        for member in cls:
            if member.api_name.lower() == wanted:
                return member
        for member in cls:
            if wanted in (earlier.lower() for earlier in member.facts.earlier_names):
                return member
        raise UnknownApi(repr(name), close_names(name, [member.api_name for member in cls], count=3))
