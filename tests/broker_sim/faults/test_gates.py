from __future__ import annotations

from typing import Any

import pytest

from broker_sim.control.events import IsrChanged, TopicCreated, TransactionStateChanged
from broker_sim.faults.gates import EventGate
from broker_sim.faults.grammar import parse_rule
from protocol_specs import uuids

ISR = IsrChanged(
    time_us=0, broker_id=1, topic="orders", partition=2, isr=(1, 3), previous_isr=(1, 2, 3), leader_epoch=4,
    partition_epoch=5,
)  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({}, True),
        ({"topic": "ord*", "partition": 2}, True),
        ({"topic": "ord"}, False),
        ({"partition": [0, 2]}, True),
        ({"partition": [0, 1]}, False),
        ({"isr": [1, 3]}, True),
        ({"isr": [3, 1]}, False),
        ({"isr": 3}, True),
        ({"isr": 2}, False),
        ({"leader_epoch": {"at_least": 4}}, True),
        ({"leader_epoch": {"at_least": 1, "at_most": 3}}, False),
        ({"broker_id": 1}, True),
    ],
)
def test_an_event_fits_by_its_fields(fields: dict[str, Any], fits: bool) -> None:
    assert EventGate(IsrChanged, fields).fits(ISR) is fits


def test_an_event_of_another_kind_and_an_id_are_compared() -> None:
    made = TopicCreated(time_us=0, broker_id=-1, topic="orders", topic_id=b"x" * 16, partitions=1)
    assert not EventGate(IsrChanged, {}).fits(made)
    assert EventGate(TopicCreated, {"topic_id": uuids.to_text(b"x" * 16)}).fits(made)


def test_only_events_of_the_traffic_depend_on_the_detail_of_the_journal() -> None:
    assert EventGate(TransactionStateChanged, {}).is_traffic
    assert not EventGate(IsrChanged, {}).is_traffic


def test_the_fields_of_every_kind_are_known() -> None:
    rule = parse_rule(
        {
            "act": {"kill": 1},
            "when": {"event": {"kind": "GroupStateChanged", "group_id": "a", "state": "Stable"}, "at_ms": [1, 5]},
            "until": {"fired": "other"},
        }
    )
    assert rule.when is not None
    assert rule.until is not None
    assert rule.when.event is not None
    assert rule.when.event.fields == {"group_id": "a", "state": "Stable"}
    assert rule.until.rules == {"fired": "other"}
