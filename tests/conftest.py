"""What holds for all tests: Hypothesis without a clock, and the longest file first.

How long an example takes depends on what else the machine does. A check of a commit (`CI` is set) draws the same
examples each time, so that it answers for the commit and not for the day; everywhere else each run draws new ones.

`make test` gives whole files to two processes: the one that takes minutes must not come last, when the other has
nothing left to do.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import pytest

LONGEST = "test_documents.py"

settings.register_profile("developer", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("developer"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name != LONGEST)
