from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.broker_sim.http_control.conftest import Control


def test_health_is_there_without_a_cluster(control: Control) -> None:
    assert control.get("/health")["status"] == "up"


def test_head_has_the_headers_alone(control: Control) -> None:
    response = control.call("HEAD", "/health")
    assert (response.status, response.text) == (200, "")
    assert int(response.headers["Content-Length"]) > 0
