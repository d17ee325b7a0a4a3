"""The fault rules' stage: all that a rule does to a request happens here, on every transport.

A request that is held before it is parsed mutes its channel but occupies no handler, like bytes that are late. A wait
before or right after the append occupies the handler; a wait after the replication does not, because the request has
been in the purgatory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from twisted.internet.defer import Deferred

from broker_sim.apis.handler_result import NoResponse
from broker_sim.faults.interception import FaultPoint, Interception, Outcome, Phase
from broker_sim.log.append_results import PartitionAppend
from broker_sim.rpc.named_places import named_places, parsed_request
from broker_sim.rpc.quota_stage import SIZE_BYTES
from broker_sim.rpc.stage import Stage
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import MessageDecodeError, ProtocolError
from protocol_specs.framing import decode_response
from protocol_specs.registry import response_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from broker_sim.apis.handler_result import Response
    from broker_sim.apis.node_apis import NodeApis
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.faults.interception import Edit, Faults
    from broker_sim.rpc.stage import FrameHook, RequestHook, ResponseHook, SentHook, Verdict
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.message import Message

__all__ = ["CLOSED_BY_RULE", "FaultStage"]

CLOSED_BY_RULE: Final = "a fault rule closes the connection"
_IN_HANDLER: Final = (Phase.BEFORE_APPEND, Phase.AFTER_APPEND, Phase.AFTER_REPLICATION)


_Fired: TypeAlias = tuple[Interception, str | None, int | None]
"""What a rule wants, and the partition that it means."""


class FaultStage(Stage):
    """Active while a rule is open that could fire in the phases of a hook."""

    def __init__(self, node_id: int, apis: NodeApis, faults: Faults) -> None:
        self._node_id = node_id
        self._apis = apis
        self._faults = faults
        self._has_marked = False
        """A rule has decided about a response that was not there yet: from then on every response is checked."""

    # The hooks.

    @property
    def on_arrival(self) -> RequestHook | None:
        """Phase BEFORE_PARSE: the body is still bytes."""
        return self._before_parse if self._is_open(Phase.BEFORE_PARSE) else None

    @property
    def before_handler(self) -> RequestHook | None:
        """Phase BEFORE_APPEND; prepares a Produce for AFTER_APPEND and AFTER_REPLICATION."""
        return self._before_append if any(map(self._is_open, _IN_HANDLER)) else None

    @property
    def on_response(self) -> ResponseHook | None:
        """Phase BEFORE_RESPONSE: the response is complete, and not sent yet."""
        if self._faults.response_observers:
            return self._before_observed
        return self._before_response if self._has_marked or self._is_open(Phase.BEFORE_RESPONSE) else None

    @property
    def on_sent(self) -> SentHook | None:
        """Call the observers of responses."""
        return self._observe_response if self._faults.response_observers else None

    @property
    def on_frame(self) -> FrameHook | None:
        """Phase MID_RESPONSE, for transports with bytes: returns an interception, None to send the frame."""
        return self._mid_response if self._has_marked or self._is_open(Phase.MID_RESPONSE) else None

    def _is_open(self, phase: Phase) -> bool:
        return phase in self._faults.open_phases

    # The hooks.

    def _before_parse(self, context: RequestContext) -> Verdict:
        interception = self.intercept(Phase.BEFORE_PARSE, context)
        return (
            None if interception is None else _after_wait(interception, lambda: self._obey_early(context, interception))
        )

    def _obey_early(self, context: RequestContext, interception: Interception) -> Verdict:
        if context.connection.closed:
            return NoResponse.NO_OP
        if interception.edits and not _edit_request(context, interception.edits):
            return context.disconnect(CLOSED_BY_RULE)
        outcome = interception.outcome
        if outcome is Outcome.DROP_RESPONSE:
            self.lose_response(context)
        if outcome in {Outcome.PROCEED, Outcome.DROP_RESPONSE}:
            return None
        if outcome not in {Outcome.ERROR, Outcome.RESPOND}:
            return context.disconnect(CLOSED_BY_RULE)
        if not context.transport.decode(context):
            return NoResponse.NO_OP
        if interception.response is not None:
            return interception.response
        return self._error_response(context, interception.error_code)

    def _before_append(self, context: RequestContext) -> Verdict:
        if context.api_key is ApiKey.PRODUCE and context.replica_id < 0:
            context.append_hook = _AppendFaults(self, context)
        if not self._is_open(Phase.BEFORE_APPEND):
            return None
        partitions = self._apis.handlers.handler_of(context.api_key).partitions
        points: list[tuple[str | None, int | None]] = []
        if partitions is not None and context.replica_id < 0:
            points = [*partitions(context.request, context)]
        return self._before_appends(context, iter(points or [(None, None)]))

    def _before_appends(self, context: RequestContext, points: Iterator[tuple[str | None, int | None]]) -> Verdict:
        for topic, partition in points:
            interception = self.intercept(Phase.BEFORE_APPEND, context, topic, partition)
            if interception is None:
                continue
            if interception.wait is not None:
                return interception.wait.addCallback(self._waited, context, (interception, topic, partition), points)
            verdict = self._obey_in_handler(context, interception, topic, partition)
            if verdict is not None:
                return verdict
        return None

    def _waited(
        self, _: None, context: RequestContext, fired: _Fired, points: Iterator[tuple[str | None, int | None]]
    ) -> Verdict:
        return self._obey_in_handler(context, *fired) or self._before_appends(context, points)

    def _obey_in_handler(
        self, context: RequestContext, interception: Interception, topic: str | None, partition: int | None
    ) -> Verdict:
        outcome = interception.outcome
        if outcome in {Outcome.DISCONNECT, Outcome.CUT}:
            return context.disconnect(CLOSED_BY_RULE)
        if outcome is Outcome.DROP_RESPONSE:
            self.lose_response(context)
        elif outcome is Outcome.ERROR:
            if topic is None or partition is None:
                return self._error_response(context, interception.error_code)
            if context.injected_errors is None:
                context.injected_errors = {}
            context.injected_errors[topic, partition] = interception.error_code
        return None

    def lose_response(self, context: RequestContext) -> None:
        """Lose the response that there will be."""
        context.response_lost = True
        self._mark()

    def _mark(self) -> None:
        if not self._has_marked:
            self._has_marked = True
            self._faults.changed()

    def _before_response(
        self, context: RequestContext, result: Response | NoResponse
    ) -> Response | NoResponse | Deferred[Response | NoResponse]:
        if isinstance(result, NoResponse):
            return result
        if context.response_lost:
            return NoResponse.LOST
        interception = self.intercept(Phase.BEFORE_RESPONSE, context)
        if interception is None:
            return result

        def obey() -> Response | NoResponse:
            return self._edited(context, self._obey_late(context, result, interception), interception.edits)

        return _after_wait(interception, obey)  # type: ignore[no-any-return]

    def _before_observed(
        self, context: RequestContext, result: Response | NoResponse
    ) -> Response | NoResponse | Deferred[Response | NoResponse]:
        left = self._before_response(context, result)
        if isinstance(left, Deferred):
            return left.addCallback(self._keep_response, context)
        return self._keep_response(left, context)

    @staticmethod
    def _keep_response(result: Response | NoResponse, context: RequestContext) -> Response | NoResponse:
        context.observed_response = None if isinstance(result, NoResponse) else result
        return result

    def _observe_response(self, context: RequestContext, _: int) -> None:
        response = context.observed_response
        if response is None or context.replica_id >= 0:
            return
        if isinstance(response, bytes):
            try:
                cls = response_type(context.api_key)
                response = decode_response(cls, context.api_version, response[SIZE_BYTES:])[1]
            except ProtocolError:
                return  # a rule has broken its bytes: the client cannot read it either
        for observer in self._faults.response_observers:
            observer(self._point(context), response)

    def _obey_late(
        self, context: RequestContext, response: Response, interception: Interception
    ) -> Response | NoResponse:
        outcome = interception.outcome
        if outcome is Outcome.ERROR:
            return self._error_response(context, interception.error_code)
        if outcome is Outcome.DROP_RESPONSE:
            return NoResponse.LOST
        if outcome is Outcome.DISCONNECT:
            return context.disconnect(CLOSED_BY_RULE)
        if outcome is Outcome.CUT:
            context.cut_bytes = interception.cut_bytes
            self._mark()
        return response

    def _edited(
        self, context: RequestContext, result: Response | NoResponse, edits: Sequence[Edit]
    ) -> Response | NoResponse:
        # Imported with the first edit, which few processes need.
        from broker_sim.rpc.edited_messages import edited_response

        for edit in edits:
            if isinstance(result, NoResponse):
                break
            try:
                result = edited_response(context, result, edit.mutations)
            except ProtocolError as error:
                edit.report_problem(str(error))
        return result

    def _mid_response(self, context: RequestContext) -> Interception | None:
        return self.intercept(Phase.MID_RESPONSE, context)

    def intercept(
        self, phase: Phase, context: RequestContext, topic: str | None = None, partition: int | None = None
    ) -> Interception | None:
        """Return the result that the rules give a request in a phase, None to continue."""
        if self._faults.passes(phase, getattr(context.request, "RULE_API_KEY", context.api_key)):
            return None
        return self._faults.intercept(phase, self._point(context, topic, partition))

    def _point(self, context: RequestContext, topic: str | None = None, partition: int | None = None) -> FaultPoint:
        return FaultPoint(
            broker_id=self._node_id,
            api_key=getattr(context.request, "RULE_API_KEY", context.api_key),
            topic=topic,
            partition=partition,
            api_version=context.api_version,
            topic_id=None if topic is None else _topic_id(topic, context),
            client_id=context.client_id,
            connection_id=context.connection.connection_id,
            request_id=context.request_id,
            replica_id=context.replica_id,
            request=context.request,
            parse=lambda: parsed_request(context),
            find_places=lambda: named_places(context),
        )

    def _error_response(self, context: RequestContext, error_code: ErrorCode) -> Message | NoResponse:
        return self._apis.error_response(context, error_code)


class _AppendFaults:
    """The phases of one Produce between its append and its response."""

    def __init__(self, stage: FaultStage, context: RequestContext) -> None:
        self._stage = stage
        self._context = context
        self._appended: list[PartitionAppend] = []
        self._errors: dict[TopicPartition, ErrorCode] = {}

    def appended(self, results: list[PartitionAppend]) -> None:
        """Record the batches that the leader has appended."""
        self._appended = results

    def finished(
        self, results: list[PartitionAppend] | Deferred[list[PartitionAppend]]
    ) -> Deferred[list[PartitionAppend] | NoResponse]:
        """Pass both phases; the handler is held between them."""
        return Deferred.fromCoroutine(self._finish(results))

    async def _finish(
        self, results: list[PartitionAppend] | Deferred[list[PartitionAppend]]
    ) -> list[PartitionAppend] | NoResponse:
        context = self._context
        context.hold_handler()
        try:
            goes_on = await self._pass(Phase.AFTER_APPEND, results if isinstance(results, list) else self._appended)
        finally:
            context.release_handler()
        if not goes_on:
            return context.disconnect(CLOSED_BY_RULE)
        replicated = results if isinstance(results, list) else await results
        if not await self._pass(Phase.AFTER_REPLICATION, replicated):
            return context.disconnect(CLOSED_BY_RULE)
        return [
            PartitionAppend(topic_partition=result.topic_partition, error_code=self._errors[result.topic_partition])
            if result.topic_partition in self._errors
            else result
            for result in replicated
        ]

    async def _pass(self, phase: Phase, results: list[PartitionAppend]) -> bool:
        """Show the rules each partition that was appended to, one after the other; False when one disconnects."""
        goes_on = True
        for result in results:
            if result.error_code and result.error_code is not ErrorCode.REQUEST_TIMED_OUT:
                continue
            key = result.topic_partition
            interception = self._stage.intercept(phase, self._context, key.topic, key.partition)
            if interception is None:
                continue
            if interception.wait is not None:
                await interception.wait
            outcome = interception.outcome
            if outcome in {Outcome.DISCONNECT, Outcome.CUT}:
                goes_on = False
            elif outcome is Outcome.DROP_RESPONSE:
                self._stage.lose_response(self._context)
            elif outcome is Outcome.ERROR:
                self._errors[key] = interception.error_code
        return goes_on


def _edit_request(context: RequestContext, edits: Sequence[Edit]) -> bool:
    """Change a request; False if its header cannot be read any more."""
    from broker_sim.rpc.edited_messages import edit_request

    for edit in edits:
        try:
            edit_request(context, edit.mutations)
        except MessageDecodeError:
            return False
        except ProtocolError as error:
            edit.report_problem(str(error))
    return True


def _topic_id(topic: str, context: RequestContext) -> bytes | None:
    known = context.broker.metadata_cache.image.topics.get(topic)
    return None if known is None else known.topic_id


def _after_wait(interception: Interception, obey: Callable[[], Any]) -> Any:
    if interception.wait is None:
        return obey()
    return interception.wait.addCallback(lambda _: obey())
