"""KafkaConfig of the real releases still says of every setting what was recorded, and what ours says."""

from __future__ import annotations

import pytest

from tests.broker_sim.config.start_config_cases import RELEASES, TOGETHER, alone, ours, read_recorded
from tests.interop.java_broker_config import ask_java


@pytest.mark.parametrize("release", RELEASES)
def test_java_says_what_was_recorded(release: str) -> None:
    assert ask_java(release, TOGETHER) == read_recorded()[release]


@pytest.mark.parametrize("release", RELEASES)
def test_every_configuration_is_taken_or_refused_as_by_java(release: str) -> None:
    questions = list(alone(release))
    told = zip(questions, ask_java(release, questions), [ours(asked, release) for asked in questions], strict=True)
    assert [each for each in told if bool(each[1]) != bool(each[2])] == []
