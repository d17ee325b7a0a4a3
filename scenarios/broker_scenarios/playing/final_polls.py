"""The final polls of a run: a fresh consumer reads every partition from its beginning to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_client.core.consumer.consumer_core import EARLIEST, LATEST
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from broker_scenarios.history import EventType
from broker_scenarios.playing.client_process import ClientProcess
from broker_scenarios.playing.consumer_steps import polled
from sim_runtime.deadlines import DeadlineExceeded, deadline, sleep

if TYPE_CHECKING:
    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.playing.stage import Stage

__all__ = ["poll_finally"]

_POLL_MS: Final = 200
_WITHOUT: Final = ("group.id", "group.instance.id", "group.protocol", "enable.auto.commit", "group.remote.assignor")
"""The configurations of the group's consumer that a consumer without a group does not take."""


async def poll_finally(stage: Stage, group: ClientGroup, *, within_s: float) -> str | None:
    """Read everything as the group's configurations read it. Returns None, or what was not reached in time."""
    assert group.consumer is not None, "the check of files requires a consumer"
    config = {
        name: value
        for name, value in group.consumer.items()
        if (name not in _WITHOUT if group.driver is None else name == "isolation.level")
    }
    reader = type(group)(name=group.name, consumer=config)
    name = f"{group.name}-final-polls"
    process = ClientProcess(stage, reader, name, name)
    consumer, history = process.consumer, stage.history
    assert consumer is not None, "the group has one"
    keys = [
        TopicPartition(topic.name, partition)
        for topic in stage.scenario.topics
        for partition in range(stage.partitions_of(topic.name))
    ]
    if not keys:
        await process.close(1_000)
        return None  # no topic is left: a poll without partitions fails at once
    names = [f"{key.topic}-{key.partition}" for key in keys]
    consumer.assign(keys)
    history.complete(history.invoke(process.number, "assign", [["assign", names]]), EventType.OK)
    for key in keys:
        consumer.seek_to(key, EARLIEST)
    deadline_s = process.reactor.seconds() + within_s
    ends: dict[TopicPartition, int] | None = None
    while process.reactor.seconds() < deadline_s:
        operation = history.invoke(process.number, "poll", [["poll"]], final=True, assigned=names)
        try:
            if ends is None:
                ends = await deadline(
                    stage.reactor,
                    Deferred.fromCoroutine(consumer.offsets(keys, int(LATEST))),
                    max(1.0, (deadline_s - process.reactor.seconds()) * 1000),
                    awaited="the end offsets",
                    option="deadline_s",
                )
            records = await consumer.poll(_POLL_MS)
        except (ProducerError, DeadlineExceeded) as error:
            history.complete(operation, EventType.INFO, [["poll", {}]], error)
            await sleep(stage.reactor, _POLL_MS)  # an error may come at once, and the next one as well
            continue
        stage.limits.poll_records(len(records))
        history.complete(operation, EventType.OK, [["poll", polled(records)]])
        if all((consumer.position(key) or 0) >= end for key, end in ends.items()):
            await process.close(1_000)
            return None
    behind = [
        f"{key.topic}-{key.partition}" for key in keys if (consumer.position(key) or 0) < (ends or {}).get(key, 1)
    ]
    await process.close(1_000)
    return f"the final polls of {group.name!r} did not reach the end of {', '.join(behind)} in {within_s:g} s"
