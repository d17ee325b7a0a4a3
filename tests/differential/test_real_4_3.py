"""Real brokers of 4.3.1 against their own recordings: a case that is not repeatable proves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.differential.real_clusters import assert_responds_as_recorded, cases_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.case import Case
    from tests.interop.real_kafka import RealKafka

pytestmark = pytest.mark.interop

RELEASE = "4.3.1"


@pytest.mark.parametrize("each", cases_of(RELEASE, largest_first=True), ids=lambda each: each.name)
def test_the_real_broker_responds_as_recorded(real: Callable[[Case], RealKafka], each: Case) -> None:
    assert_responds_as_recorded(real(each), each)
