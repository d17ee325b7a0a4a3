"""The real brokers against their own recordings: a case that is not repeatable proves nothing."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.differential.case import RELEASES, Case, all_cases, run_case
from tests.differential.probe import SILENT
from tests.differential.record import SETTINGS
from tests.differential.recordings import recorded
from tests.interop.kafka_release import ToolMissingError
from tests.interop.real_kafka import RealKafka, real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop


# By shape of cluster, because one runs at a time: a machine holds few JVMs.
RUNS = sorted(
    ((release, each) for release in RELEASES for each in all_cases().values() if release in each.releases),
    key=lambda run: (run[0], run[1].brokers, run[1].settings),
)


class OneAtATime:
    """The real cluster of the last shape that a case needed."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self._shape: tuple[str, int, dict[str, str]] | None = None
        self._kafka: RealKafka | None = None

    def __call__(self, release: str, each: Case) -> RealKafka:
        """A cluster of the case's shape; skip the test where it cannot be started."""
        settings = SETTINGS | dict(each.settings_for(release))
        shape = (release, each.brokers, settings)
        if self._shape != shape:
            self.stop()
            try:
                self._kafka = self._running.enter_context(real_kafka(release, brokers=each.brokers, settings=settings))
            except ToolMissingError as missing:
                pytest.skip(str(missing))
            self._shape = shape
        assert self._kafka is not None
        return self._kafka

    def stop(self) -> None:
        """Stop what runs."""
        self._shape = None
        self._running.close()


@pytest.fixture(scope="module")
def real() -> Iterator[OneAtATime]:
    clusters = OneAtATime()
    yield clusters
    clusters.stop()


@pytest.mark.parametrize(("release", "each"), RUNS, ids=[f"{release}-{each.name}" for release, each in RUNS])
def test_the_real_broker_responds_as_recorded(real: OneAtATime, release: str, each: Case) -> None:
    kafka = real(release, each)
    expected = recorded(release)[each.name]
    responded = run_case(each, kafka.probe_servers, release, kafka, expected=expected)
    if each.races:
        expected = [
            known | {"response": SILENT} if seen.get("response") == SILENT else known
            for seen, known in zip(responded, expected, strict=True)
        ]
    assert responded == expected
