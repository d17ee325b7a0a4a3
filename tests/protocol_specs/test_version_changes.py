from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs import registry
from protocol_specs.errors import UnsupportedVersion
from protocol_specs.layout import field_rows
from protocol_specs.version_changes import ENCODING, HEADER, Change, changes, history
from tests.protocol_specs.every_message import for_every_message

if TYPE_CHECKING:
    from protocol_specs.message import Message
    from protocol_specs.version_changes import VersionChange

REQUEST, RESPONSE = registry.request_type(3), registry.response_type(3)


def shown(found: list[VersionChange]) -> list[str]:
    return [f"{change.change.value} v{change.at} {change.place}: {change.text}" for change in found]


@for_every_message
def test_a_version_does_not_differ_from_itself(cls: type[Message], version: int) -> None:
    assert changes(cls, version, version) == []


@for_every_message
def test_the_way_back_undoes_the_way_there(cls: type[Message], version: int) -> None:
    there, back = (changes(cls, *ends) for ends in ((cls.VERSIONS.lowest, version), (version, cls.VERSIONS.lowest)))
    opposite = {Change.ADDED: Change.REMOVED, Change.REMOVED: Change.ADDED, Change.CHANGED: Change.CHANGED}
    assert [(opposite[change.change], change.place) for change in there] == [
        (change.change, change.place) for change in back
    ]


@pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.__name__) for cls in registry.every_message()])
def test_every_field_of_the_newest_version_is_of_the_oldest_or_came_in_some(cls: type[Message]) -> None:
    present = {row.place for row in field_rows(cls) if cls.VERSIONS.lowest in row.versions}
    for found in history(cls).values():
        present |= {change.place for change in found if change.change is Change.ADDED}
        present -= {change.place for change in found if change.change is Change.REMOVED}
    assert present == {row.place for row in field_rows(cls) if cls.VERSIONS.highest in row.versions}


def test_added_removed_and_changed_fields_have_their_version() -> None:
    assert shown(changes(REQUEST, 8, 12)) == [
        f"~ v9 {HEADER}: header 1 -> header 2",
        f"~ v9 {ENCODING}: not flexible -> flexible",
        "+ v10 topics[].topic_id: uuid",
        "~ v10 topics[].name: not nullable -> nullable",
        "- v11 include_cluster_authorized_operations: bool",
    ]


def test_backwards_a_version_is_the_first_that_differs() -> None:
    assert shown(changes(RESPONSE, 12, 9)) == [
        "~ v11 topics[].name: nullable -> not nullable",
        "- v9 topics[].topic_id: uuid",
        "+ v10 cluster_authorized_operations: int32, default -2147483648",
    ]


def test_what_came_and_went_in_between_is_in_the_steps_alone() -> None:
    assert "include_cluster_authorized_operations" not in [change.place for change in changes(REQUEST, 0, 13)]
    steps = history(REQUEST)
    assert [v for v, found in steps.items() if any("cluster_auth" in change.place for change in found)] == [8, 11]
    assert steps[6] == []


def test_a_struct_that_comes_brings_its_fields() -> None:
    assert shown(changes(registry.response_type(0), 9, 10))[:2] == [
        "+ v10 responses[].partition_responses[].current_leader: LeaderIdAndEpoch, tag 0",
        "+ v10 responses[].partition_responses[].current_leader.leader_id: int32, default -1",
    ]


def test_a_version_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnsupportedVersion, match="MetadataRequest has no version 14: its versions are 0-13"):
        changes(REQUEST, 8, 14)
