"""Judges the entries of a ledger: builds the history, the logs and the promises that `broker-sim check` judges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_scenarios.explanations import Explainer
from broker_scenarios.histories.judge import BrokerEvidence, check_history
from broker_scenarios.history import NO_OFFSET, EventType
from broker_scenarios.journal_view import JournalView
from broker_scenarios.ledger.identities import ContentNames, Identities
from broker_scenarios.ledger.journal_lines import JournalLines
from broker_scenarios.ledger.ledger_verdict import LedgerVerdict
from broker_scenarios.operations import Function, Op, Poll, Send
from broker_scenarios.promises import ACKS_ALL
from broker_scenarios.truth import Truth, read_truth
from broker_sim.cluster_waits import wait_until
from broker_sim.control.events import LeaderElected
from sim_runtime.deadlines import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from twisted.internet.defer import Deferred

    from broker_scenarios.ledger.book import LedgerBook, SentRecord
    from broker_scenarios.ledger.identities import StoredPlace
    from broker_scenarios.operations import Mop, Value
    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event

__all__ = ["BrokerState", "judge_book", "read_brokers", "wait_until_replicated"]

_READER: Final = "all consumers"
"""The process of the final poll."""
_OTHERS: Final = "other producers"


class BrokerState(NamedTuple):
    """The logs and the journal of a ledger's topics."""

    truth: Truth
    names: ContentNames
    numbered: list[tuple[int, Event]]
    partitions: dict[str, int]
    started_us: int
    now_us: int


def wait_until_replicated(cluster: Cluster, topics: Collection[str], timeout_ms: float) -> Deferred[object]:
    """Wait until consumers can read all that the leaders hold; also fires after `timeout_ms`, in its thread."""

    def replicated() -> bool | None:
        for topic in topics:
            for partition in range(cluster.partition_counts[topic]):
                leader = cluster.leader_of(topic, partition)
                log = None if leader is None else cluster.log_of(leader, topic, partition)
                if log is None or log.high_watermark < log.log_end_offset:
                    return None
        return True

    # The verdict names the partitions that are behind.
    found: Deferred[object] = wait_until(
        cluster, replicated, awaited=lambda: "high watermarks at the log ends", timeout_ms=timeout_ms
    )
    return found.addErrback(lambda failure: failure.trap(DeadlineExceeded))


def read_brokers(cluster: Cluster, topics: tuple[str, ...]) -> BrokerState:
    """Read logs and journal, in the cluster's thread."""
    names = ContentNames()
    return BrokerState(
        read_truth(cluster, topics, names.of_record),
        names,
        list(cluster.journal.numbered()),
        {topic: cluster.partition_counts[topic] for topic in topics},
        cluster.started_us,
        cluster.journal.now_us(),
    )


def judge_book(
    book: LedgerBook,
    brokers: BrokerState,
    promises: Mapping[str, Any],
    *,
    all_delivered: bool,
    other_producers: bool,
) -> LedgerVerdict:
    """Judge a book. Raises ScenarioError for promises that cannot be used."""
    return _Judgement(book, brokers).verdict(
        promises, all_delivered=all_delivered, other_producers=other_producers or not book.sends
    )


