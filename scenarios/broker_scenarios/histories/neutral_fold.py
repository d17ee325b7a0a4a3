"""Folds the operations of a history of the neutral form, one after another, into calls and partitions.

The fold is where the rules of the form are checked that concern several lines: each completion has an invocation, and
a process runs one operation at a time. While sends are open it may send, flush, close and crash, and the client may
commit by itself during a call of its consumer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_scenarios.checks.analysis import Analysis
from broker_scenarios.checks.calls import OUTCOME_OF, Call, Send
from broker_scenarios.checks.whole_history import WholeHistory
from broker_scenarios.errors import HistoryError
from broker_scenarios.history import EventType
from broker_scenarios.operations import Assign, Function, Op, Poll, Seek, Subscribe, split_key
from broker_scenarios.operations import Send as SendMop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.histories.circumstances import Circumstances
    from broker_scenarios.operations import Process, Value

__all__ = ["NeutralFold"]

_Sent: TypeAlias = "tuple[tuple[str, Value], ...]"
"""The partition and the value of each record of a send."""
_OVER_OPEN_SENDS: Final = (Function.SEND, Function.FLUSH, Function.CLOSE)
_ENDS_SENDS: Final = (Function.FLUSH, Function.CLOSE)
_AROUND_AUTO_COMMITS: Final = (
    Function.POLL, Function.TXN, Function.ASSIGN, Function.SUBSCRIBE, Function.CLOSE,
)  # fmt: skip
_SENDING: Final = (Function.SEND, Function.TXN)
_DETAILED: Final = (Function.ASSIGN, Function.SUBSCRIBE, Function.COMMIT)


class _Process:
    """The open calls of a process in the order of their invocation, and how many records it has sent."""

    __slots__ = ("invoked", "late", "others", "sends", "sends_of")

    def __init__(self) -> None:
        self.sends: dict[Call, None] = {}
        self.others: dict[Call, None] = {}
        """The open calls that are no sends."""
        self.late: dict[Call, None] = {}
        """Sends that were still open when a flush or close had ended."""
        self.sends_of: dict[_Sent, dict[Call, None]] = {}
        """The open and the late sends by their records: an asynchronous client has thousands open."""
        self.invoked = 0

    def begin(self, call: Call) -> None:
        """Add an open call."""
        if call.f is Function.SEND:
            self.sends[call] = None
            self.sends_of.setdefault(_sent_by(call), {})[call] = None
        else:
            self.others[call] = None

    def end(self, call: Call) -> None:
        """Remove a call that is complete."""
        for calls in (self.sends, self.late, self.others):
            calls.pop(call, None)
        if call.f is Function.SEND:
            self._forget(call)

    def crash(self) -> None:
        """End all open calls: no outcome is to come."""
        for call in (*self.sends, *self.others):
            call.crashed = True
        for call in self.sends:
            self._forget(call)
        self.sends.clear()
        self.others.clear()

    def first_of(self, f: Function) -> Call | None:
        """Return the open call of a function that was invoked first."""
        calls = (*self.sends, *self.late) if f is Function.SEND else self.others
        return next((call for call in calls if call.f is f), None)

    def first_with(self, sent: _Sent) -> Call | None:
        """Return the open send of these records that was invoked first, else a late one."""
        calls = self.sends_of.get(sent)
        if not calls:
            return None
        return next((call for call in calls if call in self.sends), next(iter(calls)))

    def _forget(self, call: Call) -> None:
        sent = _sent_by(call)
        calls = self.sends_of[sent]
        del calls[call]
        if not calls:
            del self.sends_of[sent]


def _sent_by(call: Call) -> _Sent:
    return tuple((send.key, send.value_id) for send in call.sends)


def _not_open(process: _Process, op: Op) -> str:
    """The reason why an operation completes nothing; a send is completed by a line with its own records."""
    call = process.first_of(op.f)
    if call is None:
        return f"process {op.process!r} has no open {op.f.value} to complete"
    sent, completed = (
        ", ".join(f"{value!r} to {key}" for key, value in records)
        for records in (_sent_by(call), [(mop.key, mop.value) for mop in op.mops if isinstance(mop, SendMop)])
    )
    open_call = f"that of i={call.index} is of {sent}"
    return f"process {op.process!r} has no open {op.f.value} to complete with {completed}: {open_call}"


class NeutralFold:
    """Takes operations in the order of the history.

    `partitions` counts those of each topic; None accepts any key. Without `one_at_a_time` the calls of a process may
    overlap, as those of an asynchronous client do.
    """

    def __init__(self, partitions: Mapping[str, int] | None = None, *, one_at_a_time: bool = True) -> None:
        self._one_at_a_time = one_at_a_time
        self.calls: list[Call] = []
        self.analyses: dict[str, Analysis] = {}
        self.start_us = 0
        self.end_us = 0
        self._lines = 0
        self._partitions = partitions
        self._processes: dict[Process, _Process] = {}

    def add(self, op: Op, where: str) -> None:
        """Fold one operation.

        Raises:
            HistoryError: it does not fit those before it; `where` begins the message.
        """
        now_us = round(op.time_ms * 1000)
        self._lines += 1
        self._check_names(op, where)
        if not self.calls:
            self.start_us = self.end_us = now_us
        self.start_us, self.end_us = min(self.start_us, now_us), max(self.end_us, now_us)
        process = self._processes.get(op.process)
        if process is None:
            process = self._processes[op.process] = _Process()
        if op.type is EventType.INVOKE:
            self._invoke(process, op, now_us, where)
        else:
            self._complete(process, op, now_us, where)

    def analysis_of(self, key: str, where: str, name: str = "mops") -> Analysis:
        """Return the partition of a key; a new key is compared with the promised topics."""
        analysis = self.analyses.get(key)
        if analysis is None:
            topic, partition = split_key(key)
            if self._partitions is not None and partition >= self._partitions.get(topic, 0):
                there = ", ".join(f"{name} ({count})" for name, count in self._partitions.items()) or "none"
                raise HistoryError(f"{where}: {name!r}: {key!r} is not among the promised topics: {there}")
            analysis = self.analyses[key] = Analysis(topic=topic, partition=partition, log_known=False)
        return analysis

    def _check_names(self, op: Op, where: str) -> None:
        """Compare the partitions and topics outside of sends and polls with the promised topics."""
        for name in ("assigned", "rebalanced"):
            for key in getattr(op, name):
                self.analysis_of(key, where, name)
        for key in op.offsets or ():
            self.analysis_of(key, where, "offsets")
        for mop in op.mops:
            if isinstance(mop, SendMop | Poll):
                continue
            if isinstance(mop, Subscribe):
                for topic in mop.topics:
                    if self._partitions is not None and topic not in self._partitions:
                        there = ", ".join(self._partitions) or "none"
                        raise HistoryError(f"{where}: 'mops': {topic!r} is not among the promised topics: {there}")
            else:
                keys = mop.keys if isinstance(mop, Assign) else mop.positions if isinstance(mop, Seek) else mop.offsets
                for key in keys:
                    self.analysis_of(key, where)

    def whole(self, circumstances: Circumstances) -> WholeHistory:
        """Return the history once all operations and logs were added."""
        for key, analysis in self.analyses.items():
            analysis.log_start = circumstances.log_start.get(key, analysis.log_start)
            analysis.overdue_us = self.end_us - circumstances.delivery_timeout_us
        for call in self.calls:
            if call.details is not None and call.details.final and call.ok:
                for key in call.details.assigned or [key for key, _ in call.polls]:
                    analysis = self.analyses[key]
                    analysis.finally_polled, analysis.final_poll_us = True, call.invoked_us
        return WholeHistory(
            calls=self.calls,
            analyses=self.analyses,
            start_us=self.start_us,
            end_us=self.end_us,
            limits=circumstances.limits,
            message_keys=circumstances.message_keys,
        )

    # Invocations

    def _invoke(self, process: _Process, op: Op, now_us: int, where: str) -> None:
        if self._one_at_a_time and (process.sends or process.others):
            self._check_overlap(process, op, where)
        call = Call(
            number=len(self.calls),
            invoked_at=self._lines,
            process=op.process,
            f=op.f,
            index=op.index,
            invoked_us=now_us,
            group=op.group,
        )
        self.calls.append(call)
        self._add_details(call, op)
        if op.f in _SENDING:
            for mop in op.mops:
                if isinstance(mop, SendMop):
                    self._send(process, call, mop, where)
        elif op.f is Function.CRASH:
            process.crash()
        process.begin(call)

    def _check_overlap(self, process: _Process, op: Op, where: str) -> None:
        if op.f is Function.CRASH:
            return
        auto_commit = op.f is Function.COMMIT and op.auto
        around: list[Call] = []
        if op.f not in _OVER_OPEN_SENDS and not auto_commit:
            around += list(process.sends)[:1]
        around += [call for call in process.others if not (auto_commit and call.f in _AROUND_AUTO_COMMITS)]
        if around:
            call = min(around, key=lambda each: each.number)
            open_call = f"its {call.f.value} of i={call.index} is open"
            raise HistoryError(f"{where}: 'f': process {op.process} invokes {op.f.value} while {open_call}")

    def _send(self, process: _Process, call: Call, mop: SendMop, where: str) -> Send:
        analysis = self.analysis_of(mop.key, where)
        send = Send(
            process=call.process,
            index=process.invoked,
            value_id=mop.value,
            invoke_us=call.invoked_us,
            call=call,
            key=analysis.key,
        )
        process.invoked += 1
        if isinstance(call.sends, list):
            call.sends.append(send)
        else:
            call.sends = [send]
        analysis.sends.append(send)
        analysis.sends_of.setdefault(mop.value, []).append(send)
        return send

    def _add_details(self, call: Call, op: Op) -> None:
        """Keep a line with more than sends and polls; both lines of a call may have a part of it."""
        before = call.details
        if before is None:
            if op.f in _DETAILED or op.final or op.assigned or op.auto or op.rebalanced or op.offsets:
                call.details = op
            return
        call.details = replace(
            op,
            mops=op.mops or before.mops,
            final=op.final or before.final,
            assigned=op.assigned or before.assigned,
            auto=op.auto or before.auto,
            rebalanced=op.rebalanced or before.rebalanced,
            offsets=op.offsets or before.offsets,
        )

    # Completions

    def _complete(self, process: _Process, op: Op, now_us: int, where: str) -> None:
        call = self._open_call(process, op)
        if call is None:
            if not self._completes_again(op):
                raise HistoryError(f"{where}: 'type': {_not_open(process, op)}")
            return
        process.end(call)
        if op.f in _ENDS_SENDS:
            for each in [each for each in process.sends if each.invoked_at < call.invoked_at]:
                each.overdue = each.overdue or op.type is EventType.OK
                del process.sends[each]
                process.late[each] = None
        call.type, call.completion_index = op.type, op.index
        call.completed_us, call.completed_at = now_us, self._lines
        if op.group is not None:
            call.group = op.group
        self._add_details(call, op)
        if op.f in _SENDING:
            self._complete_sends(process, call, op, where)
        for mop in op.mops:
            if isinstance(mop, Poll) and mop.records:
                for key, pairs in mop.records.items():
                    self._polled(call, key, pairs, where)

    def _open_call(self, process: _Process, op: Op) -> Call | None:
        sent = tuple((mop.key, mop.value) for mop in op.mops if isinstance(mop, SendMop))
        return process.first_with(sent) if op.f is Function.SEND and sent else process.first_of(op.f)

    def _completes_again(self, op: Op) -> bool:
        """Record a second completion of sends; False if it is none."""
        sent = [mop for mop in op.mops if isinstance(mop, SendMop)]
        before: list[Send] = []
        for mop in sent:
            analysis = self.analyses.get(mop.key)
            sends = () if analysis is None else analysis.sends_of.get(mop.value, ())
            before += [
                send
                for send in sends
                if send.process == op.process and send.completions and send.call is not None and send.call.f is op.f
            ][-1:]
        if not sent or len(before) < len(sent):
            return False
        for send in before:
            send.completions = (*send.completions, op.type)
        return True

    def _complete_sends(self, process: _Process, call: Call, op: Op, where: str) -> None:
        outcome = OUTCOME_OF[op.type]
        waiting = list(call.sends)
        for mop in op.mops:
            if isinstance(mop, SendMop):
                send = next((each for each in waiting if each.value_id == mop.value and each.key == mop.key), None)
                if send is None:
                    send = self._send(process, call, mop, where)
                else:
                    waiting.remove(send)
                send.ack_offset = mop.offset
        for send in call.sends:
            send.outcome = outcome
            send.completions = _ONCE[op.type]
            send.complete_us = call.completed_us
            send.error = op.error

    def _polled(self, call: Call, key: str, pairs: list[tuple[int, Value]], where: str) -> None:
        analysis = self.analysis_of(key, where)
        if isinstance(call.polls, list):
            call.polls.append((key, pairs))
        else:
            call.polls = [(key, pairs)]
        polled, readers, is_ok = analysis.polled, analysis.readers, call.type is EventType.OK
        for offset, value in pairs:
            offsets = polled.get(value)
            if offsets is None:
                polled[value] = [offset]
            elif offset not in offsets:
                offsets.append(offset)
            if is_ok and value not in readers:
                readers[value] = call


_ONCE: Final = {event: (event,) for event in EventType}
