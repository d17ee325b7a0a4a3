"""The loop of a service that consumes, transforms and produces in transactions; an output's key names its input."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from broker_client.records import TopicPartition
from broker_scenarios.playing.outbox import SentRecord
from broker_scenarios.workloads.values import value_id_of

if TYPE_CHECKING:
    from broker_client.core.consumer.consumer_core import ConsumerRecord
    from broker_scenarios.language.steps import Copy
    from broker_scenarios.playing.script_player import ScriptPlayer

__all__ = ["copy"]

_POLL_MS: Final = 200


async def copy(player: ScriptPlayer, step: Copy) -> None:
    """Copy records until there are enough, or the time is over."""
    reactor = player.process.reactor
    deadline_s = reactor.seconds() + step.timeout_ms / 1000
    copied = transactions = 0
    while copied < step.records and reactor.seconds() < deadline_s:
        records = await player.consumer_steps.poll_once(_POLL_MS)
        waiting = iter(records or ())
        while some := list(islice(waiting, step.at_most)):
            transactions += 1
            if await _transaction(player, step, some, planned_abort=transactions in step.abort):
                copied += len(some)
            elif step.rewind:
                await player.consumer_steps.seek_to_committed()
                break
        if records is None:
            await player.sleep(_POLL_MS)


async def _transaction(player: ScriptPlayer, step: Copy, records: list[ConsumerRecord], *, planned_abort: bool) -> bool:
    """One transaction; returns whether it was committed."""
    if not player.begin_transaction():
        return False
    operation = player.process.transaction
    assert operation is not None, "it has just begun"
    offsets: dict[TopicPartition, int] = {}
    for record in records:
        offsets[TopicPartition(record.topic, record.partition)] = record.offset + 1
        player.send_record(
            SentRecord(
                topic=step.to,
                value_id=player.stage.new_value_id(),
                size_bytes=len(record.value or b"") or 8,
                key=b"%d" % value_id_of(record.value),
                headers={},
            )
        )
    if step.work_ms:
        await player.sleep(step.work_ms)
    if step.offsets == "transaction" and not await player.consumer_steps.send_these_offsets(
        offsets, by_group_id=step.by_group_id
    ):
        planned_abort = True
    if not planned_abort and await player.commit_transaction(or_abort=True):
        if step.offsets == "consumer":
            await player.consumer_steps.commit_these(offsets)
        return True
    if player.process.transaction is operation:
        await player.abort_transaction()
    return False