class _Judgement:
    """One judgement of a book."""

    def __init__(self, book: LedgerBook, brokers: BrokerState) -> None:
        self._book = book
        self._brokers = brokers
        truth = brokers.truth
        held = {(each.topic, each.partition, each.offset): str(each.value_id) for each in truth.stored}
        held |= {(each.topic, each.partition, each.offset): str(each.value_id) for each in truth.uncommitted}
        cut = [((each.topic, each.partition, each.offset), str(each.value_id)) for each in truth.truncated]
        self._identities = Identities(book.sends, brokers.names, held, cut)
        self._truncated = [
            each._replace(value_id=self._identities.of_truncated(place, contents))
            for each, (place, contents) in zip(truth.truncated, cut, strict=True)
        ]

    def verdict(self, given: Mapping[str, Any], *, all_delivered: bool, other_producers: bool) -> LedgerVerdict:
        operations = self._operations(all_delivered=all_delivered, other_producers=other_producers)
        truth, names = self._brokers.truth, self._identities.stored
        states = {(each.topic, each.partition, each.offset): each.state for each in truth.uncommitted}
        logs: dict[str, list[list[Any]]] = {f"{topic}-{partition}": [] for topic, partition in truth.log_starts}
        for place in sorted(names):
            state = states.get(place)
            logs[f"{place[0]}-{place[1]}"].append([place[2], names[place], *([{"state": state}] if state else [])])
        promises = {
            **given,
            "topics": self._brokers.partitions,
            "log_start": {f"{place[0]}-{place[1]}": start for place, start in truth.log_starts.items()},
            "faults": [*given.get("faults", ()), *self._faults()],
        }
        journal = [event for _, event in self._brokers.numbered]
        explainer = Explainer(
            journal=JournalView.of(journal),
            truncated=self._truncated,
            acks_of=lambda _: ACKS_ALL,
            start_us=self._brokers.started_us,
            log_starts=truth.log_starts,
            uncommitted={names[place]: state for place, state in states.items()},
        )
        caveats = list(truth.caveats)
        if not any(each.type is EventType.OK for each in operations):
            caveats.append("no record was acknowledged or consumed: nothing was tested")
        evidence = BrokerEvidence(truncated=self._truncated, explainer=explainer, caveats=caveats)
        return LedgerVerdict(
            judged=check_history(operations, promises, logs, evidence),
            operations=operations,
            promises=promises,
            logs=logs,
            places=self._places(),
            journal=JournalLines(self._brokers.numbered),
        )

    def _faults(self) -> Iterator[dict[str, Any]]:
        """The changes of leaders: after one, the promises may permit a loss."""
        for _, event in self._brokers.numbered:
            if isinstance(event, LeaderElected) and event.previous_leader >= 0 and event.topic in self._book.topics:
                at_ms = event.time_us / 1000
                kind = "unclean-election" if event.unclean else "leader-move"
                yield {"kind": kind, "key": f"{event.topic}-{event.partition}", "from_ms": at_ms, "to_ms": at_ms}

    def _places(self) -> dict[Value, list[StoredPlace]]:
        places: dict[Value, list[StoredPlace]] = {}
        for place, name in self._identities.stored.items():
            places.setdefault(name, []).append(place)
        for cut in self._truncated:
            places.setdefault(cut.value_id, []).append((cut.topic, cut.partition, cut.offset))
        for send in self._book.sends:
            if (acked := send.acked_place) is not None:
                places.setdefault(self._identities.name_of[send], []).append(acked)
        return places

    # The history

    def _operations(self, *, all_delivered: bool, other_producers: bool) -> list[Op]:
        lines = [*self._sends(), *self._transactions(), *self._reads()]
        if other_producers:
            lines += self._unsent()
        lines.sort(key=lambda line: line[0])
        ops = [op for _, op in lines]
        consumed = self._book.consumed_topics() if all_delivered else ()
        if consumed:
            partitions = self._brokers.partitions.items()
            keys = tuple(
                f"{topic}-{partition}" for topic, count in partitions if topic in consumed for partition in range(count)
            )
            ops += self._call(_READER, Function.POLL, self._brokers.now_us, [Poll()], [Poll({})], keys)
        return [replace(op, index=index) for index, op in enumerate(ops)]

    def _sends(self) -> Iterator[tuple[int, Op]]:
        for send in self._book.sends:
            if send.transaction is None:
                yield send.order, self._op(send.producer, Function.SEND, send.time_us, [self._mop(send)])
                for each in send.completions:
                    ok = each.type is EventType.OK
                    mops: list[Mop] = [self._mop(send, send.offset if ok else NO_OFFSET)]
                    op = self._op(send.producer, Function.SEND, each.time_us, mops, each.type, each.error)
                    yield each.order, op

    def _transactions(self) -> Iterator[tuple[int, Op]]:
        for each in self._book.transactions:
            invoked: list[Mop] = [self._mop(send) for send in each.records]
            yield each.order, self._op(each.producer, Function.TXN, each.time_us, invoked)
            if each.end is not None:
                results: list[Mop] = [self._mop(send, send.offset) for send in each.records]
                end = each.end
                yield end.order, self._op(each.producer, Function.TXN, end.time_us, results, end.type, end.error)

    def _reads(self) -> Iterator[tuple[int, Op]]:
        for call in self._book.calls:
            invoked, completed = self._call(call.consumer, call.f, call.time_us, call.mops, call.mops)
            yield call.order, invoked
            yield call.order, completed
        for poll in self._book.polls:
            records: dict[str, list[tuple[int, Value]]] = {}
            for topic, partition, offset, contents in poll.records:
                name = self._identities.of_polled((topic, partition, offset), contents)
                records.setdefault(f"{topic}-{partition}", []).append((offset, name))
            invoked, completed = self._call(poll.consumer, Function.POLL, poll.time_us, [Poll()], [Poll(records)])
            yield poll.order, replace(invoked, group=poll.group)
            yield poll.order, replace(completed, group=poll.group)

    def _unsent(self) -> Iterator[tuple[int, Op]]:
        """The sends of producers that the ledger does not follow, as the logs have them."""
        started_us = self._brokers.started_us
        for topic, partition, offset in self._identities.unsent:
            name = self._identities.stored[topic, partition, offset]
            key = f"{topic}-{partition}"
            yield 0, self._op(_OTHERS, Function.SEND, started_us, [Send(key, name)])
            yield 0, self._op(_OTHERS, Function.SEND, started_us, [Send(key, name, offset)], EventType.OK)

    def _mop(self, send: SentRecord, offset: int = NO_OFFSET) -> Send:
        return Send(self._identities.key_of(send), self._identities.name_of[send], offset)

    def _call(
        self,
        process: str,
        f: Function,
        time_us: int,
        invoked: list[Mop],
        results: list[Mop],
        final: tuple[str, ...] = (),
    ) -> tuple[Op, Op]:
        ops = (self._op(process, f, time_us, invoked), self._op(process, f, time_us, results, EventType.OK))
        return (replace(ops[0], final=True, assigned=final), replace(ops[1], final=True)) if final else ops

    def _op(
        self,
        process: str,
        f: Function,
        time_us: int,
        mops: list[Mop],
        type_: EventType = EventType.INVOKE,
        error: str | None = None,
    ) -> Op:
        time_ms = time_us / 1000
        return Op(index=0, process=process, type=type_, f=f, time_ms=time_ms, mops=mops, error=error)
