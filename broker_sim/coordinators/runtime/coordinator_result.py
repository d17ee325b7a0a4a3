"""The result of a write operation: records, and a response that waits for them. Mirrors CoordinatorResult."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.coordinators.coordinator_error import CoordinatorError
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord

__all__ = ["CoordinatorResult"]

T = TypeVar("T")


class CoordinatorResult(NamedTuple, Generic[T]):
    """`records` are replayed and appended at once; the operation returns `response` when they are committed.

    With `on_committed` the records are not replayed: the caller has changed its state already, and finishes or undoes
    the change when it gets None (the records are committed) or the error of the write. Classic groups use it.
    """

    records: Sequence[CoordinatorRecord]
    response: T
    on_committed: Callable[[CoordinatorError | None], None] | None = None
    replay: bool = True
    atomic: bool = True
    """All records are in one batch; False for clean-ups, which may span batches."""
    batch_starts: frozenset[int] = frozenset()
    """The places in `records` at which another batch starts, if they are not atomic."""
    timeout_ms: int | None = None
    """How long the write waits for its replicas, if not as long as the runtime's writes do."""
    unconditional: bool = False
    """The response waits for nothing and the change of state stays, also when the records cannot be written.

    The old coordinator removes so.
    """
