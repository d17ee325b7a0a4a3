"""Sends a response in parts, as fault rules require."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.logger import Logger

from broker_sim.faults.interception import Outcome
from broker_sim.network.response_writer import joined
from broker_sim.rpc.fault_stage import CLOSED_BY_RULE

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.faults.interception import Interception
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.response_writer import Frame

__all__ = ["send_in_parts"]

_log = Logger()


def send_in_parts(context: RequestContext, frame: Frame, interception: Interception | None) -> bool:
    """Send a frame in parts if a fault rule requires it; return False for a frame that the caller sends as a whole.

    The first part is half of the frame, or as long as the rule states. After the wait the rest follows, with the copies
    of the frame, or the connection is closed, or (DROP_RESPONSE) nothing follows.
    """
    channel: KafkaChannel = context.origin
    if context.cut_bytes >= 0:
        channel.cut(joined(frame)[: context.cut_bytes], CLOSED_BY_RULE)
        return True
    if interception is None:
        return False
    data = joined(frame)
    if interception.reversed_responses and interception.outcome is Outcome.PROCEED:
        _hold_back(channel, data, interception)
        return True
    if interception.outcome is Outcome.PROCEED:
        data = interception.with_copies(data)
    is_cut = interception.outcome is Outcome.CUT or interception.cut_bytes > 0
    first = interception.cut_bytes if is_cut else len(data) // 2
    channel.send(data[:first])

    def send_rest(_: object = None) -> None:
        if interception.outcome is Outcome.PROCEED:
            if channel.send(data[first:]):
                channel.response_sent()
        elif interception.outcome is Outcome.DROP_RESPONSE:
            channel.silence()
            channel.abandon()
        else:
            channel.close(CLOSED_BY_RULE)

    if interception.wait is None:
        send_rest()
    else:
        interception.wait.addCallback(send_rest)
        interception.wait.addErrback(lambda failure: _log.failure("A fault rule failed", failure=failure))
    return True


def _hold_back(channel: KafkaChannel, data: bytes, interception: Interception) -> None:
    """Hold a response; the one that completes the number sends all, or the end of the wait those that are there."""
    group = channel.held_frames
    group.append(data)
    if len(group) >= interception.reversed_responses:
        if not _send_reversed(channel, group):
            return  # the channel goes on when the transport has sent them
    elif interception.wait is not None:
        interception.wait.addCallback(lambda _: _send_reversed(channel, group))
    channel.response_sent()


def _send_reversed(channel: KafkaChannel, group: list[bytes]) -> bool:
    """Send held responses, the last one first, if they are still held. Returns False if they wait in the transport."""
    if channel.held_frames is not group:
        return True
    channel.held_frames = []
    return channel.send(b"".join(reversed(group)))
