"""The selection of requests by group, member and producer."""

from __future__ import annotations

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import FaultPoint, Phase
from protocol_specs.api_key import ApiKey
from protocol_specs.messages.end_txn import EndTxnRequest
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.write_txn_markers import WritableTxnMarker, WriteTxnMarkersRequest

PRODUCERS = "the producers [('pay-1', 7, 3, None)] of the request do not fit"


@pytest.mark.parametrize(
    ("select", "missed"),
    [
        ({"group": "order*"}, None),
        ({"group": "payments"}, (1, "the groups ['orders'] of the request do not fit \"payments\"")),
        ({"group": "orders", "member": "m-?"}, None),
        (
            {"api": "Heartbeat", "group": "orders", "member": "x"},
            (3, "the members ['m-1'] of the request do not fit \"x\""),
        ),
    ],
)
def test_patterns_select(select, missed):
    rule = parse_rule({"act": "hold", "select": select})
    assert rule.phase is Phase.BEFORE_APPEND
    request = HeartbeatRequest(group_id="orders", generation_id=1, member_id="m-1")
    point = FaultPoint(broker_id=1, api_key=ApiKey.HEARTBEAT, request=request)
    assert rule.select.mismatch(point, "Heartbeat", None) == missed


@pytest.mark.parametrize(
    ("select", "missed"),
    [
        ({"transaction": "pay-*", "producer_id": 7, "producer_epoch": [2, 3]}, None),
        ({"transaction": "*"}, None),
        (
            {"api": "EndTxn", "transaction": "ship-*", "producer_id": 7},
            (
                2,
                f"{PRODUCERS} transaction ship-*, producer_id one of [7]",
            ),
        ),
        (
            {"producer_id": 8},
            (1, f"{PRODUCERS} producer_id one of [8]"),
        ),
        ({"sequence": 0}, (1, f"{PRODUCERS} sequence one of [0]")),
    ],
)
def test_a_producer_is_selected(select, missed):
    rule = parse_rule({"act": "hold", "select": select})
    assert rule.phase is Phase.BEFORE_APPEND
    request = EndTxnRequest(transactional_id="pay-1", producer_id=7, producer_epoch=3, committed=True)
    point = FaultPoint(broker_id=1, api_key=ApiKey.END_TXN, request=request)
    assert rule.select.mismatch(point, "EndTxn", None) == missed


@pytest.mark.parametrize(
    ("select", "fits"),
    [
        ({"producer_id": 7, "producer_epoch": 3}, True),
        ({"producer_id": 8, "producer_epoch": 0}, True),
        ({"producer_id": 7, "producer_epoch": 0}, False),
        ({"transaction": "*"}, False),
    ],
)
def test_one_marker_must_fit_all_keys(select, fits):
    markers = [
        WritableTxnMarker(
            producer_id=producer_id, producer_epoch=epoch, transaction_result=True, topics=[], coordinator_epoch=0
        )
        for producer_id, epoch in ((7, 3), (8, 0))
    ]
    rule = parse_rule({"act": "hold", "select": {"api": "WriteTxnMarkers", "replica": "any", **select}})
    point = FaultPoint(
        broker_id=1, api_key=ApiKey.WRITE_TXN_MARKERS, replica_id=2, request=WriteTxnMarkersRequest(markers=markers)
    )
    assert (rule.select.mismatch(point, "WriteTxnMarkers", None) is None) is fits
