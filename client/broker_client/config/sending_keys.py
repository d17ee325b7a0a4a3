"""What every producer is told: batches, memory, waits, connections, and the classes of Java. From ProducerConfig."""

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
        doc="Addresses to learn the cluster from: `host:port`, separated by commas, or a list of such.",
    ),
    ConfigKey(
        name="client.dns.lookup",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="use_all_dns_ips",
        one_of=("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        doc=(
            "Whether a name stands for all of its addresses, tried in turn, or is replaced at the start by "
            "the canonical names of its addresses."
        ),
    ),
    ConfigKey(
        name="buffer.memory",
        type=_T.LONG,
        importance=_I.HIGH,
        default=33554432,
        minimum=0,
        doc="Bytes for records that wait to be sent; who finds none free waits, at most max.block.ms.",
    ),
    ConfigKey(
        name="retries",
        type=_T.INT,
        importance=_I.HIGH,
        default=2147483647,
        minimum=0,
        maximum=2147483647,
        doc=("How often a batch may be sent again after an error that may pass; delivery.timeout.ms ends it earlier."),
    ),
    ConfigKey(
        name="acks",
        type=_T.STRING,
        importance=_I.LOW,
        default="all",
        one_of=("all", "-1", "0", "1"),
        doc=(
            "Which acknowledgement a send waits for: none (0), the leader (1), all in-sync replicas (all or "
            "-1). A number may be an int."
        ),
    ),
    ConfigKey(
        name="compression.type",
        type=_T.STRING,
        importance=_I.HIGH,
        default="none",
        one_of=("none", "gzip", "snappy", "lz4", "zstd"),
        doc="Codec of whole batches.",
    ),
    ConfigKey(
        name="compression.gzip.level",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=-1,
        minimum=1,
        maximum=9,
        also=(-1,),
        doc="How hard gzip tries, 1 to 9; -1 is its own default.",
    ),
    ConfigKey(
        name="compression.lz4.level",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=9,
        minimum=1,
        maximum=17,
        doc="How hard lz4 tries.",
    ),
    ConfigKey(
        name="compression.zstd.level",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=3,
        minimum=-131072,
        maximum=22,
        doc="How hard zstd tries.",
    ),
    ConfigKey(
        name="batch.size",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=16384,
        minimum=0,
        doc="Bytes up to which records of a partition are gathered in a batch; 0 sends each alone.",
    ),
    ConfigKey(
        name="partitioner.adaptive.partitioning.enable",
        type=_T.BOOLEAN,
        importance=_I.LOW,
        default=True,
        doc="Give fewer records without a key to partitions whose brokers are slow.",
    ),
    ConfigKey(
        name="partitioner.availability.timeout.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=0,
        minimum=0,
        doc="A partition whose broker takes no request for so long gets no records without a key; 0 never.",
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
        doc="How long a batch waits for more records before it is sent.",
    ),
    ConfigKey(
        name="delivery.timeout.ms",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=120000,
        minimum=0,
        doc=("When at the latest a send ends, counted from its append: waiting, sending and retrying together."),
    ),
    ConfigKey(
        name="client.id",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="",
        doc="Name of this client in requests, logs and quotas; producer-1 and so on when none is given.",
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
        doc="Pause before a node is connected to again; doubles with each failure in a row.",
    ),
    ConfigKey(
        name="reconnect.backoff.max.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=1000,
        minimum=0,
        doc="Longest pause before a node is connected to again; given alone, reconnect.backoff.ms is both.",
    ),
    ConfigKey(
        name="retry.backoff.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=100,
        minimum=0,
        doc="Pause before a request is sent again; doubles with each failure in a row.",
    ),
    ConfigKey(
        name="retry.backoff.max.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=1000,
        minimum=0,
        doc="Longest pause before a request is sent again.",
    ),
    ConfigKey(
        name="enable.metrics.push",
        type=_T.BOOLEAN,
        importance=_I.LOW,
        default=True,
        doc="Push client metrics to brokers that ask for them (KIP-714).",
    ),
    ConfigKey(
        name="max.block.ms",
        type=_T.LONG,
        importance=_I.MEDIUM,
        default=60000,
        minimum=0,
        doc="How long send, partitions_for and the calls of transactions may wait for metadata and memory.",
    ),
    ConfigKey(
        name="request.timeout.ms",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=30000,
        minimum=0,
        doc="How long an answer is waited for before the connection is given up.",
    ),
    ConfigKey(
        name="metadata.max.age.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=300000,
        minimum=0,
        doc="Age at which metadata is asked for again though nothing calls for it.",
    ),
    ConfigKey(
        name="metadata.max.idle.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=300000,
        minimum=5000,
        doc="How long metadata of a topic is kept that nothing is sent to.",
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
        doc="Number of windows that metrics are computed from.",
    ),
    ConfigKey(
        name="metrics.recording.level",
        type=_T.STRING,
        importance=_I.LOW,
        default="INFO",
        one_of=("INFO", "DEBUG", "TRACE"),
        doc="How much is measured. Everything that the producer measures is INFO, as in Java.",
    ),
    ConfigKey(
        name="metric.reporters",
        type=_T.LIST,
        importance=_I.LOW,
        default=("org.apache.kafka.common.metrics.JmxReporter",),
        status=_S.REFUSED,
        note="there is no JMX: read Producer.metrics()",
        doc="What is told of new and changed metrics.",
    ),
    ConfigKey(
        name="max.in.flight.requests.per.connection",
        type=_T.INT,
        importance=_I.LOW,
        default=5,
        minimum=1,
        doc=(
            "Requests that may await their answer on a connection; 1 keeps order through retries without idempotence."
        ),
    ),
    ConfigKey(
        name="key.serializer",
        type=_T.CLASS,
        importance=_I.HIGH,
        status=_S.MAPPED,
        note=(
            "a callable that answers bytes or None, its dotted name, or one of Java's serializers by name; "
            "without one keys are bytes"
        ),
        doc="Makes bytes of keys.",
    ),
    ConfigKey(
        name="value.serializer",
        type=_T.CLASS,
        importance=_I.HIGH,
        status=_S.MAPPED,
        note=(
            "a callable that answers bytes or None, its dotted name, or one of Java's serializers by name; "
            "without one values are bytes"
        ),
        doc="Makes bytes of values.",
    ),
)
