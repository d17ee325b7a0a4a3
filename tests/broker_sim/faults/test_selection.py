from __future__ import annotations

from typing import Any

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import FaultPoint, Phase
from protocol_specs.api_key import ApiKey


def select(**written: Any) -> Any:
    return parse_rule({"act": "hold", "select": written}).select


@pytest.mark.parametrize(
    ("version", "fits"), [(9, True), ([8, 9], True), ({"at_least": 9}, True), ({"at_most": 8}, False), (3, False)]
)
def test_a_version_is_selected(version: object, fits: bool) -> None:
    point = FaultPoint(broker_id=1, api_key=ApiKey.PRODUCE, api_version=9)
    missed = select(version=version).mismatch(point, "Produce", None)
    assert (missed is None) is fits
    assert missed is None or missed[1].startswith("version 9 is not ")


def test_a_partition_of_the_phase_is_exact_and_a_whole_request_has_all_that_it_names() -> None:
    chosen = select(topic="orders", partition=1)
    one = FaultPoint(broker_id=1, api_key=None, topic="orders", partition=0, find_places=lambda: [("orders", 1)])
    assert chosen.mismatch(one, "Produce", None) == (1, "partition 0 is not one of [1]")
    whole = FaultPoint(broker_id=1, api_key=None, find_places=lambda: [("orders", 0), ("orders", 1)])
    assert chosen.mismatch(whole, "Produce", None) is None
    other = FaultPoint(broker_id=1, api_key=None, find_places=lambda: [("orders", 0), ("audit", 1)])
    missed = chosen.mismatch(other, "Produce", None)
    assert missed == (1, "the partitions [('orders', 0), ('audit', 1)] of the request do not fit \"orders\" one of [1]")


def test_the_body_is_parsed_for_a_rule_that_selects_on_it_before_it_is_parsed() -> None:
    rule = parse_rule({"act": "hold", "phase": "before_parse", "select": {"group": "g"}})
    assert rule.phase is Phase.BEFORE_PARSE
    parsed: list[int] = []
    point = FaultPoint(broker_id=1, api_key=ApiKey.HEARTBEAT, parse=lambda: parsed.append(1))  # type: ignore[arg-type,return-value]
    assert rule.select.mismatch(point, "Heartbeat", None) is not None
    assert parsed


def test_a_place_without_a_number_does_not_fit_a_range_and_is_not_searched_in_it() -> None:
    """A search through the range for None would take hours."""
    whole = FaultPoint(broker_id=1, api_key=None, find_places=lambda: [("orders", None)])
    for partition in ({"at_least": 3}, {"at_most": 2**40}):
        assert select(topic="orders", partition=partition).mismatch(whole, "Metadata", None) is not None
