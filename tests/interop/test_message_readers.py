"""Kafka's own message classes on drawn bytes: sound ones come back the same, broken ones are refused as predicted."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from protocol_specs import strategies
from tests.interop.kafka_release import RELEASES, classpath, java_tool
from tests.protocol_specs.every_message import MESSAGES

if TYPE_CHECKING:
    from protocol_specs.message import Message

PROGRAM = Path(__file__).parent / "java" / "ReadMessages.java"
RUN_SECONDS_MAX = 200
NO_VERSION = "no version"
SOUND = ""
QUICK = settings(
    max_examples=15,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class Case(NamedTuple):
    """Bytes of one message version, the rule that they break, whether they are to be refused, and Java's answer."""

    cls: type[Message]
    version: int
    data: bytes
    rule: str
    refused: bool
    answer: str = ""


@pytest.fixture(scope="module", params=RELEASES, ids=[f"kafka-clients-{release}" for release in RELEASES])
def cases(request: pytest.FixtureRequest) -> list[Case]:
    """Drawn bytes of every message version that the release has, with its answers: one JVM reads them all."""
    java_tool("javac")  # a runtime alone cannot launch a source file
    drawn = every_case()
    lines = [f"{case.cls.__name__} {case.cls.API_KEY} {case.version} {case.data.hex()}\n" for case in drawn]
    run = subprocess.run(
        [java_tool("java"), "-cp", classpath(request.param), str(PROGRAM)],
        input="".join(lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stderr
    answered = [case._replace(answer=answer) for case, answer in zip(drawn, run.stdout.splitlines(), strict=True)]
    return [case for case in answered if case.answer != NO_VERSION]


@cache
def every_case() -> list[Case]:
    return [case for cls, version in MESSAGES for case in drawn_cases(cls, version)]


def drawn_cases(cls: type[Message], version: int) -> list[Case]:
    drawn: list[Case] = []

    @QUICK
    @given(strategies.message(cls, version), strategies.nearly_valid(cls, version))
    def draw(message: Message, broken: strategies.NearlyValid) -> None:
        drawn.append(Case(cls, version, message.encode(version), SOUND, refused=False))
        drawn.append(Case(cls, version, *broken))

    draw()
    return drawn


def test_java_writes_sound_bytes_as_it_read_them(cases: list[Case]) -> None:
    sound = [case for case in cases if case.rule == SOUND]
    assert len(sound) > 1000
    assert [case for case in sound if case.answer != case.data.hex()] == []


def test_java_refuses_what_is_predicted_and_takes_the_rest(cases: list[Case]) -> None:
    broken = [case for case in cases if case.rule != SOUND]
    assert len(broken) > 1000
    assert [case for case in broken if case.answer.startswith("refused") is not case.refused] == []
