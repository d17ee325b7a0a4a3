"""The real clusters of the tests that repeat the recordings, one shape after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.kafka_release import ToolMissingError
from tests.whole_files import selected_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.differential.case import Case
    from tests.interop.real_kafka import RealKafka


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Iterator[Callable[[Case], RealKafka]]:
    """Return the cluster of a case, of the module's `RELEASE`."""
    from tests.differential.real_clusters import RealClusters

    tests: list[Any] = [each for each in selected_tests(request.session) if each.path == request.path]
    clusters = RealClusters(request.module.RELEASE, (each.callspec.params["each"] for each in tests))

    def started(each: Case) -> RealKafka:
        try:
            return clusters(each)
        except ToolMissingError as missing:
            pytest.skip(str(missing))

    yield started
    clusters.close()
