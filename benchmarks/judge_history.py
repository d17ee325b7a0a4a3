"""The cost of judging a history of a million operations: CPU per operation, and the memory of the whole process.

Four producers, two transactional processes and four consumers on eight partitions, ten values per transaction; polls of
up to fifty records; final polls read everything. The history is written first, and then read and judged as
`broker-sim check` does it, in a process of its own.

    python benchmarks/judge_history.py [--operations 1000000]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from broker_scenarios import check_history
from broker_scenarios.history import EventType
from broker_scenarios.operations import Function, Op, Poll, Send, write_operations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.operations import Mop

KEYS: Final = tuple(f"orders-{partition}" for partition in range(8))
PROMISES: Final = {"topics": {"orders": 8}, "acks": "all", "isolation.level": "read_committed", "exactly-once": True}
POLL_EVERY: Final = 40
POLLED_MAX: Final = 50


def history(operations: int) -> Iterator[Op]:
    """A correct history of so many lines."""
    ends = dict.fromkeys(KEYS, 0)
    values: dict[str, list[tuple[int, int | str]]] = {key: [] for key in KEYS}
    positions = dict.fromkeys(KEYS, 0)
    count = value = 0

    def pair(process: int, f: Function, invoked: list[Mop], completed: list[Mop], **fields: object) -> Iterator[Op]:
        nonlocal count
        for event, mops in ((EventType.INVOKE, invoked), (EventType.OK, completed)):
            yield Op(index=count, process=process, type=event, f=f, time_ms=count / 10, mops=mops, **fields)  # type: ignore[arg-type]
            count += 1

    turn = 0
    while count < operations:
        turn += 1
        in_transaction = turn % 20 == 0
        sends: list[Send] = []
        for _ in range(10 if in_transaction else 1):
            value += 1
            key = KEYS[value % len(KEYS)]
            sends.append(Send(key, value, ends[key]))
            values[key].append((ends[key], value))
            ends[key] += 1
        process = 4 + turn // 20 % 2 if in_transaction else turn % 4
        f = Function.TXN if in_transaction else Function.SEND
        yield from pair(process, f, [Send(send.key, send.value) for send in sends], list(sends))
        if turn % POLL_EVERY == 0:
            for reader, key in enumerate(KEYS):
                records = values[key][positions[key] : positions[key] + POLLED_MAX]
                positions[key] += len(records)
                yield from pair(10 + reader % 4, Function.POLL, [Poll()], [Poll({key: records})])
    for reader, key in enumerate(KEYS):
        yield from pair(20 + reader, Function.POLL, [Poll()], [Poll({key: values[key]})], final=True, assigned=(key,))


def judge(path: Path) -> None:
    """Judge the file in this process and print its costs."""
    begin, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    verdict = check_history(path, PROMISES)
    cpu = time.process_time() - begin
    lines = 2 * verdict.calls
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(
        f"{verdict.validity.value}: {lines:,} operations, {cpu:.1f} s of CPU ({cpu / lines * 1e6:.1f} us each), "
        f"{memory / 1024:,.0f} MiB ({memory * 1024 / lines:,.0f} bytes each)"
    )


def main() -> None:
    """Write a history and judge it in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge is not None:
        judge(options.judge)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        write_operations(path, history(options.operations))
        subprocess.run([sys.executable, __file__, "--judge", str(path)], check=True)


if __name__ == "__main__":
    main()
