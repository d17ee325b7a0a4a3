"""Auto-commit covers the records of the latest poll, which the application has not processed yet.

A timer commits the positions, and a position moves when poll returns its records. If the process ends while it works
on them, the next one begins behind them: they are never processed. Java commits within poll, when the records of the
poll before are done: they are processed again after a crash, not skipped. An application that must lose nothing
commits by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.groups.classic_group import ClassicGroup
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall

    from broker_client.consumer_groups import GroupMembershipOperation
    from broker_client.core.consumer.call_waits import CallTimer


class BackgroundCommits(ClassicGroup):
    """Commits every auto.commit.interval.ms, from the first poll on."""

    _call: IDelayedCall | None = None

    async def poll(self, timer: CallTimer) -> bool:
        """Start the timer."""
        if self._call is None and self._options.enable_auto_commit:
            self._plan()
        return await super().poll(timer)

    async def close(self, timer: CallTimer, operation: GroupMembershipOperation) -> None:
        """Stop the timer."""
        if self._call is not None and self._call.active():
            self._call.cancel()
        await super().close(timer, operation)

    def _plan(self) -> None:
        interval_s = self._options.auto_commit_interval_ms / 1000
        self._call = self._core.reactor.callLater(interval_s, self._commit)

    def _commit(self) -> None:
        self._plan()
        if self._subscriptions.states:
            self._commits.auto_commit_async()


DEFECT: Final = Defect(
    name="commits-the-latest-poll",
    lesson=__doc__,
    source="Jepsen: Bufstream",
    affected="librdkafka and other clients with a background commit, by design",
    anomalies=("autocommit-semantics",),
    parts={"classic_group": BackgroundCommits},
)
