"""Kafka's error codes. Mirrors org.apache.kafka.common.protocol.Errors of release 4.3.1.

Each member is its wire code and has three attributes: its family (the nearest exception class of Kafka that decides
how a client reacts), its Java exception, and the first release that had it ("0.8.2.2": or before).
"""

from __future__ import annotations

from enum import Enum, IntEnum, auto
from typing import Final, Self

from protocol_specs.spelling import close_names


class ErrorFamily(Enum):
    """How a client reacts to an error: the nearest of the exception classes that clients test for."""

    NONE = auto()
    INVALID_METADATA = auto()
    REFRESH_RETRIABLE = auto()
    RETRIABLE = auto()
    AUTHORIZATION = auto()
    AUTHENTICATION = auto()
    TRANSACTION_ABORTABLE = auto()
    APPLICATION_RECOVERABLE = auto()
    INVALID_CONFIGURATION = auto()
    INVALID_OFFSET = auto()
    OTHER = auto()


_NONE: Final = ErrorFamily.NONE
_METADATA: Final = ErrorFamily.INVALID_METADATA
_REFRESH: Final = ErrorFamily.REFRESH_RETRIABLE
_RETRIABLE: Final = ErrorFamily.RETRIABLE
_AUTHORIZATION: Final = ErrorFamily.AUTHORIZATION
_AUTHENTICATION: Final = ErrorFamily.AUTHENTICATION
_ABORTABLE: Final = ErrorFamily.TRANSACTION_ABORTABLE
_RECOVERABLE: Final = ErrorFamily.APPLICATION_RECOVERABLE
_CONFIGURATION: Final = ErrorFamily.INVALID_CONFIGURATION
_OFFSET: Final = ErrorFamily.INVALID_OFFSET
_OTHER: Final = ErrorFamily.OTHER

_REFRESHING: Final = (_METADATA, _REFRESH)
_RETRYING: Final = (_METADATA, _REFRESH, _RETRIABLE)


