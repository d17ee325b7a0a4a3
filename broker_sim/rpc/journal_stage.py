"""The journal's stage: each request that arrives, each response that leaves, with the time of every step between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.control.events import GroupRequestRefused, RequestReceived, ResponseSent
from broker_sim.rpc.stage import Stage
from protocol_specs.entities import groups_of, members_of, named_values
from protocol_specs.error_codes import ErrorCode
from protocol_specs.message import Message

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import NoResponse, Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.control.journal import Journal
    from broker_sim.rpc.stage import RequestHook, ResponseHook, SentHook

__all__ = ["JournalStage"]

REFUSALS: Final = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.INVALID_SESSION_TIMEOUT,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.UNSUPPORTED_ASSIGNOR,
    }
)
"""The errors by which a group refuses a member."""
_ERROR_CODE: Final = frozenset({"error_code"})


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
    def on_response(self) -> ResponseHook | None:
        """Record that a group has refused a request of a member."""
        return self._record_refusal if self._journal.full else None

    @property
    def on_sent(self) -> SentHook | None:
        """Record the response."""
        return self._record_response if self._journal.full else None

    def _record_request(self, context: RequestContext) -> None:
        event = RequestReceived(
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
        if context.frame and context.replica_id < 0:
            self._journal.keep_frame(event, context.frame)
        self._journal.append(event)

    def _record_refusal(self, context: RequestContext, result: Response | NoResponse) -> Response | NoResponse:
        if isinstance(result, Message) and (groups := groups_of(context.request)):
            self._record_errors(context, result, groups[0])
        return result

    def _record_errors(self, context: RequestContext, response: Message, group: str) -> None:
        errors = [code for code in named_values(response, _ERROR_CODE) if code in REFUSALS]
        if errors:
            self._journal.append(
                GroupRequestRefused(
                    time_us=self._journal.now_us(),
                    broker_id=self._node_id,
                    group_id=group,
                    member_id=next(iter(members_of(context.request)), ""),
                    api=context.api_key.api_name,
                    error=ErrorCode(errors[0]).name,
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
                throttle_us=max(0, context.throttle_ms) * 1000,
                response_queue_us=now_us - remote_done_us,
                total_us=now_us - context.received_us,
            )
        )
