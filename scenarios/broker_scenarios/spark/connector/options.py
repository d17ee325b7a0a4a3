"""The options of the source and of the sink: the names of Spark's Kafka connector, each with its check."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from broker_scenarios.errors import ScenarioError
from broker_scenarios.text_forms import partition_name
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "EARLIEST",
    "LATEST",
    "DeliveryGuarantee",
    "Offsets",
    "Place",
    "SinkOptions",
    "SourceOptions",
    "includes_headers",
    "sink_options",
    "source_options",
]

Place: TypeAlias = tuple[str, int]
"""A topic and a partition. broker_client has TopicPartition for it, but its import would delay each Python process."""

EARLIEST: Final = -2
LATEST: Final = -1
"""Offsets with a meaning, as ListOffsets and the connector have them."""

_KAFKA: Final = "kafka."
_SERVERS: Final = "kafka.bootstrap.servers"
_SUBSCRIPTIONS: Final = ("assign", "subscribe", "subscribePattern")
_SOURCE: Final = (
    *_SUBSCRIPTIONS, "startingOffsets", "endingOffsets", "includeHeaders", "minPartitions", "maxOffsetsPerTrigger",
    "failOnDataLoss", "kafkaConsumer.pollTimeoutMs",
)  # fmt: skip
_SINK: Final = ("topic", "includeHeaders", "deliveryGuarantee")
_OF_THE_SOURCE: Final = ("kafka.group.id", "kafka.auto.offset.reset", "kafka.enable.auto.commit")
_OF_THE_SINK: Final = ("kafka.transactional.id",)
_BATCHES_ONLY: Final = ("endingOffsets",)
_STREAMS_ONLY: Final = ("maxOffsetsPerTrigger",)
_POLL_TIMEOUT_MS: Final = 120_000
_TRUTHS: Final = {"true": True, "false": False}


class DeliveryGuarantee(StrEnum):
    """The guarantee of the sink for the rows of a stream."""

    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """Offsets of partitions: one for all (EARLIEST or LATEST), or one for each."""

    option: str
    common: int | None = None
    of_each: Mapping[Place, int] = field(default_factory=dict)

    def of(self, key: Place) -> int:
        """Return the offset of a partition. Raises ScenarioError if the option has none for it."""
        if self.common is not None:
            return self.common
        if key not in self.of_each:
            raise ScenarioError(
                f"{self.option}: no offset for {partition_name(*key)}: expected one for each partition that is read"
            )
        return self.of_each[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options of a source."""

    consumer: Mapping[str, str]
    """The configurations of its consumers, with bootstrap.servers."""
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    """Topics whose whole names match."""
    assigned: tuple[Place, ...] = ()
    starting: Offsets
    ending: Offsets
    include_headers: bool = False
    min_partitions: int | None = None
    max_offsets_per_trigger: int | None = None
    fail_on_data_loss: bool = True
    poll_timeout_s: float = _POLL_TIMEOUT_MS / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """The options of a sink."""

    producer: Mapping[str, str]
    """The configurations of its producers, with bootstrap.servers."""
    topic: str | None = None
    guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE


def includes_headers(options: Mapping[str, str]) -> bool:
    """Return the value of `includeHeaders`. Raises ScenarioError if it is neither true nor false."""
    return _truth("includeHeaders", {name.lower(): value for name, value in options.items()}, default=False)


def source_options(options: Mapping[str, str], *, is_stream: bool) -> SourceOptions:
    """Return the options of a source; names are compared without regard to case.

    Raises:
        ScenarioError: an option is unknown, wrong or missing; the message names it.
    """
    given = _known(options, _SOURCE, _OF_THE_SOURCE, "source")
    for name in _BATCHES_ONLY if is_stream else _STREAMS_ONLY:
        if name.lower() in given:
            raise ScenarioError(f"{name} is for {'batches' if is_stream else 'streams'}: expected no such option")
    chosen = [name for name in _SUBSCRIPTIONS if name.lower() in given]
    if len(chosen) != 1:
        found = f"not {' and '.join(chosen)}" if chosen else "there is none"
        raise ScenarioError(f"expected one of the options {', '.join(_SUBSCRIPTIONS)}: {found}")
    return SourceOptions(
        consumer=_configs(given),
        topics=_topics(given["subscribe"]) if "subscribe" in given else (),
        pattern=_pattern(given.get("subscribepattern")),
        assigned=_assigned(given["assign"]) if "assign" in given else (),
        starting=_offsets("startingOffsets", given, LATEST if is_stream else EARLIEST),
        ending=_offsets("endingOffsets", given, LATEST),
        include_headers=_truth("includeHeaders", given, default=False),
        min_partitions=_number("minPartitions", given),
        max_offsets_per_trigger=_number("maxOffsetsPerTrigger", given),
        fail_on_data_loss=_truth("failOnDataLoss", given, default=True),
        poll_timeout_s=(_number("kafkaConsumer.pollTimeoutMs", given) or _POLL_TIMEOUT_MS) / 1000,
    )


