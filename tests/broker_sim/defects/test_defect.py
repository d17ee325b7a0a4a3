"""Every defect is documented."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.defects import DEFECTS, MODULES

if TYPE_CHECKING:
    from broker_sim.defects.defect import Defect


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_a_defect_teaches(defect: Defect) -> None:
    assert len(defect.lesson) > 300, "the paragraph that teaches is missing"
    assert defect.source
    assert defect.affected
    assert defect.anomalies


def test_a_file_is_named_after_its_defect() -> None:
    assert [name.replace("-", "_") for name in DEFECTS] == list(MODULES)
