"""The steps of a script that use the client's consumer: each call is an operation of the history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.consumer_groups import OffsetAndMetadata, RebalanceListener
from broker_client.core.consumer.consumer_core import EARLIEST, LATEST, ConsumerCore
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from broker_scenarios.history import EventType
from broker_scenarios.workloads.values import value_id_of
from sim_runtime.deadlines import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_client.core.consumer.consumer_core import ConsumerRecord
    from broker_scenarios.drivers.foreign_client import ForeignConsumer
    from broker_scenarios.language import steps
    from broker_scenarios.playing.script_player import ScriptPlayer

__all__ = ["ConsumerSteps", "polled"]

_POLL_MS: Final = 200
"""How long one call of `poll` waits for records, in milliseconds."""
_LATE_MS: Final = 60_000
"""How much later than its own time-out a call may return, in milliseconds."""


def polled(records: Iterable[ConsumerRecord]) -> dict[str, list[list[int]]]:
    """The records of a poll by partition: offset and value id of each."""
    found: dict[str, list[list[int]]] = {}
    for record in records:
        key = f"{record.topic}-{record.partition}"
        found.setdefault(key, []).append([record.offset, value_id_of(record.value)])
    return found


class ConsumerSteps(RebalanceListener):
    """The consumer of one process."""

    def __init__(self, player: ScriptPlayer) -> None:
        self._player = player
        self._moved: dict[str, None] = {}

    @property
    def consumer(self) -> ConsumerCore | ForeignConsumer:
        """The consumer of the process that runs now."""
        consumer = self._player.process.consumer
        assert consumer is not None, "the check of scripts requires a consumer"
        return consumer

    # What moves in a rebalance

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """Note what leaves."""
        self._moved.update(dict.fromkeys(f"{key.topic}-{key.partition}" for key in partitions))

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """Note what comes."""
        self._moved.update(dict.fromkeys(f"{key.topic}-{key.partition}" for key in partitions))

    # Steps

    async def assign(self, step: steps.Assign) -> None:
        """Assign partitions by hand."""
        keys = [
            TopicPartition(topic, partition)
            for topic, partitions in step.partitions.items()
            for partition in partitions or range(self._player.stage.partitions_of(topic))
        ]
        names = [f"{key.topic}-{key.partition}" for key in keys]

        async def assign() -> None:
            self.consumer.assign(keys)

        await self._player.call("assign", [["assign", names]], assign())

    async def subscribe(self, step: steps.Subscribe) -> None:
        """Subscribe to topics."""
        call = self.consumer.subscribe(step.topics, self)
        await self._player.call("subscribe", [["subscribe", list(step.topics)]], call)

    async def unsubscribe(self, _: steps.Unsubscribe) -> None:
        """Give up everything."""
        await self._player.call("subscribe", [["subscribe", []]], self.consumer.unsubscribe())

    async def seek(self, step: steps.Seek) -> None:
        """Go on at other offsets."""
        await self._seek_and_record({_key_of(name): to for name, to in step.positions.items()})

    async def seek_to_committed(self) -> None:
        """Read on from the committed offsets, as the records of an aborted transaction are to be read again."""
        await self._seek_and_record(dict.fromkeys(self.consumer.assignment, "committed"))

    async def _seek_and_record(self, positions: dict[TopicPartition, int | str]) -> None:
        names = [f"{key.topic}-{key.partition}" for key in self.consumer.assignment]
        named = {f"{key.topic}-{key.partition}": to for key, to in positions.items()}
        await self._player.call("assign", [["assign", names], ["seek", named]], self._seek(positions))

    async def _seek(self, positions: dict[TopicPartition, int | str]) -> None:
        for key, to in positions.items():
            if isinstance(to, int):
                self.consumer.seek(key, to)
            elif to == "committed":
                committed = (await self.consumer.committed([key]))[key]
                self.consumer.seek(key, 0 if committed is None else committed.offset)
            else:
                self.consumer.seek_to(key, EARLIEST if to == "beginning" else LATEST)

    async def poll(self, step: steps.Poll) -> None:
        """Poll until there is enough, or the time is over."""
        reactor = self._player.reactor
        deadline_s = reactor.seconds() + step.timeout_ms / 1000
        ends: dict[TopicPartition, int] = {}
        read = 0
        while reactor.seconds() < deadline_s:
            if step.to_end:
                await self._add_ends(ends)
            left_ms = max(1, (deadline_s - reactor.seconds()) * 1000)
            records = await self.poll_once(min(_POLL_MS, left_ms))
            read += 0 if records is None else len(records)
            if records is None:
                await self._player.sleep(_POLL_MS)
            elif records and step.work_ms:
                await self._player.sleep(step.work_ms)
            if step.records is not None and read >= step.records:
                return
            if step.to_end and self._reached(ends):
                return

    async def poll_once(self, timeout_ms: float) -> list[ConsumerRecord] | None:
        """One call of poll, recorded; None when it failed."""
        player = self._player
        player.stage.limits.take_step()
        history, transaction = player.stage.history, player.process.transaction
        operation = None
        if transaction is None:
            operation = history.invoke(player.process.number, "poll", [["poll"]], group=player.group_id)
        else:
            transaction.mops.append(["poll"])
        self._moved.clear()
        try:
            records: list[ConsumerRecord] = await player.within(
                self.consumer.poll(max(1, int(timeout_ms))), timeout_ms + _LATE_MS, "the call poll"
            )
        except (ProducerError, DeadlineExceeded) as error:
            if operation is not None:
                history.complete(operation, EventType.INFO, [["poll", {}]], error, **self._rebalanced())
            return None
        player.stage.limits.poll_records(len(records))
        mop = ["poll", polled(records)]
        if operation is not None:
            history.complete(operation, EventType.OK, [mop], None, **self._rebalanced(), **self._ends_reached())
        elif transaction is not None:
            transaction.results.append(mop)
        return records

    def _rebalanced(self) -> dict[str, Any]:
        return {"rebalanced": list(self._moved)} if self._moved else {}

    def _ends_reached(self) -> dict[str, Any]:
        """The ends of the partitions that are read up to the last stable offset.

        Others are left out: the latest response can be ahead of what the application has polled.
        """
        found = {}
        for key in self.consumer.assignment:
            ends, position = self.consumer.fetched_ends(key), self.consumer.position(key)
            if ends is not None and position is not None and position >= ends[0]:
                found[f"{key.topic}-{key.partition}"] = {"lso": ends[0], "hw": ends[1]}
        return {"offsets": found} if found else {}

    async def _add_ends(self, ends: dict[TopicPartition, int]) -> None:
        """Add the ends of the partitions that are assigned and have none: those of a group come with a later poll."""
        missing = [key for key in self.consumer.assignment if key not in ends]
        if not missing:
            return
        try:
            found: dict[TopicPartition, int] = await self._player.within(
                self.consumer.offsets(missing, int(LATEST)), _LATE_MS, "the end offsets"
            )
        except (ProducerError, DeadlineExceeded):
            return
        ends.update(found)

    def _reached(self, ends: dict[TopicPartition, int]) -> bool:
        """True if partitions are assigned, and the position in each is at its end."""
        assigned = self.consumer.assignment
        return bool(assigned) and all(
            key in ends and (self.consumer.position(key) or 0) >= ends[key] for key in assigned
        )

    async def commit(self, step: steps.CommitOffsets) -> None:
        """Commit the positions."""
        consumer = self.consumer
        positions = {
            f"{key.topic}-{key.partition}": position
            for key in consumer.assignment
            if (position := consumer.position(key)) is not None
        }
        if step.asynchronous:
            assert isinstance(consumer, ConsumerCore), "the check of drivers refuses it"
            history = self._player.stage.history
            operation = history.invoke(
                self._player.process.number, "commit", [["commit", positions]], group=self._player.group_id
            )
            consumer.commit_async(
                None,
                lambda _, error: history.complete(
                    operation, EventType.OK if error is None else EventType.INFO, None, error
                ),
            )
            return
        await self._player.call("commit", [["commit", positions]], consumer.commit())

    async def commit_these(self, offsets: dict[TopicPartition, int]) -> None:
        """Commit these offsets."""
        named = {f"{key.topic}-{key.partition}": offset for key, offset in offsets.items()}
        wanted = {key: OffsetAndMetadata(offset=offset) for key, offset in offsets.items()}
        await self._player.call("commit", [["commit", named]], self.consumer.commit(wanted))

    async def send_offsets(self, step: steps.SendOffsets) -> None:
        """Send the positions to the transaction."""
        consumer = self.consumer
        offsets = {key: position for key in consumer.assignment if (position := consumer.position(key)) is not None}
        await self.send_these_offsets(offsets, by_group_id=step.by_group_id)

    async def send_these_offsets(self, offsets: dict[TopicPartition, int], *, by_group_id: bool) -> bool:
        """Send offsets to the transaction; returns whether the call succeeded."""
        producer = self._player.process.producer
        assert isinstance(producer, ProducerCore), "the check of scripts requires a producer, and that of drivers ours"
        assert isinstance(self.consumer, ConsumerCore), "and the same of the consumer"
        group = self._player.group_id or "" if by_group_id else self.consumer.group_metadata()

        async def send() -> None:
            await producer.transactional.send_offsets_to_transaction(offsets, group)

        named = {f"{key.topic}-{key.partition}": offset for key, offset in offsets.items()}
        transaction = self._player.process.transaction
        if transaction is not None:
            transaction.mops.append(["commit", named])
        return await self._player.call("commit", [["commit", named]], send())


def _key_of(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))
