"""The interface between a broker and the fault engine: the phases of a request, and what a fault makes of it.

The spine calls `faults.intercept(phase, point)` in the phases that are in `faults.open_phases`, so that an idle engine
costs nothing. None means: go on. Otherwise the caller waits for `Interception.wait` (a delay, or a hold until its
release) and then obeys `outcome`, which it reads after the wait. The phases are the stages of Kafka's Processor,
KafkaApis and ReplicaManager.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from twisted.internet.defer import Deferred

    from broker_sim.faults.connections import ConnectionFaults
    from protocol_specs.api_key import ApiKey
    from protocol_specs.fuzzing import Mutation
    from protocol_specs.message import Message

__all__ = [
    "COPIES_BYTES_MAX",
    "NO_FAULTS",
    "Edit",
    "FaultPoint",
    "Faults",
    "Interception",
    "NoFaults",
    "Outcome",
    "Phase",
    "ResponseObserver",
]

COPIES_BYTES_MAX: Final = 1 << 26
"""The most bytes of all copies of one response."""


class Phase(Enum):
    """Where on a request's path a fault can fire, in the order in which a request passes them."""

    __hash__ = object.__hash__
    """Phases are looked up for every request, and that of Enum is a function of Python."""

    BEFORE_PARSE = "before_parse"
    """The header is known, the body is still bytes. Comes once per request, without topic and partition."""
    BEFORE_APPEND = "before_append"
    """The handler is about to apply the request (for a Produce: to append to one partition)."""
    AFTER_APPEND = "after_append"
    """The leader has appended to one partition; followers have not confirmed."""
    AFTER_REPLICATION = "after_replication"
    """The replication that acks requires is reached for one partition; no response is sent yet."""
    BEFORE_RESPONSE = "before_response"
    """The response is whole, none of its bytes is sent."""
    MID_RESPONSE = "mid_response"
    """The response is being written: CUT sends that many of its bytes, then closes."""


class Outcome(Enum):
    """The fate of the request once the wait is over."""

    PROCEED = "proceed"
    DROP_RESPONSE = "drop_response"
    """The request is served; this response and all later ones of the connection are lost, and it stays open."""
    DISCONNECT = "disconnect"
    ERROR = "error"
    """Respond with `error_code` (for one partition where the point names one, else for the whole request)."""
    RESPOND = "respond"
    """Send `response` instead of serving the request."""
    CUT = "cut"
    """Send only the first `cut_bytes` bytes of the response frame, then close."""


@dataclass(slots=True, kw_only=True)
class FaultPoint:
    """The criteria that a rule selects on. `topic` and `partition` are None outside the phases of one partition."""

    broker_id: int
    api_key: ApiKey | None
    api_version: int = -1
    topic: str | None = None
    partition: int | None = None
    topic_id: bytes | None = None
    """The id of `topic`, by which new versions of Produce name it."""
    client_id: str | None = None
    connection_id: str | None = None
    request_id: int = -1
    replica_id: int = -1
    """The broker that sent the request: a follower's Fetch, or any other request between nodes. A client: -1."""
    request: Message | None = None
    """The request, None before it is parsed."""
    parse: Callable[[], Message | None] | None = None
    """Parses the request that is not parsed yet; returns None for an invalid body."""
    find_places: Callable[[], Iterable[tuple[str, int | None]]] | None = None
    """Returns the topics and partitions that the request names."""

    def message(self) -> Message | None:
        """Return the request, which a rule on its body parses; None for an invalid body."""
        if self.request is None and self.parse is not None:
            self.request = self.parse()
        return self.request

    def places(self) -> Iterable[tuple[str, int | None]]:
        """Return the topics and partitions that the request names."""
        return () if self.find_places is None else self.find_places()


@dataclass(frozen=True, slots=True)
class Edit:
    """Changes of a message by field path that one rule makes."""

    mutations: Sequence[Mutation]
    report_problem: Callable[[str], None]
    """Reports why the changes were impossible, as the problem of the rule."""


@dataclass(slots=True, kw_only=True)
class Interception:
    """The decision of rules on one request: wait, then obey `outcome`."""

    wait: Deferred[None] | None = None
    delay_ms: float = 0
    """A time that a rule adds to the waits; the engine makes one `wait` of all."""
    outcome: Outcome = Outcome.PROCEED
    error_code: ErrorCode = ErrorCode.NONE
    response: Message | None = None
    cut_bytes: int = 0
    """The length of the first part of a response, with CUT and with a wait in the middle of it."""
    copies: int = 0
    """How often a response is sent once more, right after itself."""
    reversed_responses: int = 0
    """How many responses of the connection are sent together, the last first; a wait limits how long one is held."""
    report_problem: Callable[[str], None] | None = None
    """Reports that the copies are too large, as the problem of their rule."""
    edits: Sequence[Edit] = ()
    """Changes of the message, in order, with every outcome."""

    def with_copies(self, frame: bytes) -> bytes:
        """Return a frame and its copies: as many as COPIES_BYTES_MAX has room for."""
        copies = min(self.copies, COPIES_BYTES_MAX // max(1, len(frame)))
        if copies < self.copies and self.report_problem is not None:
            self.report_problem(
                f"{self.copies} copies of a response of {len(frame)} bytes exceed COPIES_BYTES_MAX={COPIES_BYTES_MAX}: "
                f"{copies} were sent"
            )
        return frame * (1 + copies)


ResponseObserver: TypeAlias = "Callable[[FaultPoint, Message], None]"


class Faults(Protocol):
    """The part of the fault engine that a broker uses."""

    @property
    def open_phases(self) -> Collection[Phase]:
        """The phases in which a rule could fire now: `intercept` need not be called in others."""

    @property
    def connections(self) -> ConnectionFaults | None:
        """The faults of connections, None where no rule can be added."""

    @property
    def response_observers(self) -> Sequence[ResponseObserver]:
        """Each is called with every response that was written to its connection, as rules have left it."""

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when the open phases change; returns the function that ends this."""

    def changed(self) -> None:
        """Call every watcher: a rule has decided about a response that does not exist yet."""

    def passes(self, phase: Phase, api_key: ApiKey | None) -> bool:
        """Return True if `intercept` need not be called in a phase for requests of this API, by its key in rules."""

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        """Return what to do with the request at `point`, None to go on."""


class NoFaults:
    """An engine without rules, for a broker without a cluster."""

    __slots__ = ()
    open_phases: Final[Collection[Phase]] = ()
    connections: Final = None
    response_observers: Final[Sequence[ResponseObserver]] = ()

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:  # noqa: ARG002
        """Nothing ever changes."""
        return lambda: None

    def changed(self) -> None:
        """Nothing ever changes."""

    def passes(self, phase: Phase, api_key: ApiKey | None) -> bool:  # noqa: ARG002
        """Every request passes."""
        return True

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:  # noqa: ARG002
        """Never touches anything."""
        return None


NO_FAULTS: Final = NoFaults()
