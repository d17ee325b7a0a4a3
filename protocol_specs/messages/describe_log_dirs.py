"""DescribeLogDirs (api key 35): list the log directories of a broker and the replicas in them.

Mirrors DescribeLogDirsRequest and DescribeLogDirsResponse; KIP-113, KIP-827, KIP-1066.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class DescribableLogDirTopic(Struct):
    """The requested partitions of one topic."""

    topic: str = field(String, map_key=True, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@message(api_key=ApiKey.DESCRIBE_LOG_DIRS, versions="0-5", flexible="2+")
class DescribeLogDirsRequest(Message):
    """The request: list the log directories of a broker and the replicas in them."""

    topics: list[DescribableLogDirTopic] | None = field(Array(DescribableLogDirTopic), nullable="0+")


@struct
class DescribeLogDirsPartition(Struct):
    """One replica with its size and lag."""

    partition_index: int = field(Int32)
    partition_size: int = field(Int64)
    offset_lag: int = field(Int64)
    is_future_key: bool = field(Bool)


@struct
class DescribeLogDirsTopic(Struct):
    """The replicas of one topic in a log directory."""

    name: str = field(String, entity="topicName")
    partitions: list[DescribeLogDirsPartition] = field(Array(DescribeLogDirsPartition))


@struct
class DescribeLogDirsResult(Struct):
    """One log directory with its replicas, or an error."""

    error_code: int = field(Int16)
    log_dir: str = field(String)
    topics: list[DescribeLogDirsTopic] = field(Array(DescribeLogDirsTopic))
    total_bytes: int = field(Int64, versions="4+", default=-1, ignorable=True)
    usable_bytes: int = field(Int64, versions="4+", default=-1, ignorable=True)
    is_cordoned: bool = field(Bool, versions="5+", ignorable=True)


@message(api_key=ApiKey.DESCRIBE_LOG_DIRS, versions="0-5", flexible="2+")
class DescribeLogDirsResponse(Message):
    """The response: the replicas and sizes per log directory."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16, versions="3+", ignorable=True)
    results: list[DescribeLogDirsResult] = field(Array(DescribeLogDirsResult))
