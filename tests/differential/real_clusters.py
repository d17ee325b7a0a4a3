"""The real clusters of the recorded cases of a release: cases of one shape share one; the next starts meanwhile."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from tests.differential.case import Case, all_cases, run_case
from tests.differential.probe import SILENT
from tests.differential.record import SETTINGS
from tests.differential.recordings import recorded
from tests.interop.real_kafka import RealKafka, real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterable

Shape = tuple[int, dict[str, str]]
"""The number of brokers of a cluster, and their configurations."""


def shape_of(release: str, each: Case) -> Shape:
    """Return the shape of the cluster that a case needs."""
    return each.brokers, SETTINGS | dict(each.settings_for(release))


def cases_of(release: str, *, largest_first: bool = False) -> list[Case]:
    """Return the cases of a release by shape of cluster, because one runs at a time: a machine holds few JVMs.

    Releases run beside each other: if one begins with the largest clusters, not both have theirs at the same time.
    """
    cases = [each for each in all_cases().values() if release in each.releases]
    return sorted(
        cases,
        key=lambda each: (each.brokers, sorted(shape_of(release, each)[1].items())),
        reverse=largest_first,
    )


class RealClusters:
    """The real clusters of the cases to come: one at a time, and the next one starts beside the last case of each."""

    def __init__(self, release: str, cases: Iterable[Case]) -> None:
        self.release = release
        shapes = groupby(cases, lambda each: shape_of(release, each))
        self._to_come = [(shape, sum(1 for _ in group)) for shape, group in shapes]
        self._present: _Started | None = None
        self._next: _Started | None = None
        self._starter = ThreadPoolExecutor(1)

    def __call__(self, each: Case) -> RealKafka:
        """Return a cluster of the case's shape. Raise ToolMissingError where it cannot be started."""
        shape = shape_of(self.release, each)
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
        """Stop the clusters that run."""
        self._stop()
        self._present = self._next
        self._stop()
        self._starter.shutdown()

    def _start(self, shape: Shape, runs: int) -> _Started:
        brokers, settings = shape
        running = ExitStack()
        cluster = real_kafka(self.release, brokers=brokers, settings=settings)
        return _Started(shape, runs, self._starter.submit(running.enter_context, cluster), running)

    def _stop(self) -> None:
        if self._present is not None:
            wait([self._present.kafka])
            self._present.running.close()

    def _runs_of(self, shape: Shape) -> int:
        """How many cases of this shape follow each other; those before are not coming, as in a part of the file."""
        while self._to_come:
            known, runs = self._to_come.pop(0)
            if known == shape:
                return runs
        return 0


@dataclass(slots=True)
class _Started:
    """A cluster that starts or runs, and how many cases it has before it."""

    shape: Shape
    runs: int
    kafka: Future[RealKafka]
    running: ExitStack


def assert_responds_as_recorded(kafka: RealKafka, each: Case) -> None:
    """Run a case on a real cluster and compare the responses with the recorded ones."""
    expected = recorded(kafka.release)[each.name]
    responded = run_case(each, kafka.probe_servers, kafka.release, kafka, expected=expected)
    if each.races:
        expected = [
            known | {"response": SILENT} if seen.get("response") == SILENT else known
            for seen, known in zip(responded, expected, strict=True)
        ]
    assert responded == expected
