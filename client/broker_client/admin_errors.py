"""What an Admin call raises when some of its items were refused. Stands for the futures by item of Java's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.errors import BrokerError, ProducerError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ItemsFailed"]

TOLD_MAX: Final = 10


class ItemsFailed(BrokerError):
    """Some items of a call failed: `errors` by item, and `done`, the answers of those that did not.

    Items are what the call was given: topic names, TopicPartitions, ConfigResources, broker ids ... `error_code` is
    that of the first one that failed.
    """

    def __init__(self, errors: Mapping[Any, ProducerError], done: Mapping[Any, Any]) -> None:
        first = next(iter(errors.values()))
        super().__init__(first.error_code, _told(errors, len(errors) + len(done)))
        self.errors = dict(errors)
        self.done = dict(done)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errors, self.done)

    def __str__(self) -> str:
        return str(self.message)


def _told(errors: Mapping[Any, ProducerError], count: int) -> str:
    told = [f"{item}: {error}" for item, error in list(errors.items())[:TOLD_MAX]]
    if count == 1:
        return told[0]
    more = [] if len(errors) <= TOLD_MAX else [f"and {len(errors) - TOLD_MAX} more"]
    return f"{len(errors)} of {count} failed: {'; '.join([*told, *more])}"