def sink_options(options: Mapping[str, str], *, is_stream: bool) -> SinkOptions:
    """Return the options of a sink; names are compared without regard to case.

    Raises:
        ScenarioError: an option is unknown, wrong or missing; the message names it.
    """
    # The checkpoint of a stream is an option of the writer too.
    own = {name: value for name, value in options.items() if name.lower() not in {"checkpointlocation", "path"}}
    given = _known(own, _SINK, _OF_THE_SINK, "sink")
    _truth("includeHeaders", given, default=False)
    guarantee = given.get("deliveryguarantee", DeliveryGuarantee.AT_LEAST_ONCE.value)
    if guarantee not in list(DeliveryGuarantee):
        raise ScenarioError(f"deliveryGuarantee={guarantee!r}: expected {' or '.join(DeliveryGuarantee)}")
    if guarantee == DeliveryGuarantee.EXACTLY_ONCE:
        if not is_stream:
            raise ScenarioError("deliveryGuarantee=exactly-once is for streams: Spark does not number batch writes")
        if "topic" not in given:
            raise ScenarioError("deliveryGuarantee=exactly-once needs the option topic: its partition 0 records epochs")
    return SinkOptions(producer=_configs(given), topic=given.get("topic"), guarantee=DeliveryGuarantee(guarantee))


def _known(options: Mapping[str, str], known: tuple[str, ...], refused: tuple[str, ...], what: str) -> dict[str, str]:
    """Return the options under lower-case names. Spark may have changed the case of their names already."""
    given = {name.lower(): value for name, value in options.items()}
    names = {name.lower(): name for name in known}
    for name in options:
        lower = name.lower()
        if lower in refused:
            raise ScenarioError(f"{name} cannot be set: the {what} sets it")
        if lower not in names and not lower.startswith(_KAFKA):
            hint = nearest(lower, tuple(names)) or f"; there are {_KAFKA}*, {', '.join(known)}"
            raise ScenarioError(f"{name!r} is no option of the {what}{hint}")
    if not given.get(_SERVERS):
        raise ScenarioError(f"the option {_SERVERS} is missing: expected HOST:PORT")
    return given


def _configs(given: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(_KAFKA): value for name, value in given.items() if name.startswith(_KAFKA)}


def _topics(text: str) -> tuple[str, ...]:
    topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
    if not topics:
        raise ScenarioError(f"subscribe={text!r}: expected names of topics, with commas between them")
    return topics


def _pattern(text: str | None) -> str | None:
    if text is not None:
        try:
            re.compile(text)
        except re.error as error:
            raise ScenarioError(f"subscribePattern={text!r}: expected a regular expression: {error}") from None
    return text


def _assigned(text: str) -> tuple[Place, ...]:
    data = _json("assign", text, '{"orders": [0, 1]}')
    found: dict[Place, None] = {}
    for topic, partitions in data.items():
        if not isinstance(partitions, list) or any(type(each) is not int or each < 0 for each in partitions):
            raise ScenarioError(f"assign: {topic!r}: expected a list of partitions, not {json.dumps(partitions)}")
        found.update(dict.fromkeys((topic, partition) for partition in partitions))
    if not found:
        raise ScenarioError(f"assign={text!r}: no partition in it")
    return tuple(found)


def _offsets(name: str, given: Mapping[str, str], otherwise: int) -> Offsets:
    text = given.get(name.lower())
    words = {"earliest": EARLIEST, "latest": LATEST} if name == "startingOffsets" else {"latest": LATEST}
    if text is None:
        return Offsets(option=name, common=otherwise)
    if text.strip().lower() in words:
        return Offsets(option=name, common=words[text.strip().lower()])
    data = _json(name, text, f'{", ".join(words)} or {{"orders": {{"0": 23, "1": -1}}}}')
    of_each: dict[Place, int] = {}
    lowest = EARLIEST if name == "startingOffsets" else LATEST
    for topic, offsets in data.items():
        if not isinstance(offsets, dict):
            raise ScenarioError(f"{name}: {topic!r}: expected an offset per partition, not {json.dumps(offsets)}")
        for partition, offset in offsets.items():
            if not partition.isdecimal() or type(offset) is not int or offset < lowest:
                raise ScenarioError(
                    f"{name}: {topic}-{partition}: expected an offset from {lowest}, not {json.dumps(offset)}"
                )
            of_each[topic, int(partition)] = offset
    return Offsets(option=name, of_each=of_each)


def _json(name: str, text: str, expected: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise ScenarioError(f"{name}={text!r}: expected {expected}")
    return data


def _number(name: str, given: Mapping[str, str]) -> int | None:
    text = given.get(name.lower())
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) == 0:
        raise ScenarioError(f"{name}={text!r}: expected a whole number from 1")
    return int(text)


def _truth(name: str, given: Mapping[str, str], *, default: bool) -> bool:
    text = given.get(name.lower())
    if text is None:
        return default
    if text.strip().lower() not in _TRUTHS:
        raise ScenarioError(f"{name}={text!r}: expected true or false")
    return _TRUTHS[text.strip().lower()]
