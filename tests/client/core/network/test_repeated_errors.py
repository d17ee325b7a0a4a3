"""An error that repeats is logged once with its traceback, then by its count."""

from __future__ import annotations

from typing import Any

from twisted.logger import Logger, formatEvent

from broker_client.core.network.repeated_errors import DISTINCT_ERRORS_MAX, RepeatedErrors


def _raise(error: Exception) -> None:
    raise error


class Logged:
    """The events of a logger."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.errors = RepeatedErrors(Logger(observer=self.events.append, namespace="test"), "network loop")

    def catch(self, error: Exception) -> None:
        try:
            _raise(error)
        except Exception as caught:  # noqa: BLE001 - as a loop does
            self.errors.caught(caught)

    def texts(self) -> list[str]:
        return [formatEvent(event) for event in self.events]


def test_an_error_that_differs_in_numbers_alone_is_one_error() -> None:
    logged = Logged()
    for number in range(18, 1_699):
        logged.catch(ValueError(f"correlation id {number} is not Produce's, {number - 3}"))
    logged.errors.close()
    logged.errors.close()
    first, *counts = logged.texts()
    assert first == "network loop: uncaught error"
    assert "log_failure" in logged.events[0]
    assert counts == [
        f"network loop: uncaught error repeated count={count} error=ValueError: correlation id # is not Produce's, #"
        for count in (10, 100, 1_000, 1_681)
    ]
    assert logged.errors.total == 1_681


def test_errors_that_alternate_are_logged_once_each() -> None:
    logged = Logged()
    for _ in range(5):
        logged.catch(ValueError("one"))
        logged.catch(KeyError("other"))
    assert [event["log_failure"].type for event in logged.events] == [ValueError, KeyError]
    logged.errors.close()
    assert [text.partition("count=")[2] for text in logged.texts()[2:]] == [
        "5 error=ValueError: one",
        "5 error=KeyError: 'other'",
    ]


def test_a_single_error_has_no_count() -> None:
    logged = Logged()
    logged.catch(ValueError("once"))
    logged.errors.close()
    assert logged.texts() == ["network loop: uncaught error"]


def test_the_number_of_different_errors_is_bounded() -> None:
    logged = Logged()
    for number in range(DISTINCT_ERRORS_MAX + 50):
        logged.catch(ValueError("x" * number))
    assert len(logged.events) == DISTINCT_ERRORS_MAX + 2, "the others: one traceback and a count at 10"
