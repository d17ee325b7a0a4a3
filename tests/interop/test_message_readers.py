"""Kafka's own message classes on drawn bytes: sound ones come back the same, broken ones are refused as predicted."""

from __future__ import annotations

import pytest

from protocol_specs import coverage
from tests.against.coverage import java_source
from tests.interop.java_messages import DRAFTS, LATER_NAMES, LATER_TAGS, SOUND, Answer, answers, pairs_of
from tests.interop.kafka_release import RELEASES


@pytest.fixture(scope="module", params=RELEASES, ids=[f"kafka-{release}" for release in RELEASES])
def release(request: pytest.FixtureRequest) -> str:
    """A release whose classes have answered."""
    name: str = request.param
    answers(name)
    return name


@pytest.fixture(scope="module")
def sound(release: str) -> list[Answer]:
    """Its answers to sound bytes."""
    return [answer for answer in answers(release) if answer.case.rule == SOUND]


def test_java_writes_sound_bytes_as_it_read_them(sound: list[Answer]) -> None:
    assert len(sound) > 4000
    assert [answer for answer in sound if answer.written != answer.case.data.hex()] == []


def test_java_finds_our_values_in_our_bytes(sound: list[Answer]) -> None:
    told = [answer for answer in sound if answer.has_value]
    assert len(told) > 4000
    assert [answer for answer in told if answer.found_value() != answer.expected_value()] == []


def test_java_writes_our_values_as_our_bytes(sound: list[Answer]) -> None:
    readable = [answer for answer in sound if answer.is_readable_json]
    assert len(readable) > 4000
    assert [answer for answer in readable if answer.from_value != answer.expected_bytes()] == []


def test_java_refuses_what_is_predicted_and_takes_the_rest(release: str) -> None:
    broken = [answer for answer in answers(release) if answer.case.rule != SOUND and not answer.is_of_later_tags]
    assert len(broken) > 4000
    assert [answer for answer in broken if answer.written.startswith("refused") is not answer.case.refused] == []


def test_coverage_claims_of_java_what_is_tried_here_and_all_of_it(release: str) -> None:
    claimed = tuple((p.cls, p.version) for p in coverage.load().pairs() if java_source(release) in p.sources)
    assert claimed == pairs_of(release)


def test_every_exception_is_of_a_release_that_is_tried() -> None:
    assert {*DRAFTS, *LATER_TAGS, *LATER_NAMES} <= {*RELEASES}
