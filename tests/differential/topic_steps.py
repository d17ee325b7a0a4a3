"""The steps of drawn conversations that change the world of a group: its topics, its configurations, time."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from broker_sim.controller import topics as controller_topics
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from tests.differential.config_requests import DELETE, GROUP, SET, await_value, described, incremental
from tests.differential.coordinator_barriers import await_coordinators
from tests.differential.group_steps import ChangeStep
from tests.differential.probe import attempts
from tests.differential.requests import metadata

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.differential.group_steps import Side

PARTITIONS_MAX: Final = 4
AFTER_CHANGE_SECONDS: Final = 0.1
"""Coordinators remove the offsets of a deleted topic after they know that it is gone."""

CREATE_PARTITIONS_VERSION: Final = 3
DELETE_VERSION: Final = 5
METADATA_VERSION: Final = 12
CONFIGS_VERSION: Final = 1
GROUP_SOURCE: Final = 8

GROUP_CONFIGS: Final = {
    "consumer": {
        "consumer.session.timeout.ms": ("45000", "60000", "70000"),
        "consumer.heartbeat.interval.ms": ("5000", "6000", "15000", "100"),
        "consumer.assignment.interval.ms": ("0", "0", "1000"),
    },
    "share": {
        "share.session.timeout.ms": ("45000", "60000", "90000"),
        "share.heartbeat.interval.ms": ("5000", "7000", "100"),
        "share.assignment.interval.ms": ("0", "0", "1000"),
        "share.auto.offset.reset": ("earliest", "latest", "by_duration:PT1H", "none"),
    },
    "streams": {
        "streams.heartbeat.interval.ms": ("5000", "8000", "100"),
        "streams.num.standby.replicas": ("0", "1", "1", "2", "3"),
        "streams.assignment.interval.ms": ("0", "0", "1000"),
        "streams.session.timeout.ms": ("45000", "50000", "90000"),
    },
}
"""Kind of group -> configuration -> values, some of which are out of bounds."""


def pause(seconds: float) -> ChangeStep:
    """Let time pass."""
    return ChangeStep(note=f"pause of {seconds} s", apply=lambda _: Event().wait(seconds))


class TopicSteps:
    """Draws changes of topics and of the group's configurations; `topics` are those that exist, by name."""

    def __init__(self, random: Random, group: str, topics: dict[str, int], *, consumers: bool) -> None:
        self._random = random
        self._group = group
        self._topics = topics
        self._names = [*topics, f"{group.removesuffix('-g')}-c"]
        self._consumers = consumers
        """True if the coordinator has consumer groups, whose assignments show which topics it knows."""

    def names(self) -> list[str]:
        """Every topic that may exist."""
        return self._names

    def change(self) -> ChangeStep:
        """Create, enlarge or delete a topic."""
        name = self._random.choice(self._names)
        if name not in self._topics:
            return self._create(name)
        count = self._topics[name]
        if count < PARTITIONS_MAX and self._random.random() < 0.5:
            return self._enlarge(name, count + 1)
        return self._delete(name)

    def configure(self, kind: str) -> ChangeStep:
        """Change a configuration of the group, or remove it."""
        values = GROUP_CONFIGS[kind]
        name = self._random.choice(list(values))
        return self.set(name, None if self._random.random() < 0.2 else self._random.choice(values[name]))

    def set(self, name: str, value: str | None) -> ChangeStep:
        """Set a configuration of the group; None removes it."""

        def apply(side: Side) -> Any:
            change = (name, DELETE if value is None else SET, value)
            response: Any = side.probe.quiet(incremental((GROUP, self._group, [change])), CONFIGS_VERSION)
            code = response.responses[0].error_code
            if code == 0 and value is not None:
                await_value(side.probe, GROUP, self._group, name, value)
            elif code == 0:
                for _ in attempts(f"{name} of {self._group} to be removed"):
                    found = described(side.probe, GROUP, self._group, name)
                    if found is None or found[1] != GROUP_SOURCE:
                        break
            Event().wait(AFTER_CHANGE_SECONDS)
            return code

        return ChangeStep(note=f"{name}={value}", apply=apply)

    def _create(self, name: str) -> ChangeStep:
        count = self._random.choice((1, 2))
        self._topics[name] = count

        def apply(side: Side) -> None:
            suffix = name.removeprefix(f"{side.probe.name}-")
            if side.given_ids is None:
                side.probe.topic(suffix, partitions=count)
            else:
                with mock.patch.object(controller_topics, "random_topic_id", return_value=side.given_ids[name]):
                    side.probe.topic(suffix, partitions=count)
            side.topic_ids[name] = side.probe.topic_id(name)

        return self._changed(f"creates {name} of {count}", apply)

    def _enlarge(self, name: str, count: int) -> ChangeStep:
        self._topics[name] = count

        def apply(side: Side) -> None:
            topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
            side.probe.quiet(CreatePartitionsRequest(topics=[topic], timeout_ms=5_000), CREATE_PARTITIONS_VERSION)
            side.probe.await_topic(name, count)

        return self._changed(f"enlarges {name} to {count}", apply)

    def _delete(self, name: str) -> ChangeStep:
        del self._topics[name]

        def apply(side: Side) -> None:
            side.probe.quiet(DeleteTopicsRequest(topic_names=[name], timeout_ms=5_000), DELETE_VERSION)
            for _ in attempts(f"{name} to be gone"):
                described: Any = side.probe.quiet(metadata(name), METADATA_VERSION)
                if described.topics[0].error_code:
                    break

        return self._changed(f"deletes {name}", apply)

    def _changed(self, note: str, change: Callable[[Side], None]) -> ChangeStep:
        counts = dict(self._topics)

        def apply(side: Side) -> None:
            change(side)
            if self._consumers:
                ids = {name: side.topic_ids[name] for name in counts}
                await_coordinators(side.probe, ids, counts=counts, names=self._names)
            Event().wait(AFTER_CHANGE_SECONDS)

        return ChangeStep(note=note, apply=apply)
