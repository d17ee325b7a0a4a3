"""The scripts of tests/client again on TCP: the Java producer sends the recorded requests, and ours sends the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from sim_runtime.reactor_thread import ReactorThread
from tests.client.recorded_streams import differences_from_java
from tests.client.script_runs import RunResult
from tests.client.scripts.every import SCRIPTS
from tests.interop.java_scripts import Outcome, java_producers, run_all_of_ours_on_tcp, run_all_with_java
from tests.whole_files import selected_tests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client.producer_script import Script

pytestmark = pytest.mark.alone

Outcomes: TypeAlias = dict[str, Outcome]


@pytest.fixture(scope="module")
def thread() -> Iterator[ReactorThread]:
    with ReactorThread("scripted cluster") as running:
        yield running


@pytest.fixture(scope="module")
def of_java(thread: ReactorThread, request: pytest.FixtureRequest) -> Outcomes:
    with java_producers() as port:
        return run_all_with_java(thread, requested_for(request, "test_java_requests_what_was_recorded"), port)


@pytest.fixture(scope="module")
def ours(thread: ReactorThread, request: pytest.FixtureRequest) -> Outcomes:
    return run_all_of_ours_on_tcp(thread, requested_for(request, "test_ours_requests_the_same_on_tcp"))


def requested_for(request: pytest.FixtureRequest, test: str) -> list[Script]:
    """The scripts that the session has a test of."""
    chosen = {item.name for item in selected_tests(request.session)}
    return [script for script in SCRIPTS if f"{test}[{script.name}]" in chosen]


def check(name: str, outcomes: Outcomes) -> None:
    result = outcomes[name]
    assert isinstance(result, RunResult), result
    differences = differences_from_java(name, result)
    assert not differences, differences


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_java_requests_what_was_recorded(of_java: Outcomes, script: Script) -> None:
    check(script.name, of_java)


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_ours_requests_the_same_on_tcp(ours: Outcomes, script: Script) -> None:
    check(script.name, ours)
