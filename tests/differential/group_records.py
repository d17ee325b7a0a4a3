"""The records of coordinators' internal topics, as cases write them down."""

from __future__ import annotations

import struct
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.records.record_set import read_any
from tests.differential.probe import attempts
from tests.differential.requests import fetch, metadata, wanted

if TYPE_CHECKING:
    from tests.differential.probe import Probe

FETCH_VERSION: Final = 12
TOMBSTONE: Final = "-> None"
SHARE_STATE_TOPIC: Final = "__share_group_state"
HASHES: Final = {3: slice(6, None), 11: slice(6, 14), 17: slice(6, 14)}
"""Type of record -> the bytes of its value with a hash of topic ids, behind the version and an epoch."""


def write_records(probe: Probe, topic: str, key: str, *, note: str = "", skipped: int = 0) -> None:
    """Write down the records of an internal topic whose key has this text, in the order of the log.

    The partition of a share partition's state depends on a random topic id: its records are sorted by key. The first
    `skipped` records are those of preparations.
    """
    records = find_records(probe, topic, key)[skipped:]
    if topic == SHARE_STATE_TOPIC:
        records.sort(key=_key_of)
    probe.write(note=f"records of {topic}{', ' + note if note else ''}", response=steady(records))


def await_tombstone(probe: Probe, topic: str, key: str) -> None:
    """Wait until the newest record of an internal topic whose key has this text is a tombstone.

    A coordinator may remove something before it has written that.
    """
    for _ in attempts(f"a tombstone of {key}"):
        records = find_records(probe, topic, key)
        if records and records[-1].endswith(TOMBSTONE):
            return


def find_records(probe: Probe, topic: str, key: str) -> list[str]:
    """Return the records of an internal topic whose key has this text, by partition in the order of the log."""
    described: Any = probe.quiet(metadata(topic), FETCH_VERSION)
    records = []
    for partition in described.topics[0].partitions:
        records += _records_of(probe, topic, partition.partition_index, partition.leader_id, key.encode())
    return records


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


def _records_of(probe: Probe, topic: str, partition: int, leader: int, key: bytes) -> list[str]:
    found: list[str] = []
    offset = 0
    connection = probe.connect(leader)
    while True:
        request = fetch(topic, wanted(offset, partition=partition))
        response: Any = probe.quiet(request, FETCH_VERSION, on=connection)
        read = response.responses[0].partitions[0]
        if offset >= read.high_watermark or read.error_code:
            connection.close()
            return found
        for record in read_any(bytes(read.records)):
            offset = record.offset + 1
            if record.key is not None and key in bytes(record.key):
                found.append(_spell(probe, bytes(record.key), None if record.value is None else bytes(record.value)))


def _spell(probe: Probe, key: bytes, value: bytes | None) -> str:
    (kind,) = struct.unpack(">h", key[:2])
    hashed = ""
    place = HASHES.get(kind)
    if value is not None and place is not None and any(value[place]):
        value = value[: place.start] + (b"" if place.stop is None else value[place.stop :])
        hashed = " and a hash"
    return f"{kind}: {probe.normaliser.spell(key[2:])} -> {probe.normaliser.spell(value)}{hashed}"
