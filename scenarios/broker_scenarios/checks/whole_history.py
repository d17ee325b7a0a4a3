"""A whole history of the neutral form, with the logs of its partitions: the input of every check of a wider scope."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from broker_scenarios.findings import Cause, Finding, FindingKind
from broker_scenarios.history import EventType
from broker_scenarios.operations import Assign, Function, Seek, Subscribe, split_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from broker_scenarios.checks.analysis import Analysis
    from broker_scenarios.checks.calls import Call, Send
    from broker_scenarios.operations import Process, Value

__all__ = ["Limits", "StableOffset", "WholeHistory", "forgotten_keys", "is_read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of the checks over time, in microseconds. None: not claimed, hence not checked."""

    transaction_timeout_us: int = 60_000_000
    liveness_deadline_us: int | None = None
    realtime_lag_us: int | None = None
    last_fault_us: int | None = None
    """The end of the last fault; None if there was none."""
    healthy: Sequence[str] | None = None
    """The partitions that liveness covers; None for all that the history names."""


class StableOffset(NamedTuple):
    """A leader's offsets after its high watermark has moved."""

    key: str
    at_us: int
    last_stable_offset: int
    high_watermark: int


@dataclass(slots=True, kw_only=True)
class WholeHistory:
    """Calls in the order of their invocation, and partitions by their key."""

    calls: list[Call]
    analyses: dict[str, Analysis]
    start_us: int
    end_us: int
    limits: Limits = field(default_factory=Limits)
    message_keys: Mapping[str, str] = field(default_factory=dict)
    """The message key of each value (as text), where it is known."""
    stable_offsets: Sequence[StableOffset] = ()
    """The offsets of leaders in the order of their times, where the brokers' journal is known."""
    _by_process: dict[Process, list[Call]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for call in self.calls:
            if call.type is EventType.INFO:
                call.proven = any(is_read(self, send) for send in call.sends)

    def by_process(self) -> dict[Process, list[Call]]:
        """Return the completed calls of each process, in the order of invocation."""
        if not self._by_process:
            for call in self.calls:
                if call.type is not EventType.INVOKE:
                    self._by_process.setdefault(call.process, []).append(call)
        return self._by_process

    def finding(
        self,
        kind: FindingKind,
        key: str,
        calls: Iterable[Call],
        detail: str,
        *,
        values: tuple[Value, ...] = (),
        cause: Cause = Cause.UNEXPLAINED,
    ) -> Finding:
        """A finding about operations; `key` is the partition, empty if there are several."""
        topic, partition = split_key(key) if key else ("", -1)
        named = list(calls)
        return Finding(
            kind=kind,
            topic=topic,
            partition=partition,
            value_id=values[0] if values else -1,
            process=named[0].process if named else -1,
            detail=detail,
            values=values,
            ops=tuple(dict.fromkeys(call.name_index for call in named)),
            cause=cause,
        )


def is_read(history: WholeHistory, send: Send) -> bool:
    """True if an ok poll returned the value of a send."""
    return send.value_id in history.analyses[send.key].readers


def forgotten_keys(call: Call, keys: Iterable[str]) -> list[str]:
    """Return those of the keys whose position a consumer does not keep through an assign or subscribe."""
    if call.f not in (Function.ASSIGN, Function.SUBSCRIBE) or call.type is EventType.FAIL or call.details is None:
        return []
    kept: dict[str, None] = {}
    topics: dict[str, None] = {}
    sought: dict[str, None] = {}
    for mop in call.details.mops:
        if isinstance(mop, Assign):
            kept.update(dict.fromkeys(mop.keys))
        elif isinstance(mop, Subscribe):
            topics.update(dict.fromkeys(mop.topics))
        elif isinstance(mop, Seek):
            sought.update(dict.fromkeys(mop.positions))
    return [key for key in keys if key in sought or not (key in kept or split_key(key)[0] in topics)]
