"""The real brokers against their own recordings: a case that is not repeatable proves nothing."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from tests.differential.case import RELEASES, Case, all_cases, run_case
from tests.differential.probe import SILENT
from tests.differential.record import SETTINGS
from tests.differential.recordings import recorded
from tests.interop.kafka_release import ToolMissingError
from tests.interop.real_kafka import RealKafka, real_kafka
from tests.whole_files import selected_tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

pytestmark = pytest.mark.interop


Shape = tuple[str, int, dict[str, str]]
"""The release of a cluster, its number of brokers, and their configurations."""


def shape_of(release: str, each: Case) -> Shape:
    """The shape of the cluster that a case needs."""
    return release, each.brokers, SETTINGS | dict(each.settings_for(release))


# By shape of cluster, because one runs at a time: a machine holds few JVMs.
RUNS = sorted(
    ((release, each) for release in RELEASES for each in all_cases().values() if release in each.releases),
    key=lambda run: (run[0], run[1].brokers, sorted(shape_of(*run)[2].items())),
)


class RealClusters:
    """The real clusters of the runs to come: one at a time, and the next one starts beside the last run of each."""

    def __init__(self, runs: Iterable[tuple[str, Case]]) -> None:
        self._to_come = [(shape, sum(1 for _ in group)) for shape, group in groupby(runs, lambda run: shape_of(*run))]
        self._present: _Started | None = None
        self._next: _Started | None = None
        self._starter = ThreadPoolExecutor(1)

    def __call__(self, release: str, each: Case) -> RealKafka:
        """A cluster of the case's shape. Raise ToolMissingError where it cannot be started."""
        shape = shape_of(release, each)
        if self._present is None or self._present.shape != shape:
            self._stop()
            started = self._next
            if started is None or started.shape != shape:
                started = self._start(shape, self._runs_of(shape))
            self._present, self._next = started, None
        self._present.runs -= 1
        if not self._present.runs and self._to_come:
            self._next = self._start(*self._to_come.pop(0))
        return self._present.kafka.result()

    def close(self) -> None:
        """Stop what runs."""
        self._stop()
        self._present = self._next
        self._stop()
        self._starter.shutdown()

    def _start(self, shape: Shape, runs: int) -> _Started:
        release, brokers, settings = shape
        running = ExitStack()
        cluster = real_kafka(release, brokers=brokers, settings=settings)
        return _Started(shape, runs, self._starter.submit(running.enter_context, cluster), running)

    def _stop(self) -> None:
        if self._present is not None:
            wait([self._present.kafka])
            self._present.running.close()

    def _runs_of(self, shape: Shape) -> int:
        """How many runs of this shape follow each other; those before them are not coming, as in a part of the file."""
        while self._to_come:
            known, runs = self._to_come.pop(0)
            if known == shape:
                return runs
        return 0


@dataclass(slots=True)
class _Started:
    """A cluster that starts or runs, and how many runs it has before it."""

    shape: Shape
    runs: int
    kafka: Future[RealKafka]
    running: ExitStack


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Iterator[RealClusters]:
    tests: list[Any] = [each for each in selected_tests(request.session) if each.path == request.path]
    clusters = RealClusters((each.callspec.params["release"], each.callspec.params["each"]) for each in tests)
    yield clusters
    clusters.close()


@pytest.mark.parametrize(("release", "each"), RUNS, ids=[f"{release}-{each.name}" for release, each in RUNS])
def test_the_real_broker_responds_as_recorded(real: RealClusters, release: str, each: Case) -> None:
    try:
        kafka = real(release, each)
    except ToolMissingError as missing:
        pytest.skip(str(missing))
    expected = recorded(release)[each.name]
    responded = run_case(each, kafka.probe_servers, release, kafka, expected=expected)
    if each.races:
        expected = [
            known | {"response": SILENT} if seen.get("response") == SILENT else known
            for seen, known in zip(responded, expected, strict=True)
        ]
    assert responded == expected
