"""Where fault rules meet a request in the network layer: before its body is parsed, and around its response.

Called only while `faults.active`; the phases inside of a handler are asked by the handlers. A request that is held
before it is parsed mutes its channel but occupies no handler, like bytes that are late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.apis.request_context import NO_RESPONSE
from broker_sim.faults.interception import FaultPoint, Interception, Outcome, Phase
from protocol_specs.errors import ProtocolError
from protocol_specs.registry import request_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.request_context import RequestContext, Response
    from broker_sim.network.processor import Processor

__all__ = ["before_parse", "before_response", "fault_point", "mid_response"]

CLOSED_BY_RULE: Final = "a fault rule closes the connection"

_log = Logger()


def fault_point(context: RequestContext, topic: str | None = None, partition: int | None = None) -> FaultPoint:
    """What rules can select on, of a request and perhaps one partition of it."""
    return FaultPoint(
        broker_id=context.broker.id,
        api_key=context.api_key,
        topic=topic,
        partition=partition,
        client_id=context.client_id,
        connection_id=context.connection.connection_id,
        request_id=context.request_id,
    )


def before_parse(processor: Processor, context: RequestContext, frame: bytes, position: int) -> None:
    """Phase BEFORE_PARSE: the body is still bytes."""

    def go_on(interception: Interception) -> None:
        channel = context.channel
        if channel is None or channel.closed:
            return
        outcome = interception.outcome
        if outcome is Outcome.PROCEED:
            processor.parse(context, frame, position)
        elif outcome is Outcome.ERROR:
            try:
                context.request = request_type(context.api_key).decode(context.api_version, frame[position:])
            except ProtocolError as error:
                processor.refuse(channel, str(error))
                return
            _answer_error(processor, context, interception)
        elif outcome is Outcome.DROP_RESPONSE:
            processor.send_response(context, NO_RESPONSE)
        else:
            processor.send_response(context, context.disconnect(CLOSED_BY_RULE))

    _ask(context, Phase.BEFORE_PARSE, go_on)


def before_response(processor: Processor, context: RequestContext, response: Response) -> None:
    """Phase BEFORE_RESPONSE: the response is whole, nothing of it is sent."""

    def go_on(interception: Interception) -> None:
        outcome = interception.outcome
        if outcome is Outcome.PROCEED:
            processor.send_response(context, response)
        elif outcome is Outcome.ERROR:
            _answer_error(processor, context, interception)
        elif outcome is Outcome.DROP_RESPONSE:
            processor.send_response(context, NO_RESPONSE)
        elif outcome is Outcome.DISCONNECT:
            processor.send_response(context, context.disconnect(CLOSED_BY_RULE))
        else:
            frame = processor.encode(context, response)
            if frame is not None and context.channel is not None:
                context.channel.cut(frame[: interception.cut_bytes], CLOSED_BY_RULE)

    _ask(context, Phase.BEFORE_RESPONSE, go_on)


def mid_response(context: RequestContext, frame: bytes) -> bool:
    """Phase MID_RESPONSE: whether a rule has taken the response's bytes over.

    The first part (half of them, or what CUT says) is sent; then the rest follows after the wait, or the connection is
    closed, or (DROP_RESPONSE) nothing ever comes.
    """
    channel = context.channel
    interception = context.broker.faults.intercept(Phase.MID_RESPONSE, fault_point(context))
    if interception is None or channel is None:
        return False
    first = interception.cut_bytes if interception.outcome is Outcome.CUT else len(frame) // 2
    channel.send(frame[:first])

    def go_on(interception: Interception) -> None:
        if interception.outcome is Outcome.PROCEED:
            if channel.send(frame[first:]):
                channel.response_sent()
        elif interception.outcome is Outcome.DROP_RESPONSE:
            channel.abandoned = True
            channel.forget_when_served()
        else:
            channel.close(CLOSED_BY_RULE)

    _after_wait(interception, go_on)
    return True


def _ask(context: RequestContext, phase: Phase, go_on: Callable[[Interception], None]) -> None:
    interception = context.broker.faults.intercept(phase, fault_point(context))
    if interception is None:
        go_on(_UNTOUCHED)
    else:
        _after_wait(interception, go_on)


def _after_wait(interception: Interception, go_on: Callable[[Interception], None]) -> None:
    if interception.wait is None:
        go_on(interception)
    else:
        interception.wait.addCallback(lambda _: go_on(interception))
        interception.wait.addErrback(lambda failure: _log.failure("A fault rule failed", failure=failure))


def _answer_error(processor: Processor, context: RequestContext, interception: Interception) -> None:
    error = context.broker.apis.error_response(context.request, context, interception.error_code)
    processor.send_response(context, error)


_UNTOUCHED: Final = Interception()
