"""Defects that no broker ever had, planted to see that a test finds them."""

from __future__ import annotations

from broker_sim.defects.defect import Defect

__all__ = ["planted"]


def planted(*substitutes: type) -> Defect:
    """Return the defect that these substitutes make."""
    return Defect(
        name=substitutes[0].__name__,
        lesson=substitutes[0].__doc__ or "",
        source="tests",
        affected="no broker",
        anomalies=(),
        substitutes=substitutes,
    )
