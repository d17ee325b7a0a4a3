"""The records of coordinators' internal topics, as cases write them down."""

from __future__ import annotations

import struct
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.records.record_set import iterate_any, read_any, read_any_record_set
from tests.differential.probe import attempts
from tests.differential.requests import fetch, metadata, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.differential.probe import Probe

FETCH_VERSION: Final = 12
TOMBSTONE: Final = "-> None"
SHARE_STATE_TOPIC: Final = "__share_group_state"
HEADER_FIELDS: Final = (
    "magic",
    "attributes",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_offset_delta",
    "records_count",
)
HASHES: Final = {3: slice(6, None), 11: slice(6, 14), 17: slice(6, 14)}
"""Type of record -> the bytes of its value with a hash of topic ids, behind the version and an epoch."""

REGEX_TYPE: Final = 16
REGEX_VERSION: Final = slice(-17, -9)
"""The bytes of its value with the offset of the metadata log at which the regular expression was resolved."""


def write_records(probe: Probe, topic: str, key: str, *, note: str = "", skipped: int = 0) -> None:
    """Write down the records of an internal topic whose key has this text, in the order of the log.

    The partition of a share partition's state depends on a random topic id: its records are sorted by key. The first
    `skipped` records are those of preparations.
    """
    records = find_records(probe, topic, key)[skipped:]
    if topic == SHARE_STATE_TOPIC:
        records.sort(key=_key_of)
    probe.write(note=f"records of {topic}{', ' + note if note else ''}", response=steady(records))


def write_batches(probe: Probe, topic: str, key: str, *, note: str = "", spelled: bool = True) -> None:
    """Write down the batches of an internal topic with a record whose key has this text: headers, records in order.

    Records that are not to be `spelled` are not written down.
    """
    batches = []
    for data in _read_all(probe, topic):
        for header, view in iterate_any(data):
            found = [_spell_record(probe, record) for record in read_any(bytes(view)) if _is_of(record, key.encode())]
            if found:
                records = {"records": found} if spelled else {}
                shown = {name: getattr(header, name) for name in HEADER_FIELDS} | records
                batches.append(shown | {"producer_id": probe.normaliser.named_producer(header.producer_id)})
    probe.write(note=f"batches of {topic}{', ' + note if note else ''}", response=batches)


def await_tombstone(probe: Probe, topic: str, key: str) -> None:
    """Wait until the newest record of an internal topic whose key has this text is a tombstone.

    A coordinator may remove something before it has written that.
    """
    for _ in attempts(f"a tombstone of {key}"):
        records = find_records(probe, topic, key)
        if records and records[-1].endswith(TOMBSTONE):
            return


def records_of(probe: Probe, topic: str, key: str) -> list[tuple[bytes, bytes | None]]:
    """Return keys and values of the records whose key has this text, by partition in the order of the log."""
    return [
        (bytes(record.key), None if record.value is None else bytes(record.value))
        for data in _read_all(probe, topic)
        for record in read_any_record_set(data)
        if _is_of(record, key.encode())
    ]


def raw_records(probe: Probe, topic: str, key: str) -> list[tuple[int, bytes | None]]:
    """Return type and value of the records of an internal topic whose key has this text, in the order of the log."""
    return [(int.from_bytes(encoded[:2]), value) for encoded, value in records_of(probe, topic, key)]


def find_records(probe: Probe, topic: str, key: str) -> list[str]:
    """Return the records of an internal topic whose key has this text, by partition in the order of the log."""
    return [_spell(probe, *record) for record in records_of(probe, topic, key)]


def steady(records: list[str]) -> list[str]:
    """Return records in which nothing is left of the order of a hash table of random ids."""
    found: list[str] = []
    for together, group in groupby(records, _kind_in_any_order):
        run = list(map(_with_sorted_ids, group))
        found += sorted(run) if together else run
    return found


def _kind_in_any_order(record: str) -> str:
    """Return what records that follow each other in any order have in common; nothing for the others."""
    if record.startswith("1: ") and record.endswith(TOMBSTONE):
        return "deleted offsets"
    return "targets" if record.startswith("7: ") else ""


def _with_sorted_ids(record: str) -> str:
    """Return a record whose value lists several topics without their order: its characters are sorted."""
    key, arrow, value = record.partition(" -> ")
    return f"{key}{arrow}{''.join(sorted(value))}" if value.count("<id of ") > 1 else record


def _key_of(record: str) -> str:
    return record.partition(": ")[2].partition(" -> ")[0]


def _read_all(probe: Probe, topic: str) -> Iterator[bytes]:
    """Yield the record sets of an internal topic, partition by partition."""
    described: Any = probe.quiet(metadata(topic), FETCH_VERSION)
    for partition in described.topics[0].partitions:
        connection = probe.connect(partition.leader_id)
        offset = 0
        while True:
            request = fetch(topic, wanted(offset, partition=partition.partition_index))
            response: Any = probe.quiet(request, FETCH_VERSION, on=connection)
            read = response.responses[0].partitions[0]
            if offset >= read.high_watermark or read.error_code:
                break
            data = bytes(read.records)
            for header, _ in iterate_any(data):
                offset = header.last_offset + 1
            yield data
        connection.close()


def _is_of(record: Any, key: bytes) -> bool:
    return record.key is not None and key in bytes(record.key)


def _spell_record(probe: Probe, record: Any) -> str:
    return _spell(probe, bytes(record.key), None if record.value is None else bytes(record.value))


def _spell(probe: Probe, key: bytes, value: bytes | None) -> str:
    (kind,) = struct.unpack(">h", key[:2])
    hashed = ""
    place = HASHES.get(kind)
    if value is not None and place is not None and any(value[place]):
        value = value[: place.start] + (b"" if place.stop is None else value[place.stop :])
        hashed = " and a hash"
    if value is not None and kind == REGEX_TYPE:
        value = value[: REGEX_VERSION.start] + value[REGEX_VERSION.stop :]
        hashed = " and a metadata offset"
    return f"{kind}: {probe.normaliser.spell(key[2:])} -> {probe.normaliser.spell(value)}{hashed}"
