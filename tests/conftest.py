"""What holds for all tests: Hypothesis without a clock, the longest files first, and a small heap to collect.

How long an example takes depends on what else the machine does. A check of a commit (`CI` is set) draws the same
examples each time, so that it answers for the commit and not for the day; everywhere else each run draws new ones.

`make test` gives whole files, in the order of collection, to three processes: two cores have work while one of them
waits for a silence, a server or a JVM. A file that takes long must not come last, when the others have nothing left.

What stays for good (modules, 17,000 collected tests, generated codecs, cached strategies) is hidden from the garbage
collector where a file begins: each full collection walks what its own file has made, and no more.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.certificate_authority import Certificates

LONGEST: Final = (
    "test_ours.py",
    "test_documents.py",
    "test_sweep.py",
    "test_mutated_frames.py",
    "test_replication_machine.py",
    "test_reference.py",
    "test_conversations.py",
    "test_every_release.py",
    "test_soak.py",
    "test_scale.py",
    "test_check.py",
    "test_rules.py",
    "test_messages.py",
    "test_serve.py",
)
FROZEN_FOR: Final = pytest.StashKey[Path]()

settings.register_profile("developer", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("developer"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    if item.config.stash.get(FROZEN_FOR, None) != item.path:
        item.config.stash[FROZEN_FOR] = item.path
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    from tests.certificate_authority import certificates_in

    return certificates_in(tmp_path_factory.mktemp("certificates"))
