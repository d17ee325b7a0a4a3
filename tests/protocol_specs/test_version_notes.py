from __future__ import annotations

import pytest

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.version_changes import history
from protocol_specs.version_notes import version_note, version_notes


@pytest.mark.parametrize("key", ApiKey)
def test_a_version_has_a_note_exactly_where_its_layout_is_that_of_the_one_before(key: int) -> None:
    request, response = history(registry.request_type(key)), history(registry.response_type(key))
    silent = [version for version in request if not request[version] and not response[version]]
    assert list(version_notes(key, -1, 99)) == silent


def test_notes_between_two_versions_leave_out_the_lower_one() -> None:
    assert list(version_notes(0, 4, 11)) == list(version_notes(0, 11, 4)) == [6, 7, 11]
    assert version_notes(None, 0, 4) == {}


def test_a_note_has_what_both_sides_must_know() -> None:
    assert version_note(0, 7) == "records may be compressed with zstd (KIP-110)"
    assert version_note(0, 8) is None
    assert version_note(None, 1) is None
