"""Short forms of operations: a history as a list of invocations with their completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_scenarios import HistoryVerdict, check_history
from broker_scenarios.operations import op_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.histories.history_verdict import JudgedFinding

K = "t-0"
Line = dict[str, Any]


class Written:
    """Collects the lines of a history; the time goes on by a millisecond with each."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.t_ms = 0.0

    def line(self, process: int, kind: str, f: str, mops: list[Any], **others: Any) -> None:
        """Add one line."""
        self.t_ms += 1
        self.lines.append({"process": process, "type": kind, "f": f, "mops": mops, "t_ms": self.t_ms, **others})

    def send(self, process: int, value: int, offset: int | None = None, *, kind: str = "ok", key: str = K) -> None:
        """A send with its completion; kind `open` has none."""
        self.line(process, "invoke", "send", [["send", key, value]])
        if kind != "open":
            result = value if offset is None else [offset, value]
            self.line(process, kind, "send", [["send", key, result]])

    def poll(self, process: int, *pairs: tuple[int, int], kind: str = "ok", key: str = K, **others: Any) -> None:
        """A poll with its completion."""
        self.line(
            process,
            "invoke",
            "poll",
            [["poll"]],
            **{k: v for k, v in others.items() if k in {"final", "assigned", "group"}},
        )
        self.line(process, kind, "poll", [["poll", {key: [list(pair) for pair in pairs]}]], **others)

    def final(self, process: int, *pairs: tuple[int, int], key: str = K) -> None:
        """A final poll of a fresh client."""
        self.poll(process, *pairs, key=key, final=True, assigned=[key])

    def assign(self, process: int, *keys: str, seek: Mapping[str, Any] | None = None) -> None:
        """An assignment."""
        mops: list[Any] = [["assign", list(keys)], *([["seek", dict(seek)]] if seek else [])]
        self.line(process, "invoke", "assign", mops)
        self.line(process, "ok", "assign", mops)

    def subscribe(self, process: int, group: str | None = None) -> None:
        """A subscription."""
        for kind in ("invoke", "ok"):
            self.line(process, kind, "subscribe", [["subscribe", ["t"]]], **({"group": group} if group else {}))

    def call(self, process: int, f: str, kind: str = "ok") -> None:
        """Another call."""
        self.line(process, "invoke", f, [])
        self.line(process, kind, f, [])

    def txn(self, process: int, invoked: list[Any], result: list[Any] | None = None, *, kind: str = "ok") -> None:
        """A transaction."""
        self.line(process, "invoke", "txn", invoked)
        self.line(process, kind, "txn", invoked if result is None else result)


def judge(
    written: Written, promises: Mapping[str, Any] | None = None, logs: Mapping[str, Sequence[Any]] | None = None
) -> HistoryVerdict:
    """Judge through the written form, as the command does."""
    ops = [op_from_json({"i": place, **line}, f"line {place}") for place, line in enumerate(written.lines)]
    known = {key: [_record(*record) for record in records] for key, records in (logs or {}).items()}
    return check_history(ops, promises or {}, known)


def _record(offset: int, value: int, state: str = "committed") -> list[Any]:
    return [offset, value] if state == "committed" else [offset, value, {"state": state}]


def found(verdict: HistoryVerdict) -> dict[str, list[Any]]:
    """The findings that break a promise: name -> values, or their number."""
    return _named([each for each in verdict.findings if each.allowed is None])


def permitted(verdict: HistoryVerdict) -> dict[str, list[Any]]:
    """The findings that are permitted."""
    return _named([each for each in verdict.findings if each.allowed is not None])


def _named(findings: Sequence[JudgedFinding]) -> dict[str, list[Any]]:
    names: dict[str, list[JudgedFinding]] = {}
    for finding in findings:
        names.setdefault(finding.name, []).append(finding)
    return {
        name: list(dict.fromkeys(value for each in some for value in each.values)) or [len(some)]
        for name, some in names.items()
    }
