from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs import registry
from protocol_specs.layout import field_rows, header_version, struct_of, versions_text
from protocol_specs.version_range import EMPTY, VersionRange

if TYPE_CHECKING:
    from protocol_specs.layout import FieldRow
    from protocol_specs.message import Message, Struct

EVERY = [pytest.param(cls, id=cls.__name__) for cls in registry.every_message()]


def row_of(cls: type[Message], place: str) -> FieldRow:
    return next(row for row in field_rows(cls) if row.place == place)


def count(cls: type[Struct]) -> int:
    return sum(1 + (count(inner) if (inner := struct_of(f)) else 0) for f in cls.FIELDS)


@pytest.mark.parametrize("cls", EVERY)
def test_every_field_has_a_row_that_some_version_carries(cls: type[Message]) -> None:
    rows = field_rows(cls)
    assert len(rows) == len({row.place for row in rows}) == count(cls)
    assert [row.place for row in rows if not row.versions] == []
    assert all(version in cls.VERSIONS for row in rows for version in row.versions)
    assert [row.place for row in rows if row.nullable.intersection(row.versions) != row.nullable and row.nullable] == []


def test_a_row_has_the_properties_of_the_definition() -> None:
    request = registry.request_type(0)
    assert row_of(request, "topic_data[].partition_data[].records").notes == ["nullable"]
    transactional_id = row_of(request, "transactional_id")
    assert (transactional_id.type_name, transactional_id.versions_text) == ("string", "3+")
    assert transactional_id.notes == ["nullable", "default null", "entity transactionalId"]
    name = row_of(request, "topic_data[].name")
    assert (name.depth, name.versions_text, name.notes) == (1, "0-12", ["ignorable", "map key", "entity topicName"])
    assert row_of(request, "topic_data").type_name == "[]TopicProduceData"


def test_ranges_are_cut_to_the_struct_around() -> None:
    leader = row_of(registry.response_type(0), "responses[].partition_responses[].current_leader.leader_id")
    assert leader.versions == VersionRange(10, 13)
    assert leader.notes == ["default -1", "entity brokerId"]


def test_a_note_names_versions_only_where_not_all_have_it() -> None:
    notes = {row.place: row.notes for row in field_rows(registry.request_type(1))}
    assert notes["cluster_id"] == ["nullable", "tag 0", "default null", "ignorable"]
    assert notes["topics[].partitions[].high_watermark"] == ["tag 1", "default 9223372036854775807", "ignorable"]
    assert row_of(registry.request_type(3), "topics").notes[0] == "nullable 1+"
    assert row_of(registry.schema_type("RegisterBrokerRecord"), "fenced").notes == ["default true"]
    assert row_of(registry.schema_type("RequestHeader"), "client_id").notes[-1] == "never compact"


def test_open_ranges_are_written_with_a_plus() -> None:
    assert versions_text(VersionRange(3, 13), 13) == "3+"
    assert versions_text(VersionRange(13, 13), 13) == "13+"
    assert versions_text(VersionRange(0, 12), 13) == "0-12"
    assert versions_text(EMPTY, 13) == "none"


def test_headers_follow_kafkas_exceptions() -> None:
    assert [header_version(registry.request_type(7), version) for version in range(4)] == [0, 1, 1, 2]
    assert [header_version(registry.response_type(18), version) for version in (0, 3)] == [0, 0]
    assert header_version(registry.schema_type("TopicRecord"), 0) is None
