"""The life of one transactional id: its states, its producers, its partitions, and what read_committed waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_scenarios.tracing.coordinated_lives import Coordination, add_moments, check_known, counted, state_stages
from broker_scenarios.tracing.request_trace import cluster_change
from broker_scenarios.tracing.stable_offsets import holds_of
from broker_scenarios.tracing.timeline import Moment, Stage, Timeline
from broker_scenarios.tracing.timeline_text import milliseconds
from broker_sim.control.events import RuleFired, RuleReleased, TransactionMarkerWritten, TransactionStateChanged
from broker_sim.control.group_events import numbered
from broker_sim.control.transaction_events import (
    BEGUN,
    CONTINUED,
    EXPIRED,
    FENCED,
    NO_ERROR,
    TIMED_OUT,
    producer_text,
    transaction_event_text,
    transactions_of,
)
from broker_sim.metadata.topic_names import TRANSACTION_STATE_TOPIC_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from broker_scenarios.tracing.stable_offsets import Hold
    from broker_sim.control.events import Event
    from broker_sim.control.transaction_events import TransactionEvent

__all__ = ["trace_transaction", "transaction_list"]

STATE_LANE: Final = "transaction"
NONE: Final = "no transactional id is used"
EMPTY: Final = "Empty"
OPEN: Final = "Ongoing"
PREPARE_ABORT: Final = "PrepareAbort"
PREPARED: Final = ("PrepareCommit", PREPARE_ABORT)
BEGUN_STATES: Final = (OPEN, PREPARE_ABORT, "PrepareEpochFence")
"""A transaction in one of them has begun before its next state."""
IN_TRANSACTION: Final = "in transaction"
WITHOUT_MARKER: Final = "without marker"
HELD_BACK: Final = "LSO held back"


def transaction_list(journal: Sequence[tuple[int, Event]]) -> list[str]:
    """Return one line per transactional id: the id and its number of events."""
    found = transactions_of(event for _, event in journal)
    return counted(found) if found else [NONE]


def trace_transaction(journal: Sequence[tuple[int, Event]], transactional_id: str) -> Timeline:
    """Return the timeline of a transactional id.

    Raises:
        ScenarioError: The journal has no event of that transactional id.
    """
    found = transactions_of(event for _, event in journal)
    check_known(transactional_id, found, "transactional id", "--transaction", NONE)
    own = found[transactional_id]
    start_us, end_us = own[0].time_us, max(own[-1].time_us, journal[-1][1].time_us)
    states = [event for event in own if isinstance(event, TransactionStateChanged)]
    spans = _spans(own, end_us)
    partitions = dict.fromkeys(sorted({span.partition for span in spans}, key=_by_number))
    holds = [
        hold
        for hold in holds_of(event for _, event in journal)
        if hold.partition in partitions and (hold.end_us is None or hold.end_us >= start_us)
    ]
    producers = _producers(states, end_us)
    timeline = Timeline(
        name=f"transactional id {transactional_id}",
        title=f"transactional id {transactional_id}: {_counts(states)}",
        source=_source(own, states, spans),
        took_us=end_us - start_us,
        unended="no end",
        rows_are_lanes=True,
    )
    changes = [(state.time_us, state.state) for state in states if state.state != state.previous or state is states[0]]
    timeline.stages = [*state_stages(STATE_LANE, changes, start_us, end_us)]
    timeline.stages += [_stage(one.name, "producer", one.start_us, one.end_us, start_us) for one in producers]
    timeline.lane_notes = {one.name: one.note for one in producers}
    if states:
        timeline.lane_notes[STATE_LANE] = states[-1].state
    for partition in partitions:
        for span in spans:
            if span.partition == partition:
                timeline.stages += [*span.stages(start_us)]
                timeline.lane_notes[partition] = span.outcome
        for hold in holds:
            if hold.partition == partition:
                began_us = max(hold.start_us, start_us)
                timeline.stages.append(_stage(_lane_of(hold), HELD_BACK, began_us, hold.until_us(end_us), start_us))
    timeline.lane_notes |= _hold_notes(holds, transactional_id, end_us)
    moments = [*_moments(journal, own, transactional_id, partitions)]
    moments += [_moment_of(hold, transactional_id, start_us) for hold in holds]
    add_moments(timeline, sorted(moments, key=lambda moment: moment.at_us))
    return timeline


def _by_number(partition: str) -> tuple[str, int]:
    topic, _, number = partition.rpartition("-")
    return topic, int(number)


def _counts(states: Sequence[TransactionStateChanged]) -> str:
    # A transaction without partitions is aborted without having been open (KIP-890).
    begun = sum(state.state in (OPEN, PREPARE_ABORT) and state.previous not in BEGUN_STATES for state in states)
    committed = sum(state.state == "CompleteCommit" for state in states)
    aborted = sum(state.state == "CompleteAbort" for state in states)
    return f"{begun} transactions, {committed} committed, {aborted} aborted"


def _source(own: Sequence[TransactionEvent], states: Sequence[TransactionStateChanged], spans: Sequence[_Span]) -> str:
    text = f"{len(own):,} events, the last state is {states[-1].state if states else 'unknown'}"
    missing = [span.partition for span in spans if span.outcome == WITHOUT_MARKER]
    return f"{text}; without marker: {', '.join(missing)}" if missing else text


def _stage(lane: str, name: str, start_us: int, end_us: int, zero_us: int) -> Stage:
    return Stage(lane=lane, name=name, start_us=start_us - zero_us, duration_us=end_us - start_us)


# Producers: each InitProducerId of another client begins a life, and ends the one before.


@dataclass(slots=True, kw_only=True)
class _Producer:
    name: str
    client: str
    start_us: int
    end_us: int
    note: str = ""


def _producers(states: Sequence[TransactionStateChanged], end_us: int) -> list[_Producer]:
    found: list[_Producer] = []
    present: _Producer | None = None

    def end(event: TransactionStateChanged, note: str) -> None:
        if present is not None:
            present.end_us, present.note = event.time_us, note

    for event in states:
        client = event.client_id or "a client without an id"
        if event.state == EMPTY and (event.reason == BEGUN or (event.reason == CONTINUED and present is None)):
            name = numbered(client, [one.name for one in found])
            end(event, f"fenced by {name}")
            present = _Producer(name=name, client=client, start_us=event.time_us, end_us=end_us)
            found.append(present)
        elif event.reason == FENCED:
            end(event, f"fenced by {'another ' if present and present.client == client else ''}{client}")
            present = None
        elif event.reason in (TIMED_OUT, EXPIRED):
            end(event, f"fenced: {event.reason}")
            present = None
        if present is not None:
            present.note = producer_text(event.producer_id, event.producer_epoch)
    return found


# Partitions: in a transaction until its end is decided, then without marker until it is written.


@dataclass(slots=True, kw_only=True)
class _Span:
    """A partition in one transaction; times are those of the journal."""

    partition: str
    start_us: int
    end_us: int
    decided_us: int | None = None
    outcome: str = IN_TRANSACTION

    def stages(self, zero_us: int) -> Iterator[Stage]:
        decided_us = self.end_us if self.decided_us is None else self.decided_us
        yield _stage(self.partition, IN_TRANSACTION, self.start_us, decided_us, zero_us)
        if self.decided_us is not None:
            yield _stage(self.partition, WITHOUT_MARKER, self.decided_us, self.end_us, zero_us)


def _spans(own: Sequence[TransactionEvent], end_us: int) -> list[_Span]:
    found: list[_Span] = []
    present: dict[str, _Span] = {}
    for event in own:
        if isinstance(event, TransactionMarkerWritten):
            span = present.get(f"{event.topic}-{event.partition}")
            if span is not None and span.decided_us is not None and event.error == NO_ERROR:
                del present[span.partition]
                span.end_us = event.time_us
                span.outcome = "committed" if event.committed else "aborted"
        elif isinstance(event, TransactionStateChanged):
            for partition in event.partitions.split(", ") if event.partitions else ():
                if partition not in present:
                    span = _Span(partition=partition, start_us=event.time_us, end_us=end_us)
                    found.append(span)
                    present[partition] = span
            for span in present.values():
                if event.state in PREPARED and span.decided_us is None:
                    span.decided_us, span.outcome = event.time_us, WITHOUT_MARKER
            if event.state not in (OPEN, *PREPARED):
                # Complete: a partition that is still here is deleted, or its marker is of an earlier journal.
                for span in present.values():
                    span.end_us, span.outcome = event.time_us, "complete"
                present.clear()
    return found


# Moments.


def _moments(
    journal: Sequence[tuple[int, Event]],
    own: Sequence[TransactionEvent],
    transactional_id: str,
    partitions: Iterable[str],
) -> Iterator[Moment]:
    of_the_id = set(map(id, own))
    coordination = Coordination.of(journal, TRANSACTION_STATE_TOPIC_NAME, transactional_id)
    keys = {(topic, int(index)) for topic, _, index in (name.rpartition("-") for name in partitions)}
    for _, event in journal:
        at_us = event.time_us - own[0].time_us
        if id(event) in of_the_id:
            yield Moment(at_us=at_us, text=transaction_event_text(event))  # type: ignore[arg-type]
        elif at_us >= 0:
            text = _rule_text(event) or coordination.meanwhile(event) or cluster_change(event, keys)
            if text is not None:
                yield Moment(at_us=at_us, text=text, own=False)


def _rule_text(event: Event) -> str | None:
    match event:
        case RuleFired():
            return f"rule {event.rule} fires: {event.act} {event.api}".rstrip()
        case RuleReleased():
            return f"rule {event.rule} releases {event.released} requests"
        case _:
            return None


# What holds back the last stable offset.


def _lane_of(hold: Hold) -> str:
    return f"{hold.partition} LSO"


def _hold_notes(holds: Sequence[Hold], transactional_id: str, end_us: int) -> dict[str, str]:
    """Return a note per lane: on the present hold, else on the longest one."""
    lanes: dict[str, list[Hold]] = {}
    for hold in holds:
        lanes.setdefault(_lane_of(hold), []).append(hold)
    notes = {}
    for lane, its_holds in lanes.items():
        hold = max(its_holds, key=lambda each: (each.end_us is None, each.until_us(end_us) - each.start_us))
        lasted = milliseconds(hold.until_us(end_us) - hold.start_us)
        if hold.end_us is None:
            period = f"still at {hold.offset}, for"
        else:
            period = f"at {hold.offset} for" if len(its_holds) == 1 else f"{len(its_holds)} times up to"
        notes[lane] = f"{period} {lasted}: {_holder(hold, transactional_id)}"
    return notes


def _moment_of(hold: Hold, transactional_id: str, zero_us: int) -> Moment:
    what, by = f"the last stable offset of {hold.partition}", _holder(hold, transactional_id)
    if hold.end_us is None:
        text = f"{what} stays at {hold.offset}, held back by {by}"
        return Moment(at_us=max(0, hold.start_us - zero_us), text=text)
    lasted = milliseconds(hold.end_us - hold.start_us)
    text = f"{what} moves from {hold.offset} to {hold.next_offset}, held back for {lasted} by {by}"
    return Moment(at_us=hold.end_us - zero_us, text=text)


def _holder(hold: Hold, transactional_id: str) -> str:
    if hold.producer_id is None:
        return "an unknown producer"
    if hold.transactional_id is None:
        return f"producer {hold.producer_id}, which no coordinator knows"
    whose = "this id" if hold.transactional_id == transactional_id else hold.transactional_id
    return f"a hanging transaction of {whose}" if hold.hangs else whose