class ErrorCode(IntEnum):
    """A wire error code under Kafka's name; compares and encodes as its number."""

    family: ErrorFamily
    exception: str
    since: str

    def __new__(cls, code: int, family: ErrorFamily = _OTHER, exception: str = "", since: str = "") -> Self:
        """Make the member of a row below; the defaults let type checkers accept the look-up ErrorCode(3)."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.family = family
        member.exception = exception
        member.since = since
        return member

    UNKNOWN_SERVER_ERROR = -1, _OTHER, "UnknownServerException", "0.8.2.2"
    NONE = 0, _NONE, "", "0.8.2.2"
    OFFSET_OUT_OF_RANGE = 1, _OFFSET, "OffsetOutOfRangeException", "0.8.2.2"
    CORRUPT_MESSAGE = 2, _RETRIABLE, "CorruptRecordException", "0.8.2.2"
    UNKNOWN_TOPIC_OR_PARTITION = 3, _METADATA, "UnknownTopicOrPartitionException", "0.8.2.2"
    INVALID_FETCH_SIZE = 4, _OTHER, "InvalidFetchSizeException", "0.10.0.1"
    LEADER_NOT_AVAILABLE = 5, _METADATA, "LeaderNotAvailableException", "0.8.2.2"
    NOT_LEADER_OR_FOLLOWER = 6, _METADATA, "NotLeaderOrFollowerException", "0.8.2.2"
    REQUEST_TIMED_OUT = 7, _RETRIABLE, "TimeoutException", "0.8.2.2"
    BROKER_NOT_AVAILABLE = 8, _OTHER, "BrokerNotAvailableException", "0.9.0.1"
    REPLICA_NOT_AVAILABLE = 9, _METADATA, "ReplicaNotAvailableException", "0.9.0.1"
    MESSAGE_TOO_LARGE = 10, _OTHER, "RecordTooLargeException", "0.8.2.2"
    STALE_CONTROLLER_EPOCH = 11, _OTHER, "ControllerMovedException", "0.9.0.1"
    OFFSET_METADATA_TOO_LARGE = 12, _OTHER, "OffsetMetadataTooLarge", "0.8.2.2"
    NETWORK_EXCEPTION = 13, _METADATA, "NetworkException", "0.8.2.2"
    COORDINATOR_LOAD_IN_PROGRESS = 14, _RETRIABLE, "CoordinatorLoadInProgressException", "0.9.0.1"
    COORDINATOR_NOT_AVAILABLE = 15, _REFRESH, "CoordinatorNotAvailableException", "0.9.0.1"
    NOT_COORDINATOR = 16, _REFRESH, "NotCoordinatorException", "0.9.0.1"
    INVALID_TOPIC_EXCEPTION = 17, _CONFIGURATION, "InvalidTopicException", "0.8.2.2"
    RECORD_LIST_TOO_LARGE = 18, _CONFIGURATION, "RecordBatchTooLargeException", "0.8.2.2"
    NOT_ENOUGH_REPLICAS = 19, _RETRIABLE, "NotEnoughReplicasException", "0.8.2.2"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, _RETRIABLE, "NotEnoughReplicasAfterAppendException", "0.8.2.2"
    INVALID_REQUIRED_ACKS = 21, _CONFIGURATION, "InvalidRequiredAcksException", "0.9.0.1"
    ILLEGAL_GENERATION = 22, _RECOVERABLE, "IllegalGenerationException", "0.9.0.1"
    INCONSISTENT_GROUP_PROTOCOL = 23, _OTHER, "InconsistentGroupProtocolException", "0.9.0.1"
    INVALID_GROUP_ID = 24, _OTHER, "InvalidGroupIdException", "0.9.0.1"
    UNKNOWN_MEMBER_ID = 25, _RECOVERABLE, "UnknownMemberIdException", "0.9.0.1"
    INVALID_SESSION_TIMEOUT = 26, _OTHER, "InvalidSessionTimeoutException", "0.9.0.1"
    REBALANCE_IN_PROGRESS = 27, _OTHER, "RebalanceInProgressException", "0.9.0.1"
    INVALID_COMMIT_OFFSET_SIZE = 28, _OTHER, "InvalidCommitOffsetSizeException", "0.9.0.1"
    TOPIC_AUTHORIZATION_FAILED = 29, _AUTHORIZATION, "TopicAuthorizationException", "0.9.0.1"
    GROUP_AUTHORIZATION_FAILED = 30, _AUTHORIZATION, "GroupAuthorizationException", "0.9.0.1"
    CLUSTER_AUTHORIZATION_FAILED = 31, _AUTHORIZATION, "ClusterAuthorizationException", "0.9.0.1"
    INVALID_TIMESTAMP = 32, _OTHER, "InvalidTimestampException", "0.10.0.1"
    UNSUPPORTED_SASL_MECHANISM = 33, _AUTHENTICATION, "UnsupportedSaslMechanismException", "0.10.0.1"
    ILLEGAL_SASL_STATE = 34, _AUTHENTICATION, "IllegalSaslStateException", "0.10.0.1"
    UNSUPPORTED_VERSION = 35, _CONFIGURATION, "UnsupportedVersionException", "0.10.0.1"
    TOPIC_ALREADY_EXISTS = 36, _OTHER, "TopicExistsException", "0.10.1.1"
    INVALID_PARTITIONS = 37, _OTHER, "InvalidPartitionsException", "0.10.1.1"
    INVALID_REPLICATION_FACTOR = 38, _CONFIGURATION, "InvalidReplicationFactorException", "0.10.1.1"
    INVALID_REPLICA_ASSIGNMENT = 39, _OTHER, "InvalidReplicaAssignmentException", "0.10.1.1"
    INVALID_CONFIG = 40, _CONFIGURATION, "InvalidConfigurationException", "0.10.1.1"
    NOT_CONTROLLER = 41, _RETRIABLE, "NotControllerException", "0.10.1.1"
    INVALID_REQUEST = 42, _OTHER, "InvalidRequestException", "0.10.1.1"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, _CONFIGURATION, "UnsupportedForMessageFormatException", "0.10.1.1"
    POLICY_VIOLATION = 44, _OTHER, "PolicyViolationException", "0.10.2.2"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, _OTHER, "OutOfOrderSequenceException", "0.11.0.3"
    DUPLICATE_SEQUENCE_NUMBER = 46, _OTHER, "DuplicateSequenceException", "0.11.0.3"
    INVALID_PRODUCER_EPOCH = 47, _RECOVERABLE, "InvalidProducerEpochException", "0.11.0.3"
    INVALID_TXN_STATE = 48, _OTHER, "InvalidTxnStateException", "0.11.0.3"
    INVALID_PRODUCER_ID_MAPPING = 49, _RECOVERABLE, "InvalidPidMappingException", "0.11.0.3"
    INVALID_TRANSACTION_TIMEOUT = 50, _OTHER, "InvalidTxnTimeoutException", "0.11.0.3"
    CONCURRENT_TRANSACTIONS = 51, _RETRIABLE, "ConcurrentTransactionsException", "0.11.0.3"
    TRANSACTION_COORDINATOR_FENCED = 52, _OTHER, "TransactionCoordinatorFencedException", "0.11.0.3"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = (
        53,
        _AUTHORIZATION,
        "TransactionalIdAuthorizationException",
        "0.11.0.3",
    )
    SECURITY_DISABLED = 54, _OTHER, "SecurityDisabledException", "0.11.0.3"
    OPERATION_NOT_ATTEMPTED = 55, _OTHER, "OperationNotAttemptedException", "0.11.0.3"
    KAFKA_STORAGE_ERROR = 56, _METADATA, "KafkaStorageException", "1.0.2"
    LOG_DIR_NOT_FOUND = 57, _OTHER, "LogDirNotFoundException", "1.0.2"
    SASL_AUTHENTICATION_FAILED = 58, _AUTHENTICATION, "SaslAuthenticationException", "1.0.2"
    UNKNOWN_PRODUCER_ID = 59, _OTHER, "UnknownProducerIdException", "1.0.2"
    REASSIGNMENT_IN_PROGRESS = 60, _OTHER, "ReassignmentInProgressException", "1.0.2"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, _OTHER, "DelegationTokenDisabledException", "1.1.1"
    DELEGATION_TOKEN_NOT_FOUND = 62, _OTHER, "DelegationTokenNotFoundException", "1.1.1"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, _OTHER, "DelegationTokenOwnerMismatchException", "1.1.1"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, _OTHER, "UnsupportedByAuthenticationException", "1.1.1"
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = (
        65,
        _AUTHORIZATION,
        "DelegationTokenAuthorizationException",
        "1.1.1",
    )
    DELEGATION_TOKEN_EXPIRED = 66, _OTHER, "DelegationTokenExpiredException", "1.1.1"
    INVALID_PRINCIPAL_TYPE = 67, _OTHER, "InvalidPrincipalTypeException", "1.1.1"
    NON_EMPTY_GROUP = 68, _OTHER, "GroupNotEmptyException", "1.1.1"
    GROUP_ID_NOT_FOUND = 69, _OTHER, "GroupIdNotFoundException", "1.1.1"
    FETCH_SESSION_ID_NOT_FOUND = 70, _RETRIABLE, "FetchSessionIdNotFoundException", "1.1.1"
    INVALID_FETCH_SESSION_EPOCH = 71, _RETRIABLE, "InvalidFetchSessionEpochException", "1.1.1"
    LISTENER_NOT_FOUND = 72, _METADATA, "ListenerNotFoundException", "2.0.1"
    TOPIC_DELETION_DISABLED = 73, _OTHER, "TopicDeletionDisabledException", "2.1.1"
    FENCED_LEADER_EPOCH = 74, _METADATA, "FencedLeaderEpochException", "2.1.1"
    UNKNOWN_LEADER_EPOCH = 75, _RETRIABLE, "UnknownLeaderEpochException", "2.1.1"
    UNSUPPORTED_COMPRESSION_TYPE = 76, _OTHER, "UnsupportedCompressionTypeException", "2.1.1"
    STALE_BROKER_EPOCH = 77, _OTHER, "StaleBrokerEpochException", "2.2.2"
    OFFSET_NOT_AVAILABLE = 78, _RETRIABLE, "OffsetNotAvailableException", "2.2.2"
    MEMBER_ID_REQUIRED = 79, _OTHER, "MemberIdRequiredException", "2.2.2"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, _METADATA, "PreferredLeaderNotAvailableException", "2.2.2"
    GROUP_MAX_SIZE_REACHED = 81, _OTHER, "GroupMaxSizeReachedException", "2.2.2"
    FENCED_INSTANCE_ID = 82, _RECOVERABLE, "FencedInstanceIdException", "2.3.1"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, _METADATA, "EligibleLeadersNotAvailableException", "2.4.1"
    ELECTION_NOT_NEEDED = 84, _METADATA, "ElectionNotNeededException", "2.4.1"
    NO_REASSIGNMENT_IN_PROGRESS = 85, _OTHER, "NoReassignmentInProgressException", "2.4.1"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, _OTHER, "GroupSubscribedToTopicException", "2.4.1"
    INVALID_RECORD = 87, _CONFIGURATION, "InvalidRecordException", "2.4.1"
    UNSTABLE_OFFSET_COMMIT = 88, _RETRIABLE, "UnstableOffsetCommitException", "2.5.1"
    THROTTLING_QUOTA_EXCEEDED = 89, _RETRIABLE, "ThrottlingQuotaExceededException", "2.7.2"
    PRODUCER_FENCED = 90, _RECOVERABLE, "ProducerFencedException", "2.7.2"
    RESOURCE_NOT_FOUND = 91, _OTHER, "ResourceNotFoundException", "2.7.2"
    DUPLICATE_RESOURCE = 92, _OTHER, "DuplicateResourceException", "2.7.2"
    UNACCEPTABLE_CREDENTIAL = 93, _OTHER, "UnacceptableCredentialException", "2.7.2"
    INCONSISTENT_VOTER_SET = 94, _OTHER, "InconsistentVoterSetException", "2.7.2"
    INVALID_UPDATE_VERSION = 95, _OTHER, "InvalidUpdateVersionException", "2.7.2"
    FEATURE_UPDATE_FAILED = 96, _OTHER, "FeatureUpdateFailedException", "2.7.2"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, _OTHER, "PrincipalDeserializationException", "2.8.2"
    SNAPSHOT_NOT_FOUND = 98, _OTHER, "SnapshotNotFoundException", "2.8.2"
    POSITION_OUT_OF_RANGE = 99, _OTHER, "PositionOutOfRangeException", "2.8.2"
    UNKNOWN_TOPIC_ID = 100, _METADATA, "UnknownTopicIdException", "2.8.2"
    DUPLICATE_BROKER_REGISTRATION = 101, _OTHER, "DuplicateBrokerRegistrationException", "2.8.2"
    BROKER_ID_NOT_REGISTERED = 102, _OTHER, "BrokerIdNotRegisteredException", "2.8.2"
    INCONSISTENT_TOPIC_ID = 103, _METADATA, "InconsistentTopicIdException", "2.8.2"
    INCONSISTENT_CLUSTER_ID = 104, _OTHER, "InconsistentClusterIdException", "2.8.2"
    TRANSACTIONAL_ID_NOT_FOUND = 105, _OTHER, "TransactionalIdNotFoundException", "3.0.2"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, _RETRIABLE, "FetchSessionTopicIdException", "3.1.2"
    INELIGIBLE_REPLICA = 107, _OTHER, "IneligibleReplicaException", "3.3.2"
    NEW_LEADER_ELECTED = 108, _OTHER, "NewLeaderElectedException", "3.3.2"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, _OTHER, "OffsetMovedToTieredStorageException", "3.5.2"
    FENCED_MEMBER_EPOCH = 110, _OTHER, "FencedMemberEpochException", "3.5.2"
    UNRELEASED_INSTANCE_ID = 111, _OTHER, "UnreleasedInstanceIdException", "3.5.2"
    UNSUPPORTED_ASSIGNOR = 112, _OTHER, "UnsupportedAssignorException", "3.5.2"
    STALE_MEMBER_EPOCH = 113, _OTHER, "StaleMemberEpochException", "3.6.2"
    MISMATCHED_ENDPOINT_TYPE = 114, _OTHER, "MismatchedEndpointTypeException", "3.7.2"
    UNSUPPORTED_ENDPOINT_TYPE = 115, _OTHER, "UnsupportedEndpointTypeException", "3.7.2"
    UNKNOWN_CONTROLLER_ID = 116, _OTHER, "UnknownControllerIdException", "3.7.2"
    UNKNOWN_SUBSCRIPTION_ID = 117, _OTHER, "UnknownSubscriptionIdException", "3.7.2"
    TELEMETRY_TOO_LARGE = 118, _OTHER, "TelemetryTooLargeException", "3.7.2"
    INVALID_REGISTRATION = 119, _OTHER, "InvalidRegistrationException", "3.7.2"
    TRANSACTION_ABORTABLE = 120, _ABORTABLE, "TransactionAbortableException", "3.8.1"
    INVALID_RECORD_STATE = 121, _OTHER, "InvalidRecordStateException", "3.9.2"
    SHARE_SESSION_NOT_FOUND = 122, _RETRIABLE, "ShareSessionNotFoundException", "3.9.2"
    INVALID_SHARE_SESSION_EPOCH = 123, _RETRIABLE, "InvalidShareSessionEpochException", "3.9.2"
    FENCED_STATE_EPOCH = 124, _OTHER, "FencedStateEpochException", "3.9.2"
    INVALID_VOTER_KEY = 125, _OTHER, "InvalidVoterKeyException", "3.9.2"
    DUPLICATE_VOTER = 126, _OTHER, "DuplicateVoterException", "3.9.2"
    VOTER_NOT_FOUND = 127, _OTHER, "VoterNotFoundException", "3.9.2"
    INVALID_REGULAR_EXPRESSION = 128, _OTHER, "InvalidRegularExpression", "4.0.0"
    REBOOTSTRAP_REQUIRED = 129, _OTHER, "RebootstrapRequiredException", "4.0.0"
    STREAMS_INVALID_TOPOLOGY = 130, _OTHER, "StreamsInvalidTopologyException", "4.1.1"
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, _OTHER, "StreamsInvalidTopologyEpochException", "4.1.1"
    STREAMS_TOPOLOGY_FENCED = 132, _OTHER, "StreamsTopologyFencedException", "4.1.1"
    SHARE_SESSION_LIMIT_REACHED = 133, _RETRIABLE, "ShareSessionLimitReachedException", "4.1.1"

    @property
    def retriable(self) -> bool:
        """True if Kafka's client may send the same request again (RetriableException)."""
        return self.family in _RETRYING

    @property
    def invalid_metadata(self) -> bool:
        """True if the error means that the client's metadata is stale (InvalidMetadataException)."""
        return self.family is _METADATA

    @property
    def refreshes(self) -> bool:
        """True if a client looks up its node again before it retries (RefreshRetriableException)."""
        return self.family in _REFRESHING

    @classmethod
    def for_code(cls, code: int) -> ErrorCode:
        """Return the member of a code from a peer; an unknown code is UNKNOWN_SERVER_ERROR. Mirrors Errors.forCode."""
        try:
            return cls(code)
        except ValueError:
            return cls.UNKNOWN_SERVER_ERROR


