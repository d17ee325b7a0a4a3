"""The limits of what the clients of one run do, so that every run ends in bounded time and memory.

A script, a load or a rule that goes beyond one is stopped, and the run reports the limit by its name and value.
"""

from __future__ import annotations

from typing import Final

from broker_scenarios.errors import ScenarioError

__all__ = ["RunLimitExceeded", "RunLimits"]

STEPS_MAX: Final = 1_000_000
"""The most steps of all scripts together: each repetition, record to send and poll counts as one."""
POLLED_RECORDS_MAX: Final = 5_000_000
"""The most records that all consumers poll together."""
PROCESSES_MAX: Final = 10_000
"""The most processes of clients, restarts included."""
OPEN_SENDS_MAX: Final = 1_000_000
"""The most records without an outcome at a time."""
OPEN_BYTES_MAX: Final = 1 << 30
"""The most bytes of values without an outcome at a time."""
STORED_BYTES_MAX: Final = 1 << 31
"""The most bytes of values that all producers send to brokers of this process, which keep them in memory."""
CALLS_MAX: Final = 20_000_000
"""The most calls of the virtual reactor while the clients play, beside CALLS_PER_UNIT of each second and each send."""
CALLS_PER_UNIT: Final = 1_000
"""A second of a cluster at rest takes some hundred calls, and a record some ten."""
LOAD_RECORDS_MAX: Final = 10_000_000
"""The most records that the loads of one process send; `--spark` spreads a larger load over processes."""


class RunLimitExceeded(ScenarioError):
    """A run goes beyond one of its limits."""

    def __init__(self, name: str, limit: int, remedy: str) -> None:
        super().__init__(f"the run exceeds {name}={limit}: {remedy}")


class RunLimits:
    """Counts the work of the clients of a run. Each method raises RunLimitExceeded.

    Brokers of this process keep what is sent (`keeps_values`), those of another one do not.
    """

    def __init__(self, *, keeps_values: bool) -> None:
        self._keeps_values = keeps_values
        self._steps = 0
        self._polled = 0
        self._processes = 0
        self._open_sends = 0
        self._open_bytes = 0
        self._sent_bytes = 0
        self._sends = 0

    def take_step(self) -> None:
        """Count one step of a script."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise RunLimitExceeded("STEPS_MAX", STEPS_MAX, "let the scripts repeat less (`times`, `count`)")

    def poll_records(self, count: int) -> None:
        """Count the records of a poll."""
        self._polled += count
        if self._polled > POLLED_RECORDS_MAX:
            raise RunLimitExceeded("POLLED_RECORDS_MAX", POLLED_RECORDS_MAX, "let the scripts read less")

    def start_process(self) -> None:
        """Count one process."""
        self._processes += 1
        if self._processes > PROCESSES_MAX:
            raise RunLimitExceeded("PROCESSES_MAX", PROCESSES_MAX, "start fewer clients (`count`, `restart`)")

    def begin_send(self, size_bytes: int) -> None:
        """Count one record that is sent; `end_send` follows."""
        self._sends += 1
        self._open_sends += 1
        self._open_bytes += size_bytes
        self._sent_bytes += size_bytes
        if self._open_sends > OPEN_SENDS_MAX:
            raise RunLimitExceeded("OPEN_SENDS_MAX", OPEN_SENDS_MAX, "send more slowly (`rate_per_second`, `every_ms`)")
        if self._open_bytes > OPEN_BYTES_MAX:
            raise RunLimitExceeded("OPEN_BYTES_MAX", OPEN_BYTES_MAX, "send smaller values, or more slowly")
        if self._keeps_values and self._sent_bytes > STORED_BYTES_MAX:
            raise RunLimitExceeded("STORED_BYTES_MAX", STORED_BYTES_MAX, "send fewer or smaller values")

    def problem_of_calls(self, calls: int, seconds: float) -> str | None:
        """Return what is wrong with the number of calls that a virtual reactor has made in the seconds of the run."""
        if calls <= CALLS_MAX + CALLS_PER_UNIT * (seconds + self._sends):
            return None
        remedy = f"{calls} calls in {seconds:g} s; repeat less often (`every_ms`, back-offs of the clients)"
        return str(RunLimitExceeded("CALLS_MAX", CALLS_MAX, remedy))

    def end_send(self, size_bytes: int) -> None:
        """The record has an outcome."""
        self._open_sends -= 1
        self._open_bytes -= size_bytes
