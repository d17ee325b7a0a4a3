"""`broker-sim records`: print what logs hold: records with their producers, and the control records between them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from broker_client.admin import Admin
    from broker_client.records import TopicPartition
    from protocol_specs.records.record_reader import Record
    from protocol_specs.records.record_set import AnyHeader

__all__ = ["add"]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    from broker_scenarios.commands.kafka_clients import add_command
    from broker_scenarios.commands.start_offsets import OFFSET_FORMS, StartOffset, StartPlace, start_offset
    from broker_sim.argument_types import positive, whole

    parser = add_command(
        commands, "records", "print what the log of a topic holds, with producers and control records", _run
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("-p", "--partition", type=whole, help="default: all")
    parser.add_argument(
        "-o",
        "--offset",
        type=start_offset,
        default=StartOffset(StartPlace.BEGINNING),
        metavar="OFFSET",
        help=f"{OFFSET_FORMS} (default: beginning)",
    )
    parser.add_argument("-c", "--count", type=positive, metavar="N", help="at most this many records per partition")
    parser.add_argument("--json", action="store_true", help="one JSON object per record and line")


def _run(options: argparse.Namespace) -> int:
    import json
    from itertools import islice

    from broker_scenarios.commands.kafka_clients import ends_of, new_admin, partitions_of
    from broker_scenarios.commands.result_lines import print_lines

    with new_admin(options) as admin:
        partitions = partitions_of(admin, options.topic, options.partition)
        starts = options.offset.resolve(admin, partitions, "read_uncommitted")
        ends = ends_of(admin, partitions)
        records = (
            record
            for key in partitions
            for record in islice(_records_of(admin, key, starts[key], ends[key]), options.count)
        )
        print_lines(json.dumps(each, ensure_ascii=False) if options.json else _line(each) for each in records)
    return 0


def _records_of(admin: Admin, key: TopicPartition, offset: int, end: int) -> Iterator[dict[str, Any]]:
    """Yield the records from an offset up to the high watermark as of the start of the command."""
    from protocol_specs.records.record_set import iterate_any, read_any

    while offset < end:
        next_offset = offset
        for header, batch in iterate_any(admin.read_logs({key: offset})[key].batches):
            for record in read_any(batch):
                next_offset = max(next_offset, record.offset + 1)
                if offset <= record.offset < end:
                    yield _described(key, header, record)
            # Compaction may have removed the last records of a batch.
            next_offset = max(next_offset, getattr(header, "next_offset", 0))
        if next_offset == offset:
            return
        offset = next_offset


def _described(key: TopicPartition, header: AnyHeader, record: Record) -> dict[str, Any]:
    from broker_scenarios.commands.record_text import record_object
    from protocol_specs.records.batch_peek import BatchHeader
    from protocol_specs.records.control_records import control_record_type

    is_control = isinstance(header, BatchHeader) and header.is_control
    described = record_object(
        topic=key.topic,
        partition=key.partition,
        offset=record.offset,
        timestamp_ms=record.timestamp,
        key=None if is_control else record.key,
        value=None if is_control else record.value,
        headers=record.headers,
    )
    described["compression"] = header.codec.name.lower()
    if isinstance(header, BatchHeader):
        sequence = header.base_sequence
        described |= {
            "leader_epoch": header.partition_leader_epoch,
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "sequence": -1 if sequence < 0 else sequence + record.offset - header.base_offset,
            "transactional": header.is_transactional,
            "control": control_record_type(record).name if is_control else None,
        }
    return described


def _line(record: dict[str, Any]) -> str:
    parts = [f"{record['topic']}-{record['partition']}", str(record["offset"]), _time(record["timestamp"])]
    if record.get("control"):
        parts.append(record["control"])
    else:
        parts += [_shown(record, name) for name in ("key", "value")]
    parts += [f"{header['key']}:{_shown(header, 'value').partition('=')[2]}" for header in record["headers"]]
    if record.get("producer_id", -1) >= 0:
        parts.append(f"producer {record['producer_id']} epoch {record['producer_epoch']}")
        if record["sequence"] >= 0:
            parts.append(f"sequence {record['sequence']}")
    if record.get("leader_epoch", -1) >= 0:
        parts.append(f"leader epoch {record['leader_epoch']}")
    parts += ["transactional"] * bool(record.get("transactional") and not record.get("control"))
    parts += [record["compression"]] * (record["compression"] != "none")
    return "  ".join(parts)


def _time(timestamp_ms: int) -> str:
    try:
        at = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError):  # a client may send any number
        return f"{timestamp_ms} ms"
    return "no time" if timestamp_ms < 0 else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(of: dict[str, Any], name: str) -> str:
    if f"{name}_base64" in of:
        return f"{name}=base64:{of[f'{name}_base64']}"
    return f"{name}={'null' if of[name] is None else repr(of[name])}"
