"""The checks of a script against the rest of its file: parts of the client, topics, rules and other clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_scenarios.language.step_forms import STEPS
from broker_scenarios.language.steps import (
    Assign,
    Copy,
    Repeat,
    Script,
    Seek,
    Send,
    SendOffsets,
    Step,
    Subscribe,
    Wait,
)
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.language.yaml_source import KeyPath
    from broker_sim.topic_spec import TopicSpec

__all__ = ["ScriptCheck"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCheck:
    """Finds what a script names and the file does not have."""

    group: ClientGroup
    topics: Sequence[TopicSpec]
    clients: Sequence[str]
    rules: Sequence[str]

    def problems(self) -> Iterator[tuple[KeyPath, str]]:
        """The path within the script and the problem of each mistake."""
        yield from self._of(self.group.script, ())

    def _of(self, script: Script, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
        for place, step in enumerate(script):
            at = (*path, place)
            yield from ((at, problem) for problem in self._of_step(step))
            if isinstance(step, Repeat):
                yield from self._of(step.steps, (*at, "repeat", "steps"))

    def _of_step(self, step: Step) -> Iterator[str]:
        word = word_of(step)
        needs = STEPS[word].needs
        if needs == "producer" and self.group.producer is None:
            yield f"{word} needs a producer: expected `producer` beside the script"
        if (needs == "consumer" or isinstance(step, Copy | SendOffsets)) and self.group.consumer is None:
            yield f"{word} needs a consumer: expected `consumer` beside the script"
        for topic, partition in _partitions_of(step):
            yield from self._of_partition(topic, partition)
        if isinstance(step, Wait):
            if step.rule is not None and step.rule not in self.rules:
                yield f"no rule is named {step.rule!r}{nearest(step.rule, self.rules)}"
            if step.client is not None and step.client not in self.clients:
                yield f"no client is named {step.client!r}{nearest(step.client, self.clients)}"
            if step.client == self.group.name:
                yield "a client cannot wait for the end of its own script"

    def _of_partition(self, topic: str, partition: int | None) -> Iterator[str]:
        known = {each.name: each.partitions for each in self.topics}
        if topic not in known:
            yield f"no topic is named {topic!r}{nearest(topic, known)}"
        elif partition is not None and partition >= known[topic]:
            yield f"topic {topic!r} has no partition {partition}: it has {known[topic]} (0 to {known[topic] - 1})"


def word_of(step: Step) -> str:
    """The word of a step."""
    return _WORDS[type(step).__name__]


_WORDS = {"".join(part.capitalize() for part in word.split("_")): word for word in STEPS}


def _partitions_of(step: Step) -> Iterator[tuple[str, int | None]]:
    if isinstance(step, Send) and step.topic is not None:
        yield step.topic, None
    elif isinstance(step, Copy):
        yield step.to, None
    elif isinstance(step, Subscribe):
        yield from ((topic, None) for topic in step.topics)
    elif isinstance(step, Assign):
        for topic, partitions in step.partitions.items():
            yield from ((topic, partition) for partition in partitions or (None,))
    elif isinstance(step, Seek):
        for key in step.positions:
            topic, _, partition = key.rpartition("-")
            yield topic or key, int(partition) if partition.isdecimal() else None
