"""Interop tests need tools that a machine may lack: what cannot run is skipped, and its reason names the tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interop.kafka_release import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Generator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = str(Path(__file__).parent / "test_")
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.interop)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, object, object]:
    try:
        return (yield)
    except ToolMissingError as missing:
        pytest.skip(str(missing))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    try:
        return (yield)
    except ToolMissingError as missing:
        pytest.skip(str(missing))
