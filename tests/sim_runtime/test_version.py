from __future__ import annotations

from importlib.metadata import version

from sim_runtime.version import VERSION


def test_the_distribution_has_the_version_of_the_code() -> None:
    assert version("broker-sim") == VERSION
