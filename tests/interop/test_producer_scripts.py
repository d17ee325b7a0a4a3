"""The scripts of tests/client again on TCP: the Java producer asks for what was recorded, and ours for the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sim_runtime.reactor_thread import ReactorThread
from tests.client.recorded_streams import differences_from_java
from tests.client.scripts.every import SCRIPTS
from tests.interop.java_scripts import java_producers, run_ours_on_tcp, run_with_java

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client.producer_script import Script


@pytest.fixture(scope="module")
def thread() -> Iterator[ReactorThread]:
    with ReactorThread("scripted cluster") as running:
        yield running


@pytest.fixture(scope="module")
def java_port() -> Iterator[int]:
    with java_producers() as port:
        yield port


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_java_asks_for_what_was_recorded(thread: ReactorThread, java_port: int, script: Script) -> None:
    differences = differences_from_java(script.name, run_with_java(thread, script, java_port))
    assert not differences, differences


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_ours_asks_for_the_same_on_tcp(thread: ReactorThread, script: Script) -> None:
    differences = differences_from_java(script.name, run_ours_on_tcp(thread, script))
    assert not differences, differences
