"""KafkaConfig of the real releases still gives every setting the recorded outcome, and so does ours."""

from __future__ import annotations

import pytest

from tests.broker_sim.config.start_config_cases import RELEASES, TOGETHER, alone, ours, read_recorded
from tests.interop.java_broker_config import run_java


@pytest.mark.parametrize("release", RELEASES)
def test_java_reports_what_was_recorded(release: str) -> None:
    assert run_java(release, TOGETHER) == read_recorded()[release]


@pytest.mark.parametrize("release", RELEASES)
def test_every_configuration_is_taken_or_refused_as_by_java(release: str) -> None:
    questions = list(alone(release))
    reported = zip(
        questions, run_java(release, questions), [ours(requested, release) for requested in questions], strict=True
    )
    assert [each for each in reported if bool(each[1]) != bool(each[2])] == []
