"""The configuration keys of members of groups. From ConsumerConfig and GroupRebalanceConfig."""

from __future__ import annotations

from typing import Final

from broker_client.config.config_key import ConfigKey, Importance, ValueType

__all__ = ["GROUP_KEYS", "SHARE_MODE_KEYS"]

_T = ValueType
_I = Importance

GROUP_KEYS: Final = (
    ConfigKey(
        name="group.id",
        type=_T.STRING,
        importance=_I.HIGH,
        doc="The group that the consumer belongs to; needed to subscribe and to commit.",
    ),
    ConfigKey(
        name="group.instance.id",
        type=_T.STRING,
        importance=_I.MEDIUM,
        non_empty=True,
        doc="Makes the consumer a static member (KIP-345): a restart within the session causes no rebalance.",
    ),
    ConfigKey(
        name="group.protocol",
        type=_T.STRING,
        importance=_I.HIGH,
        default="classic",
        one_of=("CLASSIC", "CONSUMER"),
        ignore_case=True,
        doc="The protocol of the group: classic, or consumer (KIP-848), in which the broker assigns.",
    ),
    ConfigKey(
        name="group.remote.assignor",
        type=_T.STRING,
        importance=_I.MEDIUM,
        doc="The assignor of the broker, with group.protocol=consumer: uniform, range, or unset for its default.",
    ),
    ConfigKey(
        name="session.timeout.ms",
        type=_T.INT,
        importance=_I.HIGH,
        default=45_000,
        doc="Time without heartbeats after which the coordinator removes the member; classic protocol.",
    ),
    ConfigKey(
        name="heartbeat.interval.ms",
        type=_T.INT,
        importance=_I.HIGH,
        default=3_000,
        doc="Time between heartbeats, below session.timeout.ms; classic protocol.",
    ),
    ConfigKey(
        name="max.poll.interval.ms",
        type=_T.INT,
        importance=_I.MEDIUM,
        default=300_000,
        minimum=1,
        doc="Time between polls after which the consumer leaves the group; also the rebalance time-out.",
    ),
    ConfigKey(
        name="partition.assignment.strategy",
        type=_T.LIST,
        importance=_I.MEDIUM,
        default=("range", "cooperative-sticky"),
        doc="Assignors in order of preference: range, roundrobin, sticky, cooperative-sticky, Java's class names of "
        "these, or objects derived from PartitionAssignor; classic protocol.",
    ),
    ConfigKey(
        name="enable.auto.commit",
        type=_T.BOOLEAN,
        importance=_I.MEDIUM,
        default=True,
        doc="Commit the positions in the background of poll, before joining and on close.",
    ),
    ConfigKey(
        name="auto.commit.interval.ms",
        type=_T.INT,
        importance=_I.LOW,
        default=5_000,
        minimum=0,
        doc="Time between automatic commits.",
    ),
    ConfigKey(
        name="retry.backoff.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=100,
        minimum=0,
        doc="First pause before a failed request is repeated.",
    ),
    ConfigKey(
        name="retry.backoff.max.ms",
        type=_T.LONG,
        importance=_I.LOW,
        default=1_000,
        minimum=0,
        doc="Longest pause before a failed request is repeated.",
    ),
    ConfigKey(
        name="exclude.internal.topics",
        type=_T.BOOLEAN,
        importance=_I.MEDIUM,
        default=True,
        doc="Internal topics do not match the pattern of a subscription.",
    ),
    ConfigKey(
        name="allow.auto.create.topics",
        type=_T.BOOLEAN,
        importance=_I.MEDIUM,
        default=True,
        doc="Brokers may create a subscribed topic, if their auto.create.topics.enable allows it.",
    ),
)
SHARE_MODE_KEYS: Final = (
    ConfigKey(
        name="share.acknowledgement.mode",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="implicit",
        one_of=("implicit", "explicit"),
        doc="implicit: a poll or commit accepts the records of the poll before; explicit: `acknowledge` decides each.",
    ),
    ConfigKey(
        name="share.acquire.mode",
        type=_T.STRING,
        importance=_I.MEDIUM,
        default="batch_optimized",
        one_of=("BATCH_OPTIMIZED", "RECORD_LIMIT"),
        ignore_case=True,
        doc="batch_optimized: whole batches of the log; record_limit: at most max.poll.records, from one broker at a "
        "time (KIP-1206).",
    ),
)
"""The keys that only share consumers have."""
