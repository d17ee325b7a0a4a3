"""A rule whose action is a function of the caller's: it gets a request and returns the response. As kfake's control
functions.

It has no written form: `ThreadedCluster.respond` adds such a rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from broker_sim.errors import BrokerSimError
from broker_sim.faults.action import Action
from broker_sim.faults.interception import Interception, Outcome, Phase
from broker_sim.faults.rule import NoEffect
from protocol_specs.error_codes import ErrorCode
from protocol_specs.registry import response_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.faults.action_context import Firing
    from protocol_specs.message import Message

__all__ = ["ByFunction", "RequestFunction"]

RequestFunction: TypeAlias = "Callable[[Message], Message | ErrorCode | None]"
"""Takes a request; returns its response, an error for the whole request, or None to have the broker serve it."""


@dataclass(frozen=True, slots=True)
class ByFunction(Action):
    """Send the result of the function."""

    name: ClassVar[str] = "respond"
    decides: ClassVar = True
    phases: ClassVar = (Phase.BEFORE_PARSE,)
    function: RequestFunction

    def fire(self, firing: Firing) -> Interception:
        """Call the function. Raises NoEffect for None, and BrokerSimError for a function that fails."""
        assert firing.point is not None
        request = firing.point.message()
        if request is None:
            raise NoEffect("the body of the request is invalid")
        try:
            result = self.function(request)
        except Exception as error:
            raise BrokerSimError(f"the function has failed: {type(error).__name__}: {error}") from error
        if result is None:
            raise NoEffect("the function has returned None for every request that fitted")
        if isinstance(result, ErrorCode):
            return Interception(outcome=Outcome.ERROR, error_code=result)
        expected = response_type(request.API_KEY)
        if not isinstance(result, expected):
            raise BrokerSimError(f"the function has returned {result!r}, not {expected.__name__}, an ErrorCode or None")
        return Interception(outcome=Outcome.RESPOND, response=result)
