from __future__ import annotations

from typing import Any

import pytest

from broker_scenarios.checks.on_the_wire.wire_facts import CallInCallback, Pool, WireFacts
from broker_scenarios.checks.wire_check import check_wire


def details(check: str, **facts: Any) -> list[str]:
    given = {"batches": (), "journal": (), "history": (), "operations": (), "clients": {}, "configs": {}, **facts}
    result = check_wire(WireFacts(**given), [check])
    assert result.crashes == []
    return [finding.detail for finding in result.findings]


@pytest.mark.parametrize(("free", "findings"), [(0, 0), (99, 0), (100, 0), (101, 1)])
def test_a_pool_never_has_more_than_its_memory(free: int, findings: int) -> None:
    pool = Pool(process=1, client_id="app", available_bytes=free, total_bytes=100)
    full = Pool(process=2, client_id="other", available_bytes=100, total_bytes=100)
    assert details("res-pool", pools=[pool, full]) == ["app has 101 bytes free of buffer.memory=100"] * findings


def test_a_call_in_a_callback_returns() -> None:
    calls = [
        CallInCallback(client_id="app", what="flush", begun_us=5, returned=True),
        CallInCallback(client_id="app", what="close", begun_us=6),
    ]
    assert details("res-callback", callbacks=calls) == ["close in a delivery callback of app never returned"]
