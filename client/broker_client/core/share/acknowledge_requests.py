"""Acknowledgements that ShareAcknowledge sends, with retries. Mirrors AcknowledgeRequestState and ResultHandler."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from broker_client.errors import BrokerError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_client.core.consumer.call_waits import CallTimer
    from broker_client.core.share.acknowledgements import Acknowledgements, ByPartition
    from broker_client.core.share.share_sessions import ShareSession
    from broker_client.errors import ProducerError
    from broker_client.share_groups import TopicIdPartition
    from sim_runtime.backoff import ExponentialBackoff

__all__ = ["AcknowledgeKind", "AcknowledgeOutcome", "AcknowledgeRequest", "missing_response"]


class AcknowledgeKind(Enum):
    """The call that sends the acknowledgements."""

    ASYNC = auto()
    SYNC = auto()
    CLOSE = auto()


class AcknowledgeOutcome:
    """Collects the results of one call, from all nodes; `done` fires with those of SYNC."""

    def __init__(self, kind: AcknowledgeKind, report: Callable[[ByPartition, bool, int | None], None]) -> None:
        self.kind = kind
        self.done: Deferred[ByPartition] = Deferred()
        self._report = report
        self._results: ByPartition = {}
        self._awaited = 0

    def expect(self, count: int) -> None:
        """Await the results of more partitions."""
        self._awaited += count

    def complete(
        self,
        partition: TopicIdPartition,
        acknowledgements: Acknowledgements,
        *,
        has_renewals: bool = True,
        lock_timeout_ms: int | None = None,
    ) -> None:
        """Take the result of a partition; `has_renewals` is also True if it is unknown."""
        if self.kind is AcknowledgeKind.ASYNC:
            self._report({partition: acknowledgements}, has_renewals, lock_timeout_ms)
            return
        self._results[partition] = acknowledgements
        self._awaited -= 1
        if self._awaited == 0:
            self._report(self._results, has_renewals, lock_timeout_ms)
            self.end_if_complete()

    def end_if_complete(self) -> None:
        """Fire if no result is awaited."""
        if self._awaited == 0 and not self.done.called:
            self.done.callback(self._results)


class AcknowledgeRequest:
    """The acknowledgements of one call for one node; each is to be sent, in flight, or to be sent again."""

    def __init__(
        self,
        session: ShareSession,
        acknowledgements: ByPartition,
        outcome: AcknowledgeOutcome,
        timer: Callable[[], CallTimer],
        backoff: ExponentialBackoff,
    ) -> None:
        self.session = session
        self.outcome = outcome
        self.to_send = acknowledgements
        self.is_processed = False
        self._in_flight: ByPartition = {}
        self._again: ByPartition = {}
        self._new_timer = timer
        self._timer = timer()
        self._backoff = backoff
        self._attempts = 0
        self._is_under_way = False
        self.not_before_ms = 0

    @property
    def is_close(self) -> bool:
        """True if the request ends the share session."""
        return self.outcome.kind is AcknowledgeKind.CLOSE

    @property
    def is_in_progress(self) -> bool:
        """True if something remains to be sent or to be responded to."""
        return not self.is_processed if self.is_close else bool(self.to_send or self._again or self._in_flight)

    @property
    def is_expired(self) -> bool:
        """True if an attempt failed and there is no time for another."""
        return self._attempts > 0 and self._timer.is_expired

    def may_send(self, now_ms: int) -> bool:
        """True if no attempt is under way and the back-off of the last one is over."""
        return not self._is_under_way and now_ms >= self.not_before_ms

    def add(self, partition: TopicIdPartition, acknowledgements: Acknowledgements) -> None:
        """Send more with the next attempt."""
        known = self.to_send.setdefault(partition, acknowledgements)
        if known is not acknowledgements:
            known.merge(acknowledgements)

    def next(self) -> ByPartition:
        """Return the acknowledgements of the next attempt."""
        return self._again or self.to_send

    def sent(self) -> None:
        """An attempt with those of `next` is under way."""
        moving = self.next()
        self._in_flight.update(moving)
        moving.clear()
        self._is_under_way = True
        self.is_processed = False

    def failed(self, now_ms: int) -> None:
        """An attempt has failed; another may follow after a back-off."""
        self._is_under_way = False
        self.not_before_ms = now_ms + self._backoff.backoff_ms(self._attempts)
        self._attempts += 1

    def retry(self, partitions: Iterable[TopicIdPartition] | None = None) -> bool:
        """Send acknowledgements in flight again, by default all; return False if there were none."""
        wanted = list(self._in_flight if partitions is None else partitions)
        moving = {one: self._in_flight.pop(one) for one in wanted if one in self._in_flight}
        self._again.update(moving)
        return bool(moving)

    def complete(
        self,
        partition: TopicIdPartition,
        error: ProducerError | None,
        *,
        has_renewals: bool,
        lock_timeout_ms: int | None,
    ) -> int:
        """A partition has its response; return the number of its records."""
        acknowledgements = self._in_flight.pop(partition, None)
        if acknowledgements is None:
            return 0
        acknowledgements.complete(error)
        self.outcome.complete(partition, acknowledgements, has_renewals=has_renewals, lock_timeout_ms=lock_timeout_ms)
        return len(acknowledgements.types)

    def fail_in_flight(self, error: ProducerError) -> int:
        """Complete everything in flight with an error; return the number of records."""
        return self._fail(self._in_flight, error)

    def give_up(self, error: ProducerError) -> int:
        """Complete the acknowledgements of the next attempt with an error; return the number of their records."""
        count = self._fail(self.next(), error)
        self.processed()
        return count

    def processed(self) -> None:
        """The response was handled, and nothing of it is sent again."""
        self.fail_in_flight(missing_response())
        self._is_under_way = False
        self.is_processed = True
        self.outcome.end_if_complete()
        if self.outcome.kind is AcknowledgeKind.ASYNC:  # more may be added to it
            self._timer, self._attempts, self.not_before_ms = self._new_timer(), 0, 0

    def _fail(self, waiting: ByPartition, error: ProducerError) -> int:
        failed = dict(waiting)
        waiting.clear()
        for partition, acknowledgements in failed.items():
            acknowledgements.complete(error)
            self.outcome.complete(partition, acknowledgements)
        return sum(len(one.types) for one in failed.values())


def missing_response() -> ProducerError:
    """Return the error of acknowledgements to which a response does not respond."""
    text = "Acknowledgement not successful due to invalid response from broker"
    return BrokerError(ErrorCode.INVALID_RECORD_STATE, text)
