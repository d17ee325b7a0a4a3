"""A batch on its way, or a record in it: lanes for the producer's parts, and for the brokers' if there is a journal.

The lanes are those that Kafka's own description of the producer has: RecordAccumulator, BufferPool, Sender, Selector,
NetworkClient with its requests in flight; then each broker that received a request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.producer.trace import BatchEvent, BatchEventKind, ReadyReason
from broker_scenarios.tracing.request_trace import trace_request
from broker_scenarios.tracing.timeline import Moment, Stage, Timeline
from sim_runtime.spelling import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_scenarios.tracing.batch_lives import BatchLife
    from broker_scenarios.tracing.broker_side import BrokerSide

__all__ = ["stages_of", "trace_batch"]

ACCUMULATOR: Final = "RecordAccumulator"
_LANES: Final = (ACCUMULATOR, "BufferPool", "Sender", "Selector", "NetworkClient")
APPENDS_MAX: Final = 12
"""How many appends of a batch are listed one by one."""

_READY: Final = {
    ReadyReason.FULL.value: "it is full",
    ReadyReason.LINGERED.value: "linger.ms is over",
    ReadyReason.BACKED_OFF.value: "its back-off is over, or its partition has another leader",
}
_STOPS: Final = {
    BatchEventKind.ACKNOWLEDGED,
    BatchEventKind.RETRIED,
    BatchEventKind.SPLIT,
    BatchEventKind.EXPIRED,
    BatchEventKind.FAILED,
}


def trace_batch(life: BatchLife, brokers: BrokerSide, record: int | None = None) -> Timeline:
    """Build the timeline of a batch and of the batches that it was split from, or of one of its records, by index."""
    return _Trace(life, brokers, record).put_together()


def stages_of(life: BatchLife, start_us: int) -> list[Stage]:
    """A batch's stages in the producer, in order; times count from `start_us`."""
    stages: list[Stage] = []
    since: dict[str, tuple[str, int]] = {}

    def begin(lane: str, name: str, at_us: int) -> None:
        since[lane] = name, at_us

    def end(lane: str, at_us: int) -> None:
        if lane in since:
            name, began_us = since.pop(lane)
            stages.append(Stage(lane=lane, name=name, start_us=began_us - start_us, duration_us=at_us - began_us))

    for event in life.events:
        at_us, kind = event.time_us, event.kind
        if kind is BatchEventKind.CREATED:
            if event.part_of < 0:
                begin("BufferPool", "memory", at_us)
            begin(ACCUMULATOR, "filling" if event.part_of < 0 else "ready", at_us)
        elif kind is BatchEventKind.READY:
            if since.get(ACCUMULATOR, ("", 0))[0] != "ready":  # a part of a split batch is, from the start
                end(ACCUMULATOR, at_us)
                begin(ACCUMULATOR, "ready", at_us)
        elif kind is BatchEventKind.DRAINED:
            end(ACCUMULATOR, at_us)
            begin("Sender", "drained", at_us)
        elif kind is BatchEventKind.SENT:
            end("Sender", at_us)
            begin("Selector", "writing", at_us)
            begin("NetworkClient", "in flight", at_us)
        elif kind is BatchEventKind.IN_FLIGHT:
            end("Selector", at_us)
        elif kind in _STOPS:
            for lane in (ACCUMULATOR, "Sender", "Selector", "NetworkClient"):
                end(lane, at_us)
            if kind is BatchEventKind.RETRIED:
                begin(ACCUMULATOR, "back-off", at_us)
        elif kind is BatchEventKind.FREED:
            end("BufferPool", at_us)
    for lane in list(since):
        end(lane, life.last.time_us)
    return stages


