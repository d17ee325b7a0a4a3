"""The seam between a broker and the fault engine: where a request can be touched, and how.

The broker asks `faults.intercept(phase, point)` at six places of a request's life, but only while
`faults.active` is true, so that an idle engine costs one attribute read. None means: go on. Otherwise the
caller waits for `Interception.wait` (a delay, or a hold until its release) and then obeys `outcome`, which it
reads after the wait. The phases are the stages of Processor, KafkaApis and ReplicaManager.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from twisted.internet.defer import Deferred

    from protocol_specs.api_key import ApiKey
    from protocol_specs.fuzzing import Mutation

__all__ = ["NO_FAULTS", "FaultPoint", "Faults", "Interception", "NoFaults", "Outcome", "Phase"]


class Phase(Enum):
    """Where in a request's life a fault may strike, in the order in which a request passes them."""

    BEFORE_PARSE = "before_parse"
    """The header is known, the body is still bytes. Asked once a request, without topic and partition."""
    BEFORE_APPEND = "before_append"
    """The handler is about to apply the request (for a Produce: to append to one partition)."""
    AFTER_APPEND = "after_append"
    """The leader has appended to one partition; followers have not confirmed."""
    AFTER_REPLICATION = "after_replication"
    """What acks asked for is reached for one partition; nothing is answered yet."""
    BEFORE_RESPONSE = "before_response"
    """The response is whole, none of its bytes is sent."""
    MID_RESPONSE = "mid_response"
    """The response is being written: CUT sends that many of its bytes, then closes."""


class Outcome(Enum):
    """What becomes of the request once the wait is over."""

    PROCEED = "proceed"
    DROP_RESPONSE = "drop_response"
    """Everything is done, no answer is sent and the connection stays; its later requests are served."""
    DISCONNECT = "disconnect"
    ERROR = "error"
    """Answer `error_code` (for one partition where the point names one, else for the whole request)."""
    CUT = "cut"
    """Send only the first `cut_bytes` bytes of the response frame, then close."""
    MUTATE = "mutate"
    """Send the response with `mutations` applied to its bytes."""


@dataclass(slots=True, kw_only=True)
class FaultPoint:
    """What a rule can select on. `topic` and `partition` are None where no single partition is meant."""

    broker_id: int
    api_key: ApiKey | None
    topic: str | None = None
    partition: int | None = None
    client_id: str | None = None
    connection_id: str | None = None
    request_id: int = -1
    replica_id: int = -1
    """The broker that asks: a follower with its Fetch, any broker with what goes between brokers. A client: -1."""


@dataclass(slots=True, kw_only=True)
class Interception:
    """A fault's answer. `outcome` counts after `wait` has fired: a hold may be released as something else."""

    wait: Deferred[None] | None = None
    outcome: Outcome = Outcome.PROCEED
    error_code: ErrorCode = ErrorCode.NONE
    cut_bytes: int = 0
    mutations: Sequence[Mutation] = ()
    report_problem: Callable[[str], None] | None = None
    """Reports why the outcome was impossible, as the problem of the rule."""


class Faults(Protocol):
    """What a broker knows of the fault engine."""

    @property
    def open_phases(self) -> Collection[Phase]:
        """The phases in which a rule could fire now: `intercept` need not be called in others."""

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when the open phases change; the function that is returned ends that."""

    def changed(self) -> None:
        """Call all that watch: a request waits for a rule's decision to be obeyed."""

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        """Answer what to do with the request at `point`, None to go on."""


class NoFaults:
    """No rules at all: what a broker has until a fault engine is attached."""

    __slots__ = ()
    open_phases: Final[Collection[Phase]] = ()

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:  # noqa: ARG002
        """Nothing ever changes."""
        return lambda: None

    def changed(self) -> None:
        """Nothing ever changes."""

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:  # noqa: ARG002
        """Never touches anything."""
        return None


NO_FAULTS: Final = NoFaults()
