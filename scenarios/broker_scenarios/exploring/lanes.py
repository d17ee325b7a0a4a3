"""The messages that a schedule can deliver: what they are, to whom they go, and how one is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.links.stepped_link import SteppedLink
from protocol_specs.api_key import ApiKey
from sim_runtime.stepped_world import SteppedFlow
from sim_runtime.virtual_flow import SegmentKind

if TYPE_CHECKING:
    from sim_runtime.stepped_reactor import Lane

__all__ = ["carries_produce_request", "describe", "node_name", "nodes_of"]

_API_KEYS: Final = frozenset(ApiKey)
_API_KEY: Final = slice(4, 6)
"""The place of the API key in a request's frame, behind its size."""


def node_name(node: str | int) -> str:
    """Return the name of a node's host: brokers are known by their ids on links, and by their hosts on connections."""
    if isinstance(node, str):
        return node
    return "controller" if node == CONTROLLER_ID else f"broker-{node}"


def nodes_of(lane: Lane) -> tuple[str, str]:
    """Return the names of the sender and of the receiver."""
    return node_name(lane.source), node_name(lane.target)


def describe(lane: Lane) -> str:
    """Return what the next message of a lane is: `Fetch response`, `Produce request`, `RST`."""
    if isinstance(lane, SteppedLink):
        call, payload = next(lane.contents)
        form = "request" if payload is call.request else "reset" if isinstance(payload, str) else "response"
        return f"{call.request.NAME} {form}"
    assert isinstance(lane, SteppedFlow), f"{lane} is no lane of a cluster"
    kind, data = lane.head
    if kind is not SegmentKind.DATA:
        return kind.name
    api_key = _api_key(lane)
    return f"response, {len(data)} bytes" if api_key is None else f"{api_key.api_name} request"


def carries_produce_request(lane: Lane) -> bool:
    """Return True if the next message of a lane is a Produce request of a client."""
    return isinstance(lane, SteppedFlow) and lane.head[0] is SegmentKind.DATA and _api_key(lane) is ApiKey.PRODUCE


def _api_key(lane: SteppedFlow) -> ApiKey | None:
    """Return the API of a request on a client's connection, None for a response."""
    if not lane.is_from_client:
        return None
    number = int.from_bytes(lane.head[1][_API_KEY], "big")
    return ApiKey(number) if number in _API_KEYS else None