class _Trace:
    def __init__(self, life: BatchLife, brokers: BrokerSide, record: int | None) -> None:
        self.life = life
        self.brokers = brokers
        self.record = record
        self.line = [life]
        """The batch, after those that it was cut from."""
        while self.line[0].parent is not None:
            self.line.insert(0, self.line[0].parent)
        self.start_us = self.line[0].start_us
        end = life.end
        self.timeline = Timeline(
            name=f"batch {life.name}" if record is None else f"record {life.key}@{life.base_offset + record}",
            title=self._title(),
            source=self._source(),
            took_us=None if end is None else end.time_us - self.start_us,
            unended="no end",
        )

    def put_together(self) -> Timeline:
        timeline = self.timeline
        index = self._index_in_first()
        for life in self.line:
            timeline.stages += stages_of(life, self.start_us)
            created, *later = life.events
            # The trace reports all appends together when the batch is drained; here they have their own times.
            later.sort(key=lambda event: event.kind is not BatchEventKind.APPENDED)
            for event in (created, *later):
                self._take(life, event, index)
                if event.kind is BatchEventKind.SENT:
                    self._add_broker_stages(life, event)
            following = self.line[self.line.index(life) + 1 :]
            if index is not None and following:
                index -= following[0].events[0].first_record
        if self.life.end is None:
            self._own(timeline.end_us + self.start_us, "the trace ends before the batch does")
        self._add_changes()
        timeline.moments.sort(key=lambda moment: moment.at_us)
        timeline.stages.sort(key=lambda stage: _LANES.index(stage.lane) if stage.lane in _LANES else len(_LANES))
        return timeline

    def _index_in_first(self) -> int | None:
        """The record's index in the batch that it was appended to."""
        if self.record is None:
            return None
        return self.record + sum(life.events[0].first_record for life in self.line[1:])

    def _title(self) -> str:
        life = self.life
        size = f"{life.records:,} record{'' if life.records == 1 else 's'}, {life.last.size_bytes:,} bytes"
        if self.record is None:
            return f"batch {life.number} of {life.producer} for {life.key}: {size}"
        which = f"record {self.record + 1:,} of {life.records:,}"
        return f"record {life.key}@{life.base_offset + self.record}: {which} in batch {life.number} of {life.producer}"

    def _source(self) -> str:
        life, last = self.life, self.life.last
        parts = []
        if last.producer_id >= 0:
            sequences = numbers("sequence", last.base_sequence, life.records)
            parts.append(f"producer id {last.producer_id}, epoch {last.producer_epoch}, {sequences}")
        if life.parent is not None:
            parts.append(f"cut from batch {life.parent.number}")
        tries = (
            "never sent" if not life.attempts else "sent once" if life.attempts == 1 else f"sent {life.attempts} times"
        )
        return ", ".join([*parts, tries, life.outcome])

    def _take(self, life: BatchLife, event: BatchEvent, index: int | None) -> None:
        if event.kind is BatchEventKind.APPENDED:
            self._appends(event, index)
        else:
            self._own(event.time_us, _did(life, event))

    def _appends(self, event: BatchEvent, index: int | None) -> None:
        """Add the appends of the records: of all of them, or of the traced one."""
        first = 0
        listed = 0
        for at_us, count in event.appends:
            if index is None and listed == APPENDS_MAX:
                rest = event.records - first
                self._own(at_us, f"and so on: the other {rest:,} records, the last at {self._ms(event.appends[-1][0])}")
                return
            if index is None or first <= index < first + count:
                which = numbers("record", first + 1, count) if index is None else f"record {index + 1:,}"
                self._own(at_us, f"{which} {'is' if index is not None or count == 1 else 'are'} appended")
                listed += 1
            first += count

    def _ms(self, at_us: int) -> str:
        return f"+{(at_us - self.start_us) / 1000:,.3f} ms"

    def _add_broker_stages(self, life: BatchLife, sent: BatchEvent) -> None:
        """Add the stages of the request in the broker, on the same axis."""
        found = self.brokers.request_of(sent)
        if found is None:
            if self.brokers.events:
                self._own(sent.time_us, f"broker {sent.node} never gets that request")
            return
        number, request = found
        there = trace_request(self.brokers.events, number)
        shift_us = request.time_us - self.start_us
        lane = f"broker {request.broker_id}"
        self.timeline.stages += [
            Stage(lane=lane, name=stage.name, start_us=stage.start_us + shift_us, duration_us=stage.duration_us)
            for stage in there.stages
            if stage.duration_us or stage.name == "handler"
        ]
        if not there.stages:
            ended_us = max(moment.at_us for moment in there.moments if moment.own)
            self.timeline.stages.append(Stage(lane=lane, name="no response", start_us=shift_us, duration_us=ended_us))
        mine = life.topic, life.partition
        self.timeline.moments += [
            Moment(
                at_us=moment.at_us + shift_us,
                text=f"broker {request.broker_id}: {moment.text}" if moment.own else moment.text,
                own=moment.own,
            )
            for moment in there.moments
            if moment.partition in (None, mine)
        ]
        self.timeline.left_out += there.left_out

    def _add_changes(self) -> None:
        """Add the changes among the brokers while no request of the batch waited for them."""
        known = {(moment.at_us, moment.text) for moment in self.timeline.moments}
        partition = self.life.topic, self.life.partition
        for at_us, text in self.brokers.changes(partition, self.start_us, self.start_us + self.timeline.end_us):
            if (at_us - self.start_us, text) not in known:
                self.timeline.moments.append(Moment(at_us=at_us - self.start_us, text=text, own=False))

    def _own(self, at_us: int, text: str) -> None:
        self.timeline.moments.append(Moment(at_us=at_us - self.start_us, text=text))


def _listed(lives: Sequence[BatchLife]) -> str:
    """`3`, `3 and 4`, `3, 4 and 5`."""
    *most, last = (str(life.number) for life in lives)
    return f"{', '.join(most)} and {last}" if most else last


def _did(life: BatchLife, event: BatchEvent) -> str:
    """Describe a step in a sentence."""
    kind, detail, node = event.kind, event.detail, f"node {event.node}"
    if kind is BatchEventKind.ACKNOWLEDGED:
        if event.base_offset < 0:
            return "acknowledged, without an offset"
        return f"acknowledged: {numbers('offset', event.base_offset, event.records)}"
    if kind is BatchEventKind.CREATED and event.part_of >= 0:
        its = numbers("record", event.first_record + 1, event.records)
        return f"batch {life.number} is cut from batch {event.part_of}: its {its}"
    if kind is BatchEventKind.RETRIED:
        why = f"{event.error}, {detail}" if detail else event.error
        return f"{why}: back into the RecordAccumulator for {event.backoff_ms:,} ms"
    if kind is BatchEventKind.SPLIT:
        return f"{event.error}: it is split" + (f" into batches {_listed(life.parts)}" if life.parts else "")
    if kind in (BatchEventKind.FAILED, BatchEventKind.EXPIRED):
        return f"{kind.value}: {event.error}: {detail}"
    return {
        BatchEventKind.CREATED: f"batch {life.number} is created: the BufferPool allocates {detail}",
        BatchEventKind.READY: f"ready: {_READY.get(detail, detail)}",
        BatchEventKind.DRAINED: f"the Sender drains it for {node}",
        BatchEventKind.SENT: f"the NetworkClient sends it to {node}: correlation id {event.correlation_id}",
        BatchEventKind.IN_FLIGHT: f"the Selector has written it: {detail} is in flight",
        BatchEventKind.FREED: f"the BufferPool deallocates {detail}",
    }[kind]
