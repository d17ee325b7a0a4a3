from __future__ import annotations

from broker_sim.http_control.operations import OPERATIONS


def test_each_call_has_one_name_and_one_place() -> None:
    names = [each.name for each in OPERATIONS]
    assert len(set(names)) == len(names)
    places = [(each.method, each.path) for each in OPERATIONS]
    assert len(set(places)) == len(places)
