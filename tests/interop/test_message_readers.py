"""Kafka's own message classes on drawn bytes: sound ones come back the same, broken ones are refused as predicted."""

from __future__ import annotations

import pytest

from protocol_specs import coverage
from tests.against.coverage import java_source
from tests.interop.java_messages import DRAFTS, LATER_NAMES, LATER_TAGS, SOUND, JavaResult, pairs_of, results
from tests.interop.kafka_release import RELEASES


@pytest.fixture(scope="module", params=RELEASES, ids=[f"kafka-{release}" for release in RELEASES])
def release(request: pytest.FixtureRequest) -> str:
    """A release whose classes have run."""
    name: str = request.param
    results(name)
    return name


@pytest.fixture(scope="module")
def sound(release: str) -> list[JavaResult]:
    """Its results for valid bytes."""
    return [result for result in results(release) if result.case.rule == SOUND]


def test_java_writes_sound_bytes_as_it_read_them(sound: list[JavaResult]) -> None:
    assert len(sound) > 4000
    assert [result for result in sound if result.written != result.case.data.hex()] == []


def test_java_finds_our_values_in_our_bytes(sound: list[JavaResult]) -> None:
    with_values = [result for result in sound if result.has_value]
    assert len(with_values) > 4000
    assert [result for result in with_values if result.found_value() != result.expected_value()] == []


def test_java_writes_our_values_as_our_bytes(sound: list[JavaResult]) -> None:
    readable = [result for result in sound if result.is_readable_json]
    assert len(readable) > 4000
    assert [result for result in readable if result.from_value != result.expected_bytes()] == []


def test_java_refuses_what_is_predicted_and_takes_the_rest(release: str) -> None:
    broken = [result for result in results(release) if result.case.rule != SOUND and not result.is_of_later_tags]
    assert len(broken) > 4000
    assert [result for result in broken if result.written.startswith("refused") is not result.case.refused] == []


def test_coverage_claims_of_java_what_is_tried_here_and_all_of_it(release: str) -> None:
    claimed = tuple((p.cls, p.version) for p in coverage.load().pairs() if java_source(release) in p.sources)
    assert claimed == pairs_of(release)


def test_every_exception_is_of_a_release_that_is_tried() -> None:
    assert {*DRAFTS, *LATER_TAGS, *LATER_NAMES} <= {*RELEASES}
