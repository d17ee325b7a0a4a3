"""The spine, the request path of one node: every request passes the same stages in the same order on every transport.

`stages` lists them. On arrival and before the handler a request passes the stages from the first to the last, and its
response from the last to the first. Only active hooks are called: their lists are rebuilt when fault rules or quotas
change, so that an idle stage costs nothing. Mirrors KafkaApis.handle and ControllerApis.handle with
RequestHandlerHelper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from broker_sim.apis.handler_result import RESPONSES, LateResponse, NoResponse
from broker_sim.rpc.fault_stage import FaultStage
from broker_sim.rpc.journal_stage import JournalStage
from broker_sim.rpc.quota_stage import QuotaStage

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.handler_result import HandlerResult, Response
    from broker_sim.apis.node_apis import NodeApis
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.control.journal import Journal
    from broker_sim.faults.interception import Faults
    from broker_sim.quotas.quota_managers import QuotaManagers
    from broker_sim.rpc.stage import FrameHook, RequestHook, ResponseHook, SentHook, Stage, Verdict

__all__ = ["RpcServer"]

_log = Logger()


class RpcServer:
    """The spine of one incarnation of a node. A transport calls `receive`, `handle`, `respond` and `sent` in order."""

    def __init__(
        self,
        *,
        node_id: int,
        apis: NodeApis,
        journal: Journal,
        faults: Faults,
        quotas: QuotaManagers,
        quota_stage: QuotaStage | None = None,
    ) -> None:
        """Make the stages; `quota_stage` is one that throttles in another way than since 2.0."""
        self.apis = apis
        self._faults = FaultStage(node_id, apis, faults)
        self._quota_stage = quota_stage or QuotaStage(quotas)
        self.stages: tuple[Stage, ...] = (
            JournalStage(node_id, journal),
            self._faults,
            self._quota_stage,
        )
        self.on_arrival: tuple[RequestHook, ...] = ()
        self._before_handler: tuple[RequestHook, ...] = ()
        self._on_response: tuple[ResponseHook, ...] = ()
        self.on_sent: tuple[SentHook, ...] = ()
        self.on_frame: FrameHook | None = None
        """Returns the fault action for the bytes of a response, for transports that encode responses."""
        self._now_us = journal.now_us
        self._delayed_actions: list[Callable[[], object]] = []
        self.handle: Callable[[RequestContext], HandlerResult] = apis.serve
        """Serve a request on a handler. A failure becomes the API's error response, as in KafkaApis.handle."""
        self._stop_watching = [faults.watch(self.refresh), quotas.watch(self.refresh)]
        self.refresh()

    def refresh(self) -> None:
        """Rebuild the lists of active hooks, after a stage has become active or idle."""
        stages = self.stages
        self.on_arrival = tuple(filter(None, [stage.on_arrival for stage in stages]))
        self._before_handler = tuple(filter(None, [stage.before_handler for stage in stages]))
        self._on_response = tuple(filter(None, [stage.on_response for stage in reversed(stages)]))
        self.on_sent = tuple(filter(None, [stage.on_sent for stage in stages]))
        self.on_frame = self._faults.on_frame
        self._choose_handle()

    def _choose_handle(self) -> None:
        """An idle part costs nothing: requests go to the first function that has something to do."""
        if self._delayed_actions:
            self.handle = self._handle_and_act
        else:
            self.handle = self._handle_by_stages if self._before_handler else self.apis.serve

    def after_next_request(self, action: Callable[[], object]) -> None:
        """Run `action` when the handler of the next request returns. Mirrors ReplicaManager.addToActionQueue."""
        self._delayed_actions.append(action)
        self._choose_handle()

    def stop(self) -> None:
        """Stop watching fault rules and quotas: the incarnation of the node has ended."""
        self._quota_stage.stop()
        for stop_watching in self._stop_watching:
            stop_watching()

    # Calls of a transport.

    def receive(self, context: RequestContext) -> None:
        """Pass a request with a known header to the stages; `Transport.accept` follows, unless a stage ends it."""
        if self.on_arrival:
            self._arrive(context, 0, None)
        else:
            context.transport.accept(context)

    def _handle_and_act(self, context: RequestContext) -> HandlerResult:
        """Serve a request, then run the actions that were there before. Mirrors ReplicaManager.tryCompleteActions."""
        actions, self._delayed_actions = self._delayed_actions, []
        self._choose_handle()
        result = self.handle(context)
        for action in actions:
            action()
        return result

    def _handle_by_stages(self, context: RequestContext) -> HandlerResult:
        return self._enter(None, context, 0)

    def respond(self, context: RequestContext, result: HandlerResult) -> None:
        """Send the result of a handler: immediately or, for a LateResponse or a Deferred, when it is there."""
        # Responses first: the tests for an enum's class and for Deferred, an abstract class, are slow.
        if isinstance(result, RESPONSES):
            if self._on_response:
                self._leave(result, context, 0)
            else:
                context.transport.send(context, result)
        elif isinstance(result, LateResponse):
            context.local_done_us = self._now_us()
            result.send_with(self._respond_late, context)
        elif isinstance(result, NoResponse) or not isinstance(result, Deferred):
            self._leave(result, context, 0)
        else:
            context.local_done_us = self._now_us()
            # One pair of callbacks for each request that waits: every further pair costs as much again.
            arguments = (context,)
            result.addCallbacks(
                self._respond_late, self._failed_to_respond, callbackArgs=arguments, errbackArgs=arguments
            )

    def sent(self, context: RequestContext, size_bytes: int) -> None:
        """Call the hooks of a response that was passed to the transport."""
        for hook in self.on_sent:
            hook(context, size_bytes)

    # The stages of a request.

    def _arrive(self, context: RequestContext, position: int, verdict: Any) -> None:
        hooks = self.on_arrival
        while verdict is None and position < len(hooks):
            verdict = hooks[position](context)
            position += 1
        if verdict is None:
            context.transport.accept(context)
        elif isinstance(verdict, Deferred):
            verdict.addCallback(lambda late: self._arrive(context, position, late))
            verdict.addErrback(self._failed_to_respond, context)
        else:
            self.respond(context, verdict)

    def _enter(self, verdict: Any, context: RequestContext, position: int) -> HandlerResult:
        hooks = self._before_handler
        while verdict is None and position < len(hooks):
            verdict = hooks[position](context)
            position += 1
        if verdict is None:
            return self.apis.serve(context)
        if isinstance(verdict, Deferred):
            context.hold_handler()
            return cast("HandlerResult", verdict.addCallback(self._entered_late, context, position))
        return verdict  # type: ignore[no-any-return]

    def _entered_late(self, verdict: Verdict, context: RequestContext, position: int) -> HandlerResult:
        try:
            return self._enter(verdict, context, position)
        finally:
            context.release_handler()

    # The stages of a response.

    def _respond_late(self, result: Response | NoResponse | LateResponse, context: RequestContext) -> None:
        try:
            if isinstance(result, LateResponse):  # of a handler that a stage has delayed
                result.send_with(self._respond_late, context)
                return
            context.remote_done_us = self._now_us()
            if self._on_response or not isinstance(result, RESPONSES):
                self._leave(result, context, 0)
            else:
                context.transport.send(context, result)
        except Exception:  # noqa: BLE001 - the client of a response that cannot be sent sees a closed connection
            self._failed_to_respond(Failure(), context)

    def _leave(self, result: Any, context: RequestContext, position: int) -> None:
        hooks = self._on_response
        while position < len(hooks):
            result = hooks[position](context, result)
            position += 1
            if not isinstance(result, RESPONSES) and isinstance(result, Deferred):
                result.addCallback(self._leave, context, position)
                result.addErrback(self._failed_to_respond, context)
                return
        if isinstance(result, NoResponse):
            context.transport.finish(context, result)
        else:
            context.transport.send(context, result)

    def _failed_to_respond(self, failure: Failure, context: RequestContext) -> None:
        _log.failure("Unexpected error responding to {context!r}", failure=failure, context=context)
        context.transport.fail(context)
