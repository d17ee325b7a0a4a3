from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.http_control.sent_records import THREE_BROKERS

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


def test_links_clocks_and_configurations_change(control: Control) -> None:
    path = control.new_cluster(**THREE_BROKERS)
    for verb in ("hold", "release", "cut", "restore"):
        control.post(f"{path}/links/1/2/{verb}")
    control.post(f"{path}/links/1/2/delay", {"delay_ms": 5})
    control.post(f"{path}/brokers/3/clock", {"jump_ms": 60_000, "drift_ppm": 100})
    control.post(f"{path}/brokers/3/isolate")
    control.post(f"{path}/brokers/3/rejoin")
    assert control.call("PATCH", f"{path}/topics/orders/configs", {"retention.ms": "1000"}).status == 204
    assert control.get(f"{path}/topics/orders")["configs"] == {"retention.ms": "1000"}
    control.post(f"{path}/topics/orders/partitions/0/reassign", {"replicas": [2, 3]})
    assert control.call("DELETE", f"{path}/topics/orders").status == 204
    assert control.call("GET", f"{path}/topics/orders").status == 404
