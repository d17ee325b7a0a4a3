"""Batches, memory, waits, connections, and serializers. From ProducerConfig."""

from __future__ import annotations

from typing import Final

from broker_client.config.config_key import ConfigKey, Importance, KeyStatus, ValueType

__all__ = ["SENDING_KEYS"]

_T = ValueType
_I = Importance
_S = KeyStatus

SENDING_KEYS: Final = (
    ConfigKey(
        name="bootstrap.servers",
        type=_T.LIST,
        importance=_I.HIGH,
        required=True,
        doc="Addresses of the first connections: `host:port`, separated by commas, or a list.",
    ),
    ConfigKey(
        name="client.dns.lookup",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="use_all_dns_ips",
        one_of=("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        doc=(
            "Use all addresses of a name in turn, or replace the names at the start by the canonical names of "
            "their addresses."
        ),
    ),
    ConfigKey(
        name="buffer.memory",
        type=_T.LONG,
        importance=_I.HIGH,
        default=33554432,
        minimum=0,
        doc="Bytes for unsent records; when they are exhausted, send waits at most max.block.ms.",
    ),
    ConfigKey(
        name="retries",
        type=_T.INT,
        importance=_I.HIGH,
        default=2147483647,
        minimum=0,
        maximum=2147483647,
        doc="Number of retries of a batch after a retriable error; delivery.timeout.ms may end them earlier.",
    ),
    ConfigKey(
        name="acks",
        type=_T.STRING,
        importance=_I.LOW,
        default="all",
        one_of=("all", "-1", "0", "1"),
        doc=(
            "Acknowledgement that a send waits for: none (0), the leader (1), all in-sync replicas (all or -1). "
            "A number may be an int."
        ),
    ),
    ConfigKey(
        name="compression.type",
        type=_T.STRING,
        importance=_I.HIGH,
        default="none",
        one_of=("none", "gzip", "snappy", "lz4", "zstd"),
        doc="Compression codec of batches.",
    ),
    ConfigKey(
        name="compression.gzip.level",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=-1,
        minimum=1,
        maximum=9,
        also=(-1,),
        doc="Compression level of gzip, 1 to 9; -1 is its own default.",
    ),
    ConfigKey(
        name="compression.lz4.level",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=9,
        minimum=1,
        maximum=17,
        doc="Compression level of lz4.",
    ),
    ConfigKey(
        name="compression.zstd.level",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=3,
        minimum=-131072,
        maximum=22,
        doc="Compression level of zstd.",
    ),
    ConfigKey(
        name="batch.size",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=16384,
        minimum=0,
        doc="Largest size of a batch in bytes; 0 sends each record alone.",
    ),
    ConfigKey(
        name="partitioner.adaptive.partitioning.enable",
        type=_T.BOOLEAN,
        importance=_I.LOW,
        default=True,
        doc="Choose partitions of slow brokers less often for records without a key.",
    ),
    ConfigKey(
        name="partitioner.availability.timeout.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=0,
        minimum=0,
        doc="Records without a key avoid a partition whose broker accepts no request for this time; 0: never.",
    ),
    ConfigKey(
        name="partitioner.ignore.keys",
        type=_T.BOOLEAN,
        importance=_I.MEDIUM,
        default=False,
        doc="Choose partitions as if records had no keys.",
    ),
    ConfigKey(
        name="linger.ms",
        type=_T.LONG,
        importance=_I.MEDIUM,
        default=5,
        minimum=0,
        doc="Time for which a batch waits for more records before it is sent.",
    ),
    ConfigKey(
        name="delivery.timeout.ms",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=120000,
        minimum=0,
        doc="Time limit of a send from its append: waiting, sending and retries together.",
    ),
    ConfigKey(
        name="client.id",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="",
        doc="Name of this client in requests, logs and quotas; by default producer-1 and so on.",
    ),
    ConfigKey(
        name="send.buffer.bytes",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=131072,
        minimum=-1,
        doc="SO_SNDBUF of connections; -1 leaves the system to choose.",
    ),
    ConfigKey(
        name="receive.buffer.bytes",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=32768,
        minimum=-1,
        doc="SO_RCVBUF of connections; -1 leaves the system to choose.",
    ),
    ConfigKey(
        name="max.request.size",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=1048576,
        minimum=0,
        doc="Bytes of the largest request, and of the largest record before it is compressed.",
    ),
    ConfigKey(
        name="reconnect.backoff.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=50,
        minimum=0,
        doc="Pause before a reconnect to a node; doubles with each consecutive failure.",
    ),
    ConfigKey(
        name="reconnect.backoff.max.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=1000,
        minimum=0,
        doc="Longest pause before a reconnect; by default the value of a given reconnect.backoff.ms.",
    ),
    ConfigKey(
        name="retry.backoff.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=100,
        minimum=0,
        doc="Pause before a retry of a request; doubles with each consecutive failure.",
    ),
    ConfigKey(
        name="retry.backoff.max.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=1000,
        minimum=0,
        doc="Longest pause before a retry of a request.",
    ),
    ConfigKey(
        name="enable.metrics.push",
        type=_T.BOOLEAN,
        importance=_I.LOW,
        default=True,
        doc="Push client metrics to brokers that request them (KIP-714).",
    ),
    ConfigKey(
        name="max.block.ms",
        type=_T.LONG,
        importance=_I.MEDIUM,
        default=60000,
        minimum=0,
        doc="Time limit of send, partitions_for and transactional calls for metadata and memory.",
    ),
    ConfigKey(
        name="request.timeout.ms",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=30000,
        minimum=0,
        doc="Time limit for a response, after which the connection is closed.",
    ),
    ConfigKey(
        name="metadata.max.age.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=300000,
        minimum=0,
        doc="Age at which metadata is refreshed.",
    ),
    ConfigKey(
        name="metadata.max.idle.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=300000,
        minimum=5000,
        doc="Time for which metadata of an unused topic is kept.",
    ),
    ConfigKey(
        name="metrics.sample.window.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=30000,
        minimum=0,
        doc="Length of a window over which metrics are computed.",
    ),
    ConfigKey(
        name="metrics.num.samples",
        type=_T.INT,
        importance=_I.LOW,
        default=2,
        minimum=1,
        doc="Number of windows over which metrics are computed.",
    ),
    ConfigKey(
        name="metrics.recording.level",
        type=_T.STRING,
        importance=_I.LOW,
        default="INFO",
        one_of=("INFO", "DEBUG", "TRACE"),
        doc="Level of metrics. All metrics of the producer have INFO, as in Java.",
    ),
    ConfigKey(
        name="metric.reporters",
        type=_T.LIST,
        importance=_I.LOW,
        default=("org.apache.kafka.common.metrics.JmxReporter",),
        status=_S.REFUSED,
        note="there is no JMX: read Producer.metrics()",
        doc="Classes that are notified of new and changed metrics.",
    ),
    ConfigKey(
        name="max.in.flight.requests.per.connection",
        type=_T.INT,
        importance=_I.LOW,
        default=5,
        minimum=1,
        doc=("Requests in flight per connection; 1 keeps the order of records through retries without idempotence."),
    ),
    ConfigKey(
        name="key.serializer",
        type=_T.CLASS,
        importance=_I.HIGH,
        status=_S.MAPPED,
        note=(
            "a callable that returns bytes or None, its dotted name, or one of Java's serializers by name; "
            "without one keys are bytes"
        ),
        doc="Serializes keys.",
    ),
    ConfigKey(
        name="value.serializer",
        type=_T.CLASS,
        importance=_I.HIGH,
        status=_S.MAPPED,
        note=(
            "a callable that returns bytes or None, its dotted name, or one of Java's serializers by name; "
            "without one values are bytes"
        ),
        doc="Serializes values.",
    ),
)