REFUSED_BEFORE_APPEND: Final = frozenset(
    (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.INVALID_RECORD,
    )
)
"""Codes in a Produce response with which a broker has refused a batch before it appended any of its records.

CLUSTER_AUTHORIZATION_FAILED refuses idempotent producers before 2.8 (KIP-679), already in InitProducerId.
Not among them, although they look definite: NOT_LEADER_OR_FOLLOWER can follow an append (KAFKA-13574), the broker sets
REQUEST_TIMED_OUT before it waits for the replicas, and NOT_ENOUGH_REPLICAS_AFTER_APPEND follows an append by
definition.
"""

# Names of earlier releases, still found in logs, articles and scenario files.
EARLIER_NAMES: Final[dict[str, ErrorCode]] = {
    "UNKNOWN": ErrorCode.UNKNOWN_SERVER_ERROR,
    "NOT_LEADER_FOR_PARTITION": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "GROUP_LOAD_IN_PROGRESS": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    "GROUP_COORDINATOR_NOT_AVAILABLE": ErrorCode.COORDINATOR_NOT_AVAILABLE,
    "NOT_COORDINATOR_FOR_GROUP": ErrorCode.NOT_COORDINATOR,
}


def error_named(name: str) -> ErrorCode:
    """Return the member with a name, current or earlier. Raises ValueError with the nearest names."""
    if name in ErrorCode.__members__:
        return ErrorCode[name]
    if name in EARLIER_NAMES:
        return EARLIER_NAMES[name]
    near = close_names(name, [*ErrorCode.__members__, *EARLIER_NAMES])
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ValueError(f"no Kafka error is named {name!r}{hint}")
