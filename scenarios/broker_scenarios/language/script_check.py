"""The checks of a script against the rest of its file: parts of the client, topics, rules and other clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_client.errors import ProducerError
from broker_client.producer_config import ProducerConfig
from broker_scenarios.language.step_forms import STEPS
from broker_scenarios.language.steps import (
    Abort,
    Act,
    Assign,
    Begin,
    Commit,
    CommitOffsets,
    Copy,
    Init,
    Repeat,
    Restart,
    Script,
    Seek,
    Send,
    SendOffsets,
    Step,
    Subscribe,
    Wait,
)
from broker_sim.errors import nearest
from broker_sim.faults.grammar import named_rules, parse_rule
from broker_sim.faults.rule import RuleError
from broker_sim.faults.rule_checks import check_targets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from broker_scenarios.language.clients import ClientGroup
    from broker_sim.faults.rule_targets import RuleTargets
    from broker_sim.topic_spec import TopicSpec
    from broker_sim.yaml_source import KeyPath

__all__ = ["ANYWHERE", "ScriptCheck", "word_of"]

ANYWHERE: Final = {"bootstrap.servers": "127.0.0.1:9092"}
"""Stands for the cluster that is not there yet while a client's configuration is checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCheck:
    """Finds what a script names and the file does not have."""

    group: ClientGroup
    topics: Sequence[TopicSpec]
    clients: Sequence[str]
    rules: Sequence[str]
    targets: RuleTargets
    """The nodes and partitions that the actions of the script can name."""

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
            of_consumer = isinstance(step, Commit) and self.group.consumer is not None
            hint = "; a consumer's positions are committed by commit_offsets" if of_consumer else ""
            yield f"{word} needs a producer: expected `producer` beside the script{hint}"
        if (needs == "consumer" or isinstance(step, Copy | SendOffsets)) and self.group.consumer is None:
            yield f"{word} needs a consumer: expected `consumer` beside the script"
        if isinstance(step, Send) and self.topics:
            yield from self._of_partition(step.topic or self.topics[0].name, step.partition)
        for topic, partition in _partitions_of(step):
            yield from self._of_partition(topic, partition)
        yield from self._of_configurations(step, word)
        if isinstance(step, Seek):
            for key in step.positions:
                if not key.rpartition("-")[0] or not key.rpartition("-")[2].isdecimal():
                    yield f"{key!r} is no partition: expected TOPIC-PARTITION, such as {self.topics[0].name}-0"
        if isinstance(step, Restart) and step.config:
            yield from self._of_restart(step)
        if isinstance(step, Act):
            yield from self._of_act(step)
        if isinstance(step, Wait):
            if step.rule is not None and step.rule not in self.rules:
                yield f"no rule is named {step.rule!r}{nearest(step.rule, self.rules)}"
            if step.client is not None and step.client not in self.clients:
                yield f"no client is named {step.client!r}{nearest(step.client, self.clients)}"
            if step.client == self.group.name:
                yield "a client cannot wait for the end of its own script"

    def _of_configurations(self, step: Step, word: str) -> Iterator[str]:
        """The configurations that the step needs; a foreign driver may have them under other names."""
        producer, consumer = self.group.producer, self.group.consumer
        if self.group.driver is not None:
            return
        if isinstance(step, _TRANSACTIONAL) and producer is not None and not self._is_transactional(producer):
            yield f"{word} needs a transactional producer: expected transactional.id in `producer`"
        if isinstance(step, _OF_A_GROUP) and consumer is not None and "group.id" not in consumer:
            yield f"{word} needs a group: expected group.id in `consumer`"

    def _is_transactional(self, producer: Mapping[str, str]) -> bool:
        configs = (producer, *(step.config for step in self.group.script if isinstance(step, Restart)))
        return any("transactional.id" in config for config in configs)

    def _of_restart(self, step: Restart) -> Iterator[str]:
        if self.group.producer is None:
            yield "restart configures a producer: expected `producer` beside the script"
            return
        if self.group.driver is not None:
            return  # the driver takes other names, and checks them
        try:
            ProducerConfig({**ANYWHERE, **self.group.producer, **step.config})
        except ProducerError as error:
            yield str(error)

    def _of_act(self, step: Act) -> Iterator[str]:
        try:
            rule = parse_rule({"name": "step", "act": step.act})
            check_targets(rule, self.targets)
        except RuleError as error:
            yield error.problem
            return
        for _, named in named_rules(rule):
            if named not in self.rules and not Act.is_rule_name(named):
                yield f"no rule is named {named!r}{nearest(named, self.rules)}"

    def _of_partition(self, topic: str, partition: int | None) -> Iterator[str]:
        known = {each.name: each.partitions for each in self.topics}
        if topic not in known:
            yield f"no topic is named {topic!r}{nearest(topic, known)}"
        elif partition is not None and partition >= known[topic]:
            yield f"topic {topic!r} has no partition {partition}: it has {known[topic]} (0 to {known[topic] - 1})"


def word_of(step: Step) -> str:
    """The word of a step."""
    return _WORDS[type(step).__name__]


_TRANSACTIONAL: Final = (Init, Begin, Commit, Abort, SendOffsets)
_OF_A_GROUP: Final = (Subscribe, CommitOffsets, SendOffsets)
_WORDS = {"".join(part.capitalize() for part in word.split("_")): word for word in STEPS}


def _partitions_of(step: Step) -> Iterator[tuple[str, int | None]]:
    if isinstance(step, Copy):
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
