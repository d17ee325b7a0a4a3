"""The real brokers against their own recordings: a case that is not repeatable proves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.differential.case import RELEASES, all_cases, run_case
from tests.differential.record import SETTINGS
from tests.differential.recordings import recorded
from tests.interop.kafka_release import ToolMissingError
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module", params=RELEASES)
def real(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    try:
        with real_kafka(request.param, settings=SETTINGS) as kafka:
            yield request.param, kafka.bootstrap_servers
    except ToolMissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", list(all_cases()))
def test_the_real_broker_answers_as_it_was_recorded(real: tuple[str, str], name: str) -> None:
    release, bootstrap = real
    each = all_cases()[name]
    if release in each.releases:
        assert run_case(each, bootstrap, release) == recorded(release)[name]
