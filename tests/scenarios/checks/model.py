"""A small model of Kafka that writes its own history: nothing that it does breaks its promises.

Partitions with control records, producers with every outcome, transactions, consumers by assignment and in a group with
rebalances and commits, a leader crash that loses a tail under acks=1, retention, and final polls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker_scenarios.operations import PolledOffsets
from tests.scenarios.checks.neutral_histories import Book

if TYPE_CHECKING:
    from random import Random

KEYS = ("x-0", "x-1", "y-0")
TOPICS = {"x": 2, "y": 1}
GROUP = (20, 21)
ASSIGNED = (10, 11, 12)


@dataclass
class Stored:
    """One record of a log; a control record has no value."""

    offset: int
    value: int | None
    state: str = "committed"

    def as_json(self) -> list[Any]:
        if self.value is None:
            return [self.offset, None, {"control": "commit"}]
        return [self.offset, self.value, *([] if self.state == "committed" else [{"state": self.state}])]


@dataclass
class Model:
    """One history in the making. `values` are unique; a process of unknown outcome is replaced by a fresh one."""

    random: Random
    idempotent: bool = True
    acks: int | str = "all"
    read_committed: bool = True
    book: Book = field(default_factory=Book)
    logs: dict[str, list[Stored]] = field(default_factory=lambda: {key: [] for key in KEYS})
    positions: dict[int, dict[str, int]] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)
    log_start: dict[str, int] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    without_offset: dict[int | None, None] = field(default_factory=dict)
    """What retention may not delete: that a record was below its start shows by the offset alone."""
    read_up_to: dict[str, int] = field(default_factory=dict)
    sent: int = 0
    processes: int = 100

    # Producers

    def new_value(self) -> int:
        self.sent += 1
        return self.sent

    def fresh_process(self) -> int:
        self.processes += 1
        return self.processes

    def end_of(self, key: str) -> int:
        log = self.logs[key]
        return log[-1].offset + 1 if log else self.log_start.get(key, 0)

    def append(self, key: str, value: int | None, state: str = "committed") -> int:
        offset = self.end_of(key)
        self.logs[key].append(Stored(offset, value, state))
        return offset

    def send(self) -> None:
        key, value = self.random.choice(KEYS), self.new_value()
        ended = self.random.choice(("ok", "ok", "ok", "no offset", "stored", "lost", "fail", "doubled"))
        if ended == "doubled" and self.idempotent:
            ended = "ok"
        offset = self.append(key, value) if ended in {"ok", "no offset", "stored", "doubled"} else -1
        if ended == "doubled":
            offset = self.append(key, value)
        if ended in {"stored", "lost"}:
            self.book.send(self.fresh_process(), (key, value), end="info")
        elif ended == "fail":
            self.book.send(self.random.randrange(3), (key, value), end="fail")
        else:
            if ended == "no offset":
                self.without_offset[value] = None
            self.book.send(self.random.randrange(3), (key, value, -1 if ended == "no offset" else offset))

    def resend(self) -> None:
        """The application sends a value again whose outcome it does not know."""
        key, value = self.random.choice(KEYS), self.new_value()
        if self.random.random() < 0.5:
            self.append(key, value)
        self.book.send(self.fresh_process(), (key, value), end="info")
        self.book.send(self.fresh_process(), (key, value, self.append(key, value)))

    def transaction(self) -> None:
        ended = self.random.choice(("ok", "ok", "fail", "info committed", "info aborted"))
        state = "committed" if ended in {"ok", "info committed"} else "aborted"
        sends = [(self.random.choice(KEYS), self.new_value()) for _ in range(self.random.randint(1, 4))]
        placed = [(key, value, self.append(key, value, state)) for key, value in sends]
        for key in dict.fromkeys(key for key, _ in sends):
            self.append(key, None)
        self.book.txn(self.fresh_process(), *placed, end=ended.split()[0])

    # Consumers

    def readable(self, key: str, position: int) -> list[tuple[int, int | str]]:
        return [
            (each.offset, each.value)
            for each in self.logs[key]
            if each.offset >= position
            and each.value is not None
            and (each.state == "committed" or not self.read_committed)
        ]

    def assign(self) -> None:
        process = self.random.choice(ASSIGNED)
        keys = self.random.sample(KEYS, self.random.randint(1, 3))
        before = self.positions.get(process, {})
        self.positions[process] = {key: before.get(key, self.log_start.get(key, 0)) for key in keys}
        seek: dict[str, int | str] = {key: "beginning" for key in keys if self.random.random() < 0.3}
        self.positions[process].update({key: self.log_start.get(key, 0) for key in seek})
        self.book.assign(process, *keys, seek=seek)

    def poll(self) -> None:
        process = self.random.choice(ASSIGNED)
        own = self.positions.get(process, {})
        self._poll(process, own, moves=self.random.random() < 0.9)

    def _poll(self, process: int, own: dict[str, int], *, moves: bool = True, **fields: Any) -> None:
        found: dict[str, list[tuple[int, int | str]]] = {}
        for key, position in own.items():
            pairs = found[key] = self.readable(key, position)[: self.random.randint(0, 4)]
            if pairs:
                self.read_up_to[key] = max(self.read_up_to.get(key, 0), pairs[-1][0] + 1)
            if pairs and moves:
                own[key] = pairs[-1][0] + 1
        ends = {key: PolledOffsets(self.end_of(key), self.end_of(key)) for key in found}
        self.book.poll(process, found, end="ok" if moves else "fail", offsets=ends, **fields)

    def consume_in_group(self) -> None:
        """A member polls, and commits what it has processed; now and then the group rebalances."""
        if not any(member in self.positions for member in GROUP) or self.random.random() < 0.3:
            self.rebalance()
        member = self.random.choice(GROUP)
        own = self.positions[member]
        before = dict(own)
        self._poll(member, own, group="g")
        if self.random.random() < 0.5:
            self.book.commit(
                member, {key: offset for key, offset in before.items() if key in own}, auto=True, group="g"
            )
        else:
            self.book.commit(member, dict(own), group="g")
            before = dict(own)
        self.committed.update(before)

    def rebalance(self) -> None:
        for member in GROUP:
            if member not in self.positions:
                self.book.subscribe(member, *TOPICS, group="g")
            self.positions[member] = {}
        for key in KEYS:
            start = max(self.committed.get(key, 0), self.log_start.get(key, 0))
            self.positions[self.random.choice(GROUP)][key] = start

    def process_in_transaction(self) -> None:
        """Poll and send in one transaction; an aborted one rewinds."""
        process = self.random.choice(ASSIGNED)
        own = self.positions.get(process)
        if not own:
            return
        key = self.random.choice(list(own))
        pairs = self.readable(key, own[key])[:3]
        if pairs:
            self.read_up_to[key] = max(self.read_up_to.get(key, 0), pairs[-1][0] + 1)
        ended = self.random.choice(("ok", "fail"))
        out, value = self.random.choice(KEYS), self.new_value()
        offset = self.append(out, value, "committed" if ended == "ok" else "aborted")
        self.append(out, None)
        if ended == "ok" and pairs:
            own[key] = pairs[-1][0] + 1
        self.book.txn(process, {key: pairs}, (out, value, offset), end=ended)

    # Faults

    def crash_leader(self) -> None:
        """Acknowledged records that no follower had are lost, and their offsets are assigned again."""
        if self.acks == "all":
            return
        key = self.random.choice(KEYS)
        log = self.logs[key]
        # What was read was below the high watermark, hence on the followers.
        seen = self.read_up_to.get(key, 0)
        from_ms = self.book.now_ms
        keep = [each for each in log if each.offset < max(seen, self.end_of(key) - 2)]
        kept = [each.value for each in keep]
        if any(each.state != "committed" or each.value is None or each.value in kept for each in log[len(keep) :]):
            return
        log[:] = keep
        self.faults.append({"kind": "leader-crash", "key": key, "from_ms": from_ms, "to_ms": self.book.wait(5).now_ms})

    def delete_records(self) -> None:
        key = self.random.choice(KEYS)
        start = max(self.log_start.get(key, 0), self.end_of(key) // 3)
        if any(each.value in self.without_offset for each in self.logs[key] if each.offset < start):
            return
        self.log_start[key] = start
        self.logs[key] = [each for each in self.logs[key] if each.offset >= start]
        for own in self.positions.values():
            if key in own:
                own[key] = max(own[key], start)

    # The end

    def finish(self) -> None:
        for key in KEYS:
            self.book.finally_poll(self.fresh_process(), {key: self.readable(key, self.log_start.get(key, 0))}, key)

    def run(self, steps: int) -> Model:
        menu = (
            self.send, self.send, self.send, self.resend, self.transaction, self.assign, self.poll, self.poll,
            self.consume_in_group, self.process_in_transaction, self.crash_leader, self.delete_records,
        )  # fmt: skip
        for _ in range(steps):
            self.random.choice(menu)()
        self.finish()
        return self

    def promises(self) -> dict[str, Any]:
        return {
            "topics": TOPICS,
            "acks": self.acks,
            "enable.idempotence": self.idempotent,
            "isolation.level": "read_committed" if self.read_committed else "read_uncommitted",
            "log_start": self.log_start,
            "faults": self.faults,
        }

    def written_logs(self) -> dict[str, list[list[Any]]]:
        return {key: [each.as_json() for each in log] for key, log in self.logs.items()}
