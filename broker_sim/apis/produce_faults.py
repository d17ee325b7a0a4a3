"""A Produce under fault rules: each partition is asked about before and after its append and after its replication.

A wait before or right after the append occupies the handler; a wait after the replication does not, because the
request has been in the purgatory. Only called while `faults.active`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from broker_sim.apis.request_context import NO_RESPONSE
from broker_sim.faults.interception import Outcome, Phase
from broker_sim.network.fault_stage import CLOSED_BY_RULE, fault_point
from broker_sim.replication.requests import PartitionAppend
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.produce import Produce
    from broker_sim.apis.request_context import NoAnswer, Response
    from broker_sim.faults.interception import Interception
    from broker_sim.topic_partition import TopicPartition

__all__ = ["append"]


class _Fate:
    """What the rules that struck so far make of the answer."""

    __slots__ = ("_disconnect", "drop")

    def __init__(self) -> None:
        self._disconnect = False
        self.drop = False

    def disconnects(self) -> bool:
        """Whether a rule closes the connection."""
        return self._disconnect

    def take(self, interception: Interception) -> ErrorCode:
        """Obey an outcome once its wait is over; answers the error that a rule wants for the partition."""
        outcome = interception.outcome
        if outcome in {Outcome.DISCONNECT, Outcome.CUT}:
            self._disconnect = True
        elif outcome is Outcome.DROP_RESPONSE:
            self.drop = True
        return interception.error_code if outcome is Outcome.ERROR else ErrorCode.NONE


async def append(produce: Produce) -> Response | NoAnswer:
    """Append, replicate and answer, as far as the rules let it."""
    context = produce.context
    fate = _Fate()
    context.hold_handler()
    try:
        for key in list(produce.entries):
            interception = _ask(produce, Phase.BEFORE_APPEND, key)
            if interception is None:
                continue
            await _wait(interception)
            error = fate.take(interception)
            if fate.disconnects():
                return context.disconnect(CLOSED_BY_RULE)
            if error:
                del produce.entries[key]
                produce.failed.append(PartitionAppend(topic_partition=key, error_code=error))
        appended: list[PartitionAppend] = []
        results = produce.append(appended.extend)
        if not isinstance(results, Deferred):
            appended = results
        overridden = await _after(produce, Phase.AFTER_APPEND, appended, fate)
    finally:
        context.release_handler()
    if fate.disconnects():
        return context.disconnect(CLOSED_BY_RULE)
    finished = await results if isinstance(results, Deferred) else results
    overridden |= await _after(produce, Phase.AFTER_REPLICATION, finished, fate)
    if fate.disconnects():
        return context.disconnect(CLOSED_BY_RULE)
    if fate.drop:
        return NO_RESPONSE
    return produce.answer(
        [
            PartitionAppend(topic_partition=result.topic_partition, error_code=overridden[result.topic_partition])
            if result.topic_partition in overridden
            else result
            for result in finished
        ]
    )


async def _after(
    produce: Produce, phase: Phase, results: list[PartitionAppend], fate: _Fate
) -> dict[TopicPartition, ErrorCode]:
    """Ask about each partition that was appended; answers the errors that rules put in place of success."""
    errors = {}
    for result in results:
        if result.error_code and result.error_code is not ErrorCode.REQUEST_TIMED_OUT:
            continue
        interception = _ask(produce, phase, result.topic_partition)
        if interception is not None:
            await _wait(interception)
            error = fate.take(interception)
            if error:
                errors[result.topic_partition] = error
    return errors


def _ask(produce: Produce, phase: Phase, key: TopicPartition) -> Interception | None:
    context = produce.context
    return context.broker.faults.intercept(phase, fault_point(context, key.topic, key.partition))


async def _wait(interception: Interception) -> None:
    if interception.wait is not None:
        await interception.wait
