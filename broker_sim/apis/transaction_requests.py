"""Common parts of the requests of transactional producers: late results, refusals in the journal, old errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from broker_sim.control.events import TransactionRequestRefused
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.pending_writes import PendingWrite
from broker_sim.coordinators.transactions.transaction_errors import log_error
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch

__all__ = ["Named", "NewFencedError", "note_refusal", "responded"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFencedError:
    """PRODUCER_FENCED came in version `since` of an API (KIP-588); older clients know INVALID_PRODUCER_EPOCH."""

    since: int

    def of(self, error_code: ErrorCode, context: RequestContext) -> ErrorCode:
        """Return the error as the version of the request has it."""
        if error_code is ErrorCode.PRODUCER_FENCED and context.api_version < self.since:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        return error_code


Named: TypeAlias = "tuple[str, ProducerIdAndEpoch]"
"""The transactional id and the producer that a request names."""


def responded(
    written: PendingWrite | Deferred[Any],
    named: Named,
    context: RequestContext,
    respond: Callable[[Any], T],
    refuse: Callable[[ErrorCode], T],
) -> T | Deferred[T]:
    """Return what `respond` makes of the result of a write, or `refuse` of its error, or a Deferred of it."""
    if isinstance(written, PendingWrite) and written.completed and written.error is None:
        return respond(written.response)

    def refused(error: CoordinatorError) -> T:
        error_code = log_error(error.error_code)
        note_refusal(named, context, error_code)
        return refuse(error_code)

    def failed(failure: Failure) -> T:
        failure.trap(CoordinatorError)
        assert isinstance(failure.value, CoordinatorError)
        return refused(failure.value)

    if isinstance(written, PendingWrite):
        result: T | Deferred[T] = written.then(respond, refused)
        return result
    return written.addCallbacks(respond, failed)


def note_refusal(named: Named, context: RequestContext, error_code: ErrorCode) -> None:
    """Record that a producer is fenced, unknown, or too early."""
    journal = context.broker.journal
    transactional_id, producer = named
    journal.append(
        TransactionRequestRefused(
            time_us=journal.now_us(),
            broker_id=context.broker.id,
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            api=context.request.NAME,
            error=error_code.name,
            client_id=context.client_id or "",
        )
    )
