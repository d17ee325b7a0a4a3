"""A Kafka producer in Python, built of the parts of Kafka's own, with a consumer and an admin client beside it."""

from broker_client.admin import (
    Admin,
    AlterConfigOp,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    IsolationLevel,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)
from broker_client.async_consumer import AsyncConsumer
from broker_client.async_producer import AsyncProducer
from broker_client.async_share_consumer import AsyncShareConsumer
from broker_client.consumer import Consumer, ConsumerRecord
from broker_client.consumer_groups import (
    ConsumerGroupMetadata,
    GroupMembershipOperation,
    OffsetAndMetadata,
    RebalanceListener,
    SubscriptionPattern,
)
from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_client.errors import ProducerError
from broker_client.metrics import Metric, MetricName, MetricsSnapshot
from broker_client.producer import Producer
from broker_client.producer_config import ProducerConfig
from broker_client.records import PartitionInfo, RecordMetadata, TopicPartition
from broker_client.share_consumer import ShareConsumer
from broker_client.share_groups import AcknowledgeType, TopicIdPartition
from broker_client.trace_file import TraceFile

__all__ = [
    "AcknowledgeType",
    "Admin",
    "AlterConfigOp",
    "AsyncConsumer",
    "AsyncProducer",
    "AsyncShareConsumer",
    "BatchEvent",
    "BatchEventKind",
    "ConfigOperation",
    "ConfigResource",
    "ConfigResourceType",
    "Consumer",
    "ConsumerGroupMetadata",
    "ConsumerRecord",
    "GroupMembershipOperation",
    "IsolationLevel",
    "Metric",
    "MetricName",
    "MetricsSnapshot",
    "NewPartitions",
    "NewTopic",
    "OffsetAndMetadata",
    "OffsetSpec",
    "PartitionInfo",
    "Producer",
    "ProducerConfig",
    "ProducerError",
    "RebalanceListener",
    "RecordMetadata",
    "ShareConsumer",
    "SubscriptionPattern",
    "TopicIdPartition",
    "TopicPartition",
    "TraceFile",
]
