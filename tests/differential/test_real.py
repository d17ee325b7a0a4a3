"""The real brokers against their own recordings: a case that is not repeatable proves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.differential.case import BROKERS, RELEASES, Case, all_cases, run_case
from tests.differential.record import SETTINGS
from tests.differential.recordings import recorded
from tests.interop.kafka_release import ToolMissingError
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop


ASKED = [
    ((release, brokers), each)
    for release in RELEASES
    for brokers in BROKERS
    for each in all_cases().values()
    if release in each.releases and each.brokers == brokers
]


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Iterator[str]:
    """The bootstrap servers of one shape of cluster at a time: a machine holds few JVMs."""
    release, brokers = request.param
    try:
        with real_kafka(release, brokers=brokers, settings=SETTINGS) as kafka:
            yield kafka.bootstrap_servers
    except ToolMissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    ("real", "release", "each"),
    [(shape, shape[0], each) for shape, each in ASKED],
    indirect=["real"],
    ids=[f"{release}-{each.name}" for (release, _), each in ASKED],
)
def test_the_real_broker_answers_as_it_was_recorded(real: str, release: str, each: Case) -> None:
    assert run_case(each, real, release) == recorded(release)[each.name]
