"""Calls about the process: is it up, and what can it do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_sim.http_control.operation import Operation

if TYPE_CHECKING:
    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS"]


@dataclass(frozen=True, slots=True)
class Health:
    """The server responds, and so many clusters run."""

    status: str
    clusters: int


def health(call: Call) -> Health:
    """Return that the server is up."""
    return Health("up", sum(1 for _ in call.clusters))


def openapi(call: Call) -> dict[str, Any]:  # noqa: ARG001 - as every handler
    """Return the OpenAPI document."""
    from broker_sim.http_control.openapi import openapi_document

    return openapi_document()


def page(call: Call) -> str:
    """Return the live page."""
    from broker_sim.http_control.live_page import POLICY, live_page

    call.request.setHeader("Content-Security-Policy", POLICY)
    return live_page()


OPERATIONS = (
    Operation(
        method="GET",
        path="/",
        name="livePage",
        summary="A page that shows the clusters and injects faults.",
        handle=page,
        result=str,
        media_type="text/html; charset=utf-8",
    ),
    Operation(
        method="GET",
        path="/health",
        name="health",
        summary="Report that the server is up.",
        handle=health,
        result=Health,
    ),
    Operation(
        method="GET",
        path="/openapi.json",
        name="openApi",
        summary="The OpenAPI 3.1 document of all calls.",
        handle=openapi,
        result=dict[str, Any],
    ),
)
