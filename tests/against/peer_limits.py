"""Where an independent codec carries less than Kafka does, or is wrong: the table of exceptions, each with its reason.

What stands here is drawn around, as narrowly as it can be: values of a field where that is enough, a version only where
a peer has a field of it wrong in every message. Each limit has a message beyond it, on which the peer is seen to fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from protocol_specs.messages.api_versions import ApiVersionsResponse
from protocol_specs.messages.create_delegation_token import CreateDelegationTokenResponse
from protocol_specs.messages.delete_records import DeleteRecordsResponse
from protocol_specs.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol_specs.messages.fetch import EpochEndOffset, FetchableTopicResponse, FetchResponse, PartitionData
from protocol_specs.messages.heartbeat import HeartbeatResponse
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from protocol_specs.version_range import VersionRange

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from protocol_specs.message import Message

KIO: Final = "kio"
KAFKA_PYTHON: Final = "kafka-python"
AIOKAFKA: Final = "aiokafka"
_SECONDS_MAX: Final = 253_402_300_799
"""The last second of the year 9999."""
_LENGTH_EXACT: Final = 2**50
"""Up to here a float of seconds represents each millisecond."""
_POINT_EXACT: Final = 2**42
"""Up to here (the year 2109) a float of seconds represents each microsecond."""
_POINTS: Final = st.integers(0, _POINT_EXACT) | st.integers(0, _SECONDS_MAX).map(lambda seconds: 1000 * seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit of a peer, and the reason. `values` is drawn instead; None if tags or versions are excluded.

    `beyond`, in `version`, is a message on which the peer is seen to fail.
    """

    peer: str
    where: str
    reason: str
    beyond: Message
    version: int
    values: SearchStrategy[Any] | None = None
    versions: VersionRange = field(default_factory=lambda: VersionRange.parse("0+"))


def _produced(log_append_time_ms: int) -> ProduceResponse:
    partition = PartitionProduceResponse(index=0, log_append_time_ms=log_append_time_ms)
    return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[partition])])


def _with_unknown_tag(message: Message) -> Message:
    message.unknown_tags = [(99, b"x")]
    return message


def _with_a_tag_inside_a_tag() -> FetchResponse:
    epoch = EpochEndOffset(epoch=1)
    epoch.unknown_tags = [(99, b"x")]
    return FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(diverging_epoch=epoch)])])


_NOT_FLEXIBLE: Final = (
    "it is flexible (KIP-482), and aiokafka has it as the version before, without compact lengths and tags"
)
_DATETIMES: Final = (
    "kio's points in time are datetimes from 1970 to 9999, read by way of a float of seconds, which loses milliseconds "
    "from the year 2246 on"
)

KIO_TYPES: Final[dict[str, Limit]] = {
    "error_code": Limit(
        peer=KIO,
        where="every error code",
        reason="kio's error codes are an enumeration: it refuses a number that has no name in its list",
        values=st.sampled_from([code.value for code in ErrorCode]),
        beyond=HeartbeatResponse(error_code=1000),
        version=4,
    ),
    "datetime_i64": Limit(
        peer=KIO,
        where="points in time that kio never takes for none",
        reason=f"{_DATETIMES}; it refuses -1 (none) too, where Kafka's definition has no default of -1",
        values=_POINTS,
        beyond=CreateDelegationTokenResponse(issue_timestamp_ms=-1),
        version=2,
    ),
    "datetime_i64?": Limit(
        peer=KIO,
        where="points in time that kio takes for none at -1",
        reason=_DATETIMES,
        values=st.just(-1) | _POINTS,
        beyond=_produced(1000 * _SECONDS_MAX + 999),
        version=9,
    ),
    "timedelta_i64": Limit(
        peer=KIO,
        where="milliseconds of 64 bits",
        reason="kio's timedelta holds fewer than an int64 does, and is written by way of a float of seconds",
        values=st.integers(-_LENGTH_EXACT, _LENGTH_EXACT),
        beyond=ExpireDelegationTokenRequest(expiry_time_period_ms=2**62),
        version=2,
    ),
}
"""By the type that kio gives a field; a question mark is behind the type of a field that may be None."""

KAFKA_PYTHON_FIELDS: Final[dict[tuple[str, str], Limit]] = {
    ("ApiVersionsResponse", "error_code"): Limit(
        peer=KAFKA_PYTHON,
        where="the error code of ApiVersionsResponse v1 and later",
        reason="its reader decodes every error response as version 0, not only one that it cannot read (KIP-511)",
        values=st.just(0),
        versions=VersionRange.parse("1+"),
        beyond=ApiVersionsResponse(error_code=41),
        version=3,
    ),
}
"""By message and field."""

TAG_LIMITS: Final[tuple[Limit, ...]] = (
    Limit(
        peer=KIO,
        where="every tag that a declaration does not know",
        reason="kio raises KeyError at an unknown tag, which KIP-482 requires to be skipped",
        beyond=_with_unknown_tag(HeartbeatResponse()),
        version=4,
    ),
    Limit(
        peer=KAFKA_PYTHON,
        where="tags inside a struct that is itself in a tag",
        reason="kafka-python asserts that such a struct has no tags of its own",
        beyond=_with_a_tag_inside_a_tag(),
        version=12,
    ),
    Limit(
        peer=AIOKAFKA,
        where="tags that are written",
        reason="aiokafka writes a tag without the length of its data (it reads the length)",
        beyond=_with_unknown_tag(DeleteRecordsResponse()),
        version=2,
    ),
)

AIOKAFKA_WRONG: Final[dict[str, Limit]] = {
    "ListOffsetsRequest": Limit(
        peer=AIOKAFKA,
        where="ListOffsetsRequest v4 and v5",
        reason="its current leader epoch has 64 bits, where Kafka's has 32",
        versions=VersionRange.parse("4-5"),
        beyond=ListOffsetsRequest(topics=[ListOffsetsTopic(partitions=[ListOffsetsPartition()])]),
        version=4,
    ),
    "DescribeAclsRequest": Limit(
        peer=AIOKAFKA,
        where="DescribeAclsRequest v2",
        reason=_NOT_FLEXIBLE,
        versions=VersionRange.parse("2"),
        beyond=DescribeAclsRequest(),
        version=2,
    ),
    "DescribeAclsResponse": Limit(
        peer=AIOKAFKA,
        where="DescribeAclsResponse v2",
        reason=_NOT_FLEXIBLE,
        versions=VersionRange.parse("2"),
        beyond=DescribeAclsResponse(),
        version=2,
    ),
}
"""By message: versions that cannot be tried at all."""

LIMITS: Final[tuple[Limit, ...]] = (
    *KIO_TYPES.values(),
    *KAFKA_PYTHON_FIELDS.values(),
    *TAG_LIMITS,
    *AIOKAFKA_WRONG.values(),
)
"""All of them."""
