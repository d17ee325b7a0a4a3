from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs import registry
from protocol_specs.errors import UnsupportedVersion
from protocol_specs.wire_layout import LEGEND, TAG_SECTION, legend, stands_after, wire_parts
from tests.protocol_specs.every_message import for_every_message

if TYPE_CHECKING:
    from protocol_specs.message import Message

NUMBERS = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
    "nullable struct": 1,
    "struct": 0,
    "tag section": 1,
}


def size_when_empty(encoding: str) -> int:
    if encoding in NUMBERS:
        return NUMBERS[encoding]
    if encoding.startswith("compact"):
        return 1
    return 2 if encoding.endswith("string") else 4


def size_of_defaults(message: Message, version: int) -> int:
    """The bytes of a message whose arrays are empty, by its layout alone."""
    size, left_out = 0, None
    for part in wire_parts(type(message), version):
        if left_out is not None and part.depth > left_out:
            continue
        left_out = None
        if part.tag is not None:
            left_out = part.depth
            continue
        size += size_when_empty(part.encoding)
        null = part.encoding == "nullable struct" and getattr(message, part.name) is None
        if part.encoding.endswith("array") or null:
            left_out = part.depth
    return size


@for_every_message
def test_the_layout_of_a_version_is_as_long_as_its_bytes(cls: type[Message], version: int) -> None:
    message = cls()
    for f in cls.FIELDS:
        value = getattr(message, f.name)
        if isinstance(value, str | bytes) and f.type.__class__.__name__ == "SizedType":
            setattr(message, f.name, value[:0])
    assert len(message.encode(version)) == size_of_defaults(message, version)


@for_every_message
def test_every_part_is_explained_and_every_field_is_there(cls: type[Message], version: int) -> None:
    parts = wire_parts(cls, version)
    assert [part.encoding for part in parts if part.encoding not in LEGEND] == []
    carried = [f.name for f in cls.FIELDS if version in f.versions]
    level = [part.name for part in parts if part.name != TAG_SECTION and part.depth == (part.tag is not None)]
    assert sorted(level) == sorted(carried)


def test_a_flexible_version_is_compact_and_ends_its_structs_with_tags() -> None:
    parts = wire_parts(registry.request_type(0), 9)
    assert [("  " * part.depth) + f"{part.name}: {part.text}" for part in parts] == [
        "transactional_id: compact nullable string",
        "acks: int16",
        "timeout_ms: int32",
        "topic_data: compact array of TopicProduceData",
        "  name: compact string",
        "  partition_data: compact array of PartitionProduceData",
        "    index: int32",
        "    records: compact nullable records",
        "    (tags): tag section",
        "  (tags): tag section",
        "(tags): tag section",
    ]


def test_tagged_fields_stand_in_the_section_by_number() -> None:
    parts = wire_parts(registry.response_type(18), 3)
    tagged = [(part.tag, part.name, part.depth) for part in parts if part.tag is not None]
    assert tagged == [
        (0, "supported_features", 1),
        (1, "finalized_features_epoch", 1),
        (2, "finalized_features", 1),
        (3, "zk_migration_ready", 1),
    ]


def test_the_client_id_of_a_header_is_never_compact() -> None:
    parts = wire_parts(registry.schema_type("RequestHeader"), 2)
    assert [part.text for part in parts][-2:] == ["nullable string", "tag section"]


def test_strings_of_arrays_are_compact_too() -> None:
    assert "compact nullable array of compact string" in [
        part.text for part in wire_parts(registry.request_type(68), 0)
    ]


def test_the_legend_explains_what_is_used_and_no_more() -> None:
    names = [name for name, _ in legend(wire_parts(registry.request_type(0), 9))]
    assert names == [
        "uvarint",
        "compact string",
        "compact nullable string",
        "compact nullable records",
        "compact array",
        "tag section",
    ]
    assert legend(wire_parts(registry.response_type(12), 0)) == []


def test_the_legend_explains_the_elements_of_arrays() -> None:
    names = [name for name, _ in legend(wire_parts(registry.request_type(10), 4))]
    assert names == ["uvarint", "compact string", "compact array", "tag section"]


@pytest.mark.parametrize(
    ("name", "version", "before"),
    [
        ("RequestHeader", 2, "int32 size of the bytes after it"),
        ("GroupMetadataKey", 0, "int16 record type 2"),
        ("GroupMetadataValue", 4, "int16 version 4"),
        ("PartitionRecord", 1, "uvarints frame version 1, record type 3, version 1"),
        ("ConsumerProtocolSubscription", 3, "int16 version 3"),
        ("LeaderChangeMessage", 0, None),
    ],
)
def test_the_bytes_before_a_message_are_described(name: str, version: int, before: str | None) -> None:
    assert stands_after(registry.schema_type(name), version) == before


def test_headers_stand_before_apis() -> None:
    assert stands_after(registry.request_type(0), 9) == "request header 2"
    assert stands_after(registry.response_type(18), 4) == "response header 0"


def test_a_version_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnsupportedVersion, match="ProduceRequest has no version 14: its versions are 0-13"):
        wire_parts(registry.request_type(0), 14)
