"""DescribeCluster (api key 60): list the brokers or controllers of a cluster.

Mirrors DescribeClusterRequest and DescribeClusterResponse; KIP-700, KIP-919, KIP-1073.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.DESCRIBE_CLUSTER, versions="0-2", flexible="0+")
class DescribeClusterRequest(Message):
    """The request: list the brokers or controllers of a cluster."""

    include_cluster_authorized_operations: bool = field(Bool)
    endpoint_type: int = field(Int8, versions="1+", default=1)
    include_fenced_brokers: bool = field(Bool, versions="2+")


@struct
class DescribeClusterBroker(Struct):
    """One broker or controller with its address."""

    broker_id: int = field(Int32, map_key=True, entity="brokerId")
    host: str = field(String)
    port: int = field(Int32)
    rack: str | None = field(String, nullable="0+", default=None)
    is_fenced: bool = field(Bool, versions="2+")


@message(api_key=ApiKey.DESCRIBE_CLUSTER, versions="0-2", flexible="0+")
class DescribeClusterResponse(Message):
    """The response: the nodes, the cluster id and the controller."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    endpoint_type: int = field(Int8, versions="1+", default=1)
    cluster_id: str = field(String)
    controller_id: int = field(Int32, default=-1, entity="brokerId")
    brokers: list[DescribeClusterBroker] = field(Array(DescribeClusterBroker))
    cluster_authorized_operations: int = field(Int32, default=-2147483648)
