"""`broker-sim consume`: print the records of a topic."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from broker_client.consumer import Consumer, ConsumerRecord
    from broker_client.records import TopicPartition

__all__ = ["add"]

_POLL_S: Final = 0.5
_MAX_POLL_RECORDS: Final = 500


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    from broker_scenarios.commands.kafka_clients import add_command
    from broker_scenarios.commands.record_text import FORMAT_HELP
    from broker_scenarios.commands.start_offsets import OFFSET_FORMS, start_offset
    from broker_sim.argument_types import positive, whole

    parser = add_command(commands, "consume", "print the records of a topic", _run)
    parser.add_argument("-t", "--topic", required=True)
    parser.add_argument("-p", "--partition", type=whole, help="default: all")
    parser.add_argument(
        "-o", "--offset", type=start_offset, metavar="OFFSET", help=f"{OFFSET_FORMS} (default: beginning)"
    )
    parser.add_argument("-c", "--count", type=positive, metavar="N", help="end after this many records")
    parser.add_argument("-e", "--exit", action="store_true", help="end at the records that are there at the start")
    parser.add_argument(
        "-G", "--group", metavar="ID", help="as a member of this group, from its committed offsets; commits at the end"
    )
    parser.add_argument(
        "--isolation",
        choices=("read_uncommitted", "read_committed"),
        default="read_committed",
        help="default: read_committed, without records of aborted and open transactions",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("-f", "--format", default="%s\\n", metavar="FORMAT", help=FORMAT_HELP)
    form.add_argument("--json", action="store_true", help="one JSON object per record and line")


def _run(options: argparse.Namespace) -> int:
    from broker_client.admin import OffsetSpec
    from broker_client.config.consumer_keys import CONSUMER_KEYS
    from broker_client.consumer import Consumer
    from broker_client.errors import UnsupportedVersion
    from broker_scenarios.commands.kafka_clients import client_options, new_admin, partitions_of, timeout_ms_of
    from broker_scenarios.commands.start_offsets import StartOffset, StartPlace
    from broker_scenarios.errors import ScenarioError

    write = _writer(options)
    start = options.offset or StartOffset(StartPlace.BEGINNING)
    if options.group is not None and start.place not in {StartPlace.BEGINNING, StartPlace.END}:
        raise ScenarioError("-o: a group starts at its committed offsets; expected beginning or end, for those without")
    if options.group is not None and options.partition is not None:
        raise ScenarioError("-p: the group assigns the partitions (-G)")
    with new_admin(options, beside_consumer=True) as admin:
        partitions = partitions_of(admin, options.topic, options.partition)
        try:
            starts = start.resolve(admin, partitions, options.isolation)
        except UnsupportedVersion as error:
            raise ScenarioError(f"{error}; --isolation read_uncommitted reads older brokers") from None
        listed = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST), isolation_level=options.isolation)
        ends = {key: each.offset for key, each in listed.items()}
    own = {
        "enable.auto.commit": False,
        "isolation.level": options.isolation,
        "auto.offset.reset": "latest" if start.place is StartPlace.END else "earliest",
        "max.poll.records": min(options.count or _MAX_POLL_RECORDS, _MAX_POLL_RECORDS),
        "default.api.timeout.ms": timeout_ms_of(options),
    }
    if options.group is not None:
        own["group.id"] = options.group
    with Consumer(**{**own, **client_options(options, CONSUMER_KEYS)}) as consumer:
        if options.group is None:
            consumer.assign(partitions)
            for key, offset in starts.items():
                consumer.seek(key, offset)
        else:
            consumer.subscribe([options.topic])
        return _Reading(consumer, ends, options).read(write)


class _Reading:
    """Reads until the requested number of records, the end, or the deadline."""

    def __init__(self, consumer: Consumer, ends: dict[TopicPartition, int], options: argparse.Namespace) -> None:
        self._consumer = consumer
        self._ends = ends
        self._topic: str = options.topic
        self._group: str | None = options.group
        self._wanted: int | None = options.count
        self._ends_there: bool = options.exit
        self._timeout_s: float = options.timeout
        self._count = 0
        self._next: dict[TopicPartition, int] = {}

    def read(self, write: Callable[[Sequence[ConsumerRecord]], None]) -> int:
        """Write the records; returns the exit status."""
        from twisted.python.runtime import seconds

        try:
            due = seconds() + self._timeout_s
            while not self._done():
                left_s = due - seconds()
                if left_s <= 0:
                    return self._out_of_time()
                records = self._consumer.poll(min(_POLL_S, left_s))
                if records:
                    self._take(records, write)
                    due = seconds() + self._timeout_s
            return 0
        finally:
            if self._group is not None:
                self._commit()

    def _take(self, records: list[ConsumerRecord], write: Callable[[Sequence[ConsumerRecord]], None]) -> None:
        from broker_client.records import TopicPartition

        taken = records if self._wanted is None else records[: self._wanted - self._count]
        write(taken)
        self._count += len(taken)
        for record in taken:
            self._next[TopicPartition(record.topic, record.partition)] = record.offset + 1

    def _done(self) -> bool:
        if self._wanted is not None and self._count >= self._wanted:
            return True
        if not self._ends_there:
            return False
        assigned = self._consumer.assignment()
        return bool(assigned) and all(self._consumer.position(key) >= self._ends.get(key, 0) for key in assigned)

    def _out_of_time(self) -> int:
        waited = f"topic {self._topic!r}: no record came for {self._timeout_s:g} s (--timeout)"
        if self._wanted is None and not self._ends_there:
            sys.stderr.write(f"{waited}\n")
            return 0
        missing = f"-c requests {self._wanted:,}" if self._wanted is not None else "the end is not reached (-e)"
        sys.stderr.write(f"{waited}: {self._count:,} were read, {missing}\n")
        return 1

    def _commit(self) -> None:
        """Commit what was printed: a poll may have returned more."""
        from broker_client.consumer_groups import OffsetAndMetadata

        if self._next:
            self._consumer.commit({key: OffsetAndMetadata(offset=offset) for key, offset in self._next.items()})


def _writer(options: argparse.Namespace) -> Callable[[Sequence[ConsumerRecord]], None]:
    from broker_scenarios.commands.record_text import json_line, record_format, record_object

    form = record_format(options.format)

    def line(record: ConsumerRecord) -> bytes:
        if not options.json:
            return form(record)
        return json_line(
            record_object(
                topic=record.topic,
                partition=record.partition,
                offset=record.offset,
                timestamp_ms=record.timestamp_ms,
                key=record.key,
                value=record.value,
                headers=record.headers,
            )
        )

    def write(records: Sequence[ConsumerRecord]) -> None:
        out = sys.stdout.buffer
        out.write(b"".join(map(line, records)))
        out.flush()

    return write
