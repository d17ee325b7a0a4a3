"""realtime-lag: a poll is further behind its partition than `max.realtime-lag.ms` claims.

`expired[i]` is the earliest time at which an operation showed that an offset of at least i exists. A poll that began
at t and whose process has read up to o lags by at least t - expired[o + 1]. A partition that is newly assigned starts
at -1; under subscribe only partitions that were read count. Final polls begin with the oldest records, so that their
lag means nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.history import EventType
from broker_scenarios.operations import Assign, Function, Seek

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.calls import Call
    from broker_scenarios.checks.whole_history import WholeHistory

__all__ = ["lags", "realtime_lags"]


class _Expiry:
    """The times at which the ends of a partition were known, both ascending."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.times_us: list[int] = []

    def add(self, offset: int, time_us: int) -> None:
        if not self.offsets or offset > self.offsets[-1]:
            self.offsets.append(offset)
            self.times_us.append(time_us)

    def of(self, offset: int) -> int | None:
        place = bisect_left(self.offsets, offset)
        return self.times_us[place] if place < len(self.offsets) else None


def realtime_lags(history: WholeHistory) -> Iterator[Finding]:
    """Find polls behind the claim; one finding per poll and partition."""
    limit_us = history.limits.realtime_lag_us
    if limit_us is None:
        return
    for call, key, lag_us in lags(history):
        if lag_us > limit_us:
            detail = f"a poll of process {call.process} lags {lag_us / 1000:g} ms behind {key}"
            yield history.finding(FindingKind.REALTIME_LAG, key, [call], detail)


def lags(history: WholeHistory) -> Iterator[tuple[Call, str, int]]:
    """Return the lag of each ok poll in each partition of its process, in microseconds."""
    expired = _expiries(history)
    for calls in history.by_process().values():
        places: dict[str, int] = {}
        for call in calls:
            if call.f in (Function.ASSIGN, Function.SUBSCRIBE):
                places = _assigned(call, places) if call.ok else places
                continue
            if not call.ok or call.f not in (Function.POLL, Function.TXN):
                continue
            for key, pairs in call.polls:
                for offset, _ in pairs:
                    places[key] = max(places.get(key, -1), offset)
            if call.details is not None and call.details.final:
                continue
            for key, place in places.items():
                since_us = expired[key].of(place + 1) if key in expired else None
                yield call, key, 0 if since_us is None else max(0, call.invoked_us - since_us)


def _assigned(call: Call, places: dict[str, int]) -> dict[str, int]:
    assigned: dict[str, int] = {}
    if call.f is Function.ASSIGN and call.details is not None:
        for mop in call.details.mops:
            if isinstance(mop, Assign):
                assigned = {key: places.get(key, -1) for key in mop.keys}
            elif isinstance(mop, Seek):
                for key, to in mop.positions.items():
                    if isinstance(to, int):
                        assigned[key] = to - 1
                    elif to == "beginning":
                        assigned[key] = -1
                    else:
                        assigned.pop(key, None)
    return assigned


def _expiries(history: WholeHistory) -> dict[str, _Expiry]:
    expired: dict[str, _Expiry] = {}
    completed = [call for call in history.calls if call.type is not EventType.INVOKE]
    for call in sorted(completed, key=lambda call: call.completed_us):
        for send in call.sends:
            if send.committed and send.ack_offset >= 0:
                expired.setdefault(send.key, _Expiry()).add(send.ack_offset, call.completed_us)
        for key, pairs in call.polls:
            if pairs:
                expired.setdefault(key, _Expiry()).add(max(offset for offset, _ in pairs), call.completed_us)
    return expired
