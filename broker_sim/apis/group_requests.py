"""The parts that the handlers of groups share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.client_info import ClientInfo

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext

__all__ = ["client_info"]


def client_info(context: RequestContext) -> ClientInfo:
    """Return the client of a request; a client without an id has an empty one, as in RequestHeader.parse."""
    return ClientInfo(context.client_id or "", f"/{context.client_host}", context.api_version)
