from __future__ import annotations

import pytest

from protocol_specs import lookup, registry
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import UnknownApi, UnsupportedVersion
from protocol_specs.message import Kind


@pytest.mark.parametrize("text", ["ListOffsets", "listoffsets", "LIST_OFFSETS", "list-offsets", "ListOffset", "2"])
def test_an_api_is_found_by_any_spelling_earlier_name_or_key(text: str) -> None:
    found = lookup.find(text)
    assert found.name == "ListOffsets"
    assert [cls.__name__ for cls in found.declarations] == ["ListOffsetsRequest", "ListOffsetsResponse"]


def test_one_side_of_an_api_is_found_by_the_name_of_its_class() -> None:
    assert lookup.find("metadata_response").declarations == (registry.response_type(3),)
    assert lookup.find("AlterIsrRequest").declarations == (registry.request_type(56),)


def test_the_key_and_the_value_of_a_coordinators_record_are_found_together_and_apart() -> None:
    assert [cls.__name__ for cls in lookup.find("groupmetadata").declarations] == [
        "GroupMetadataKey",
        "GroupMetadataValue",
    ]
    assert [cls.KIND for cls in lookup.find("GroupMetadataValue").declarations] == [Kind.COORDINATOR_VALUE]


def test_an_api_goes_before_a_record_of_the_same_name() -> None:
    assert lookup.find("OffsetCommit").api_key == 8
    assert lookup.find("OffsetCommitValue").api_key is None


def test_every_declaration_is_found_by_the_name_of_its_class() -> None:
    for cls in registry.every_message():
        assert lookup.find(cls.__name__).declarations == (cls,)
        assert lookup.find(cls.__name__).summary


def test_the_subjects_hold_every_declaration_once() -> None:
    subjects = [*map(lookup.api, ApiKey), *lookup.schemas()]
    assert [cls for subject in subjects for cls in subject.declarations] == list(registry.every_message())


def test_a_subject_has_the_docstring_of_its_module() -> None:
    found = lookup.find("GroupMetadata")
    assert found.summary == "GroupMetadata: a classic group: generation, leader and members."
    assert found.details[0] == "Record type 2 of __consumer_offsets."
    assert found.family == "__consumer_offsets"
    assert [lookup.find(name).family for name in ("Produce", "Header", "TopicRecord", "EndTxnMarker")] == [
        "APIs",
        "headers",
        "metadata log",
        "other",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Nope", "no API or schema 'Nope': `broker-sim protocol list` has all"),
        ("fetchreqest", "no API or schema 'fetchreqest': did you mean FetchRequest?"),
        ("Prodce", "no API or schema 'Prodce': did you mean Produce?"),
        ("metadatarequst", "no API or schema 'metadatarequst': did you mean MetadataRequest?"),
        ("ProduceRequst", "no API or schema 'ProduceRequst': did you mean ProduceRequest?"),
        ("txn", "no API or schema 'txn': did you mean AddPartitionsToTxn or AddOffsetsToTxn or EndTxn?"),
        ("GroupMetadataVale", "no API or schema 'GroupMetadataVale': did you mean GroupMetadataValue?"),
        ("93", "no API key 93: keys go from 0 to 92"),
        ("-1", "no API key -1: keys go from 0 to 92"),
        ("", "no API or schema ''"),
        ("%", "no API or schema '%'"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(text: str, message: str) -> None:
    with pytest.raises(UnknownApi) as refusal:
        lookup.find(text)
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


def test_a_version_is_checked_against_all_that_the_subject_has() -> None:
    assert lookup.check_version(lookup.find("Produce"), "9") == 9
    assert lookup.check_version(lookup.find("GroupMetadata"), 4) == 4
    with pytest.raises(UnsupportedVersion, match=r"^Produce has no version 14: its versions are 0-13$"):
        lookup.check_version(lookup.find("Produce"), "14")
    with pytest.raises(UnsupportedVersion, match=r"^Produce has no version 'nine': its versions are 0-13$"):
        lookup.check_version(lookup.find("Produce"), "nine")
    with pytest.raises(UnsupportedVersion, match=r"^Produce has no version -1: its versions are 0-13$"):
        lookup.check_version(lookup.find("Produce"), -1)
    with pytest.raises(UnsupportedVersion, match=r"^GroupMetadata has no version 5: its versions are 0 or 0-4$"):
        lookup.check_version(lookup.find("GroupMetadata"), 5)
