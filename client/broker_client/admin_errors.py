"""The error of an Admin call of which some items failed. Takes the place of the futures per item in Java's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.errors import BrokerError, ProducerError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ItemsFailed"]

FORMATTED_MAX: Final = 10
"""Failed items that the text of the error names."""


class ItemsFailed(BrokerError):
    """Some items of a call failed: `errors` by item, and `done`, the results of the others by item.

    Items are those that the caller passed: topic names, TopicPartitions, ConfigResources, broker ids ... `error_code`
    is that of the first failed item.
    """

    def __init__(self, errors: Mapping[Any, ProducerError], done: Mapping[Any, Any]) -> None:
        first = next(iter(errors.values()))
        super().__init__(first.error_code, _format_errors(errors, len(errors) + len(done)))
        self.errors = dict(errors)
        self.done = dict(done)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errors, self.done)

    def __str__(self) -> str:
        return str(self.message)


def _format_errors(errors: Mapping[Any, ProducerError], count: int) -> str:
    formatted = [f"{item}: {error}" for item, error in list(errors.items())[:FORMATTED_MAX]]
    if count == 1:
        return formatted[0]
    more = [] if len(errors) <= FORMATTED_MAX else [f"and {len(errors) - FORMATTED_MAX} more"]
    return f"{len(errors)} of {count} failed: {'; '.join([*formatted, *more])}"
