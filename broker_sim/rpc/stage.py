"""A stage of the spine (`rpc_server`): up to four hooks, at the four points that every request passes.

A hook returns None to continue, or the request's result, or a Deferred of either when the request has to wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from twisted.internet.defer import Deferred

from broker_sim.apis.handler_result import NoResponse
from protocol_specs.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.handler_result import Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.faults.interception import Interception

__all__ = ["FrameHook", "RequestHook", "ResponseHook", "SentHook", "Stage", "Verdict"]

Verdict: TypeAlias = Message | NoResponse | Deferred[Message | NoResponse | None] | None
RequestHook: TypeAlias = "Callable[[RequestContext], Verdict]"
ResponseHook: TypeAlias = (
    "Callable[[RequestContext, Response | NoResponse], Response | NoResponse | Deferred[Response | NoResponse]]"
)
FrameHook: TypeAlias = "Callable[[RequestContext], Interception | None]"
SentHook: TypeAlias = "Callable[[RequestContext, int], None]"


class Stage:
    """One stage. Each hook is None by default; the spine does not call a hook that is None."""

    @property
    def on_arrival(self) -> RequestHook | None:
        """Called when the header of a request is known; the body may still be bytes."""
        return None

    @property
    def before_handler(self) -> RequestHook | None:
        """Called on the handler, before the API's handler function."""
        return None

    @property
    def on_response(self) -> ResponseHook | None:
        """Called with the result of the handler; returns the same result or a replacement."""
        return None

    @property
    def on_sent(self) -> SentHook | None:
        """Called after a response was passed to the transport, with its size in bytes."""
        return None
