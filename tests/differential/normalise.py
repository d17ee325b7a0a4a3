"""Volatile values replaced by names: ids, ports and times of the moment, and the order of lists that have none.

Record sets are spelled out batch by batch, because compressed bytes depend on the compressor: of a compressed batch its
records are compared, of any other every byte.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import asdict
from typing import Any

from protocol_specs.errors import ChecksumMismatch, CorruptRecordBatch, RecordBatchError, UnsupportedMagic
from protocol_specs.records.batch_peek import BatchHeader, check_batch
from protocol_specs.records.message_peek import KEY_OFFSET, check_message
from protocol_specs.records.record_reader import raw_records
from protocol_specs.records.record_set import iterate_any, read_any
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID, from_text, to_text

NOW_FROM_MS = 1_750_000_000_000
NOW_TO_MS = 2_500_000_000_000
"""Timestamps between these are taken for the clock's: cases use others."""

OVERFLOW_OFFSET = b"\xff" * 8
"""The offset of the batch that no client can ever have whole."""

_INT64_MAX = (1 << 63) - 1
_NAMED = {"host": "<host>", "port": "<port>", "clusterId": "<cluster id>"}
_IDENTITIES = (
    "name",
    "topic",
    "topicId",
    "partitionIndex",
    "partition",
    "index",
    "nodeId",
    "brokerId",
    "key",
    "apiKey",
)
_TIMES = (
    "logAppendTimeMs",
    "timestamp",
    "lastTimestamp",
    "transactionStartTimeMs",
    "transactionStartTimestampMs",
    "transactionLastUpdateTimestampMs",
)
_PRODUCER_IDS = ("producerId", "previousProducerId", "nextProducerId")
_TEXTS = ("errorMessage", "batchIndexErrorMessage")
_RANDOM_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What a coordinator draws for a member without an id (java.util.UUID)."""

_SHORT_RANDOM_ID = re.compile(r"[A-Za-z0-9_-]{22}")
"""What the coordinator of consumer groups draws (Kafka's Uuid)."""

_CONSTANT_IDS = (to_text(ZERO_UUID), to_text(METADATA_TOPIC_UUID))
_TIME_BYTES = re.compile(r"\x00\x00\x01[\x98-\xd0][\x00-\xff]{4}")
"""A time of the clock between 2025 and 2033, big-endian: small numbers next to each other do not look so."""

_UNORDERED_MEMBERS = ("metadata", "memberMetadata", "memberEpoch")
"""A list of members with one of these fields is in the order of a hash table of random ids."""


class Normaliser:
    """Knows the topic ids of one case by name, and random member ids by the order of their appearance."""

    def __init__(self) -> None:
        self._topics: dict[str, str] = {to_text(ZERO_UUID): "<zero id>", to_text(METADATA_TOPIC_UUID): "<metadata id>"}
        self._random_ids: dict[str, str] = {}
        self._producers: dict[int, str] = {}

    def know_producer(self, producer_id: int, name: str) -> None:
        """From now on write `<producer NAME>` for this producer id of a batch."""
        self._producers[producer_id] = f"<producer {name}>"

    def named_producer(self, producer_id: int) -> str | int:
        """Return the name of a producer id, or the id if it has none."""
        return self._producers.get(producer_id, producer_id)

    def know_topic(self, name: str, topic_id: bytes) -> None:
        """From now on write `<id of NAME>` for this id."""
        self._topics[to_text(topic_id)] = f"<id of {name}>"

    def normalise(self, value: Any, key: str = "", *, ordered: bool = False) -> Any:
        """The value with what changes from run to run replaced; `ordered` leaves lists in the order of the wire."""
        if isinstance(value, dict):
            return {name: self.normalise(item, name, ordered=ordered) for name, item in value.items()}
        if isinstance(value, list):
            if value and isinstance(value[0], dict) and any(name in value[0] for name in _UNORDERED_MEMBERS):
                value = sorted(value, key=self._member_key)
            items = [self.normalise(item, key, ordered=ordered) for item in value]
            return items if ordered else _sorted(items)
        if key in _NAMED and value:
            return _NAMED[key]
        if key == "topicId":
            return self._topics.get(value, value)
        if key in _PRODUCER_IDS and isinstance(value, int) and value >= 0:
            return self._producers.get(value, "<producer id>")
        if key == "sessionId" and value:
            return "<session id>"
        if key == "finalizedFeaturesEpoch" and value >= 0:
            return "<metadata offset>"
        if key in _TIMES and isinstance(value, int):
            return _time(value)
        if key == "records" and value:
            return self._record_set(base64.b64decode(value))
        if key == "documentation" and value:
            return "<text>"  # Kafka's words are its own
        if key in _TEXTS and value:
            return self._text(value)
        if isinstance(value, str):
            return self._without_random_ids(value, key)
        return value

    def _without_random_ids(self, text: str, key: str) -> str:
        if text in self._random_ids or (key == "memberId" and _SHORT_RANDOM_ID.fullmatch(text)):
            return self._random_id(text)
        return _RANDOM_ID.sub(lambda found: self._random_id(found.group()), text)

    def _random_id(self, text: str) -> str:
        return self._random_ids.setdefault(text, f"<random id {len(self._random_ids) + 1}>")

    def _member_key(self, member: dict[str, Any]) -> str:
        """Return the member's normalised fields: the order of members shall not depend on ids that are unknown yet."""
        known = Normaliser()
        known._topics, known._random_ids = self._topics, dict(self._random_ids)
        return json.dumps(known.normalise(member), sort_keys=True)

    def spell(self, data: bytes | None) -> str | None:
        """Return bytes as text: ids and times by name, other bytes that are not printable escaped."""
        if data is None:
            return None
        text = data.decode("latin-1")
        for topic_id, named in self._topics.items():
            if topic_id not in _CONSTANT_IDS:
                text = text.replace(from_text(topic_id).decode("latin-1"), named)
        for random_id in self._random_ids:
            text = text.replace(random_id, self._random_ids[random_id])
        text = _TIME_BYTES.sub("<now>", self._without_random_ids(text, ""))
        return "".join(each if each.isascii() and each.isprintable() else f"\\x{ord(each):02x}" for each in text)

    def _text(self, text: str) -> str:
        for topic_id, named in self._topics.items():
            text = text.replace(topic_id, named)
        text = self._without_random_ids(text, "")
        return re.sub(r"-?\b\d{13,19}\b", lambda number: str(_time(int(number.group()))), text)

    def _record_set(self, data: bytes) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        end = 0
        compressed = False
        try:
            for header, view in iterate_any(data):
                compressed |= header.is_compressed
                shape = _batch if isinstance(header, BatchHeader) else _message
                spelled = shape(header, bytes(view))
                producer = self._producers.get(spelled.get("producer_id", -1))
                shown.append(spelled if producer is None else spelled | {"producer_id": producer})
                end += len(view)
        except (CorruptRecordBatch, UnsupportedMagic):
            pass
        rest = data[end:]
        # What fills a converted set up is as long as the compressor leaves room for.
        filled = compressed and rest[: len(OVERFLOW_OFFSET)] == OVERFLOW_OFFSET[: len(rest)]
        return [*shown, *([{"rest": rest.hex()}] if rest and not filled else [])]


def _time(value: int) -> int | str:
    if NOW_FROM_MS <= value < NOW_TO_MS:
        return "<now>"
    if NOW_FROM_MS <= value + _INT64_MAX < NOW_TO_MS:
        return "<now - 2**63 + 1>"
    return value


def _batch(header: Any, data: bytes) -> dict[str, Any]:
    shown = asdict(header)
    for name in ("base_timestamp", "max_timestamp"):
        shown[name] = _time(shown[name])
    try:
        check_batch(data)
        shown["crc"] = "right"
    except ChecksumMismatch:
        shown["crc"] = "wrong"
    records = _compressed_records(data) if header.is_compressed else None
    if records is None:
        return shown | {"bytes": bytes(raw_records(data, header)).hex()}
    del shown["batch_length"]  # the compressor's too
    return shown | {"records": records}


def _message(header: Any, data: bytes) -> dict[str, Any]:
    shown = asdict(header)
    shown["timestamp"] = _time(header.timestamp)
    try:
        check_message(data)
        shown["crc"] = "right"
    except ChecksumMismatch:
        shown["crc"] = "wrong"
    records = _compressed_records(data) if header.is_compressed else None
    if records is None:
        return shown | {"bytes": data[KEY_OFFSET[header.magic] :].hex()}
    del shown["size"]  # the compressor's too
    return shown | {"records": records}


def _compressed_records(data: bytes) -> list[list[Any]] | None:
    try:
        return [
            [each.offset, _time(each.timestamp), _hex(each.key), _hex(each.value), *map(str, each.headers)]
            for each in read_any(data)
        ]
    except RecordBatchError:
        return None


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def _sorted(items: list[Any]) -> list[Any]:
    if items and all(isinstance(item, dict) and any(name in item for name in _IDENTITIES) for item in items):
        return sorted(items, key=lambda item: [json.dumps(item[name]) for name in _IDENTITIES if name in item])
    return items
