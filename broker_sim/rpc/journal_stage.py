"""The journal's stage: each request that arrives, each response that leaves, with the time of every step between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.control.events import RequestReceived, ResponseSent
from broker_sim.rpc.stage import Stage

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.control.journal import Journal
    from broker_sim.rpc.stage import RequestHook, SentHook

__all__ = ["JournalStage"]


class JournalStage(Stage):
    """Active while the journal keeps requests."""

    def __init__(self, node_id: int, journal: Journal) -> None:
        self._node_id = node_id
        self._journal = journal

    @property
    def on_arrival(self) -> RequestHook | None:
        """Record the request."""
        return self._record_request if self._journal.full else None

    @property
    def on_sent(self) -> SentHook | None:
        """Record the response."""
        return self._record_response if self._journal.full else None

    def _record_request(self, context: RequestContext) -> None:
        self._journal.append(
            RequestReceived(
                time_us=context.received_us,
                broker_id=self._node_id,
                api=context.api_key.api_name,
                api_version=context.api_version,
                request_id=context.request_id,
                connection_id=context.connection.connection_id,
                client_id=context.client_id,
                size=len(context.frame),
                replica_id=context.replica_id,
                correlation_id=context.correlation_id,
            )
        )

    def _record_response(self, context: RequestContext, size_bytes: int) -> None:
        now_us = self._journal.now_us()
        local_done_us = context.local_done_us if context.local_done_us >= 0 else now_us
        remote_done_us = context.remote_done_us if context.remote_done_us >= 0 else local_done_us
        self._journal.append(
            ResponseSent(
                time_us=now_us,
                broker_id=self._node_id,
                api=context.api_key.api_name,
                request_id=context.request_id,
                connection_id=context.connection.connection_id,
                size=size_bytes,
                queue_us=context.dequeued_us - context.received_us,
                local_us=local_done_us - context.dequeued_us,
                remote_us=remote_done_us - local_done_us,
                response_queue_us=now_us - remote_done_us,
                total_us=now_us - context.received_us,
            )
        )
