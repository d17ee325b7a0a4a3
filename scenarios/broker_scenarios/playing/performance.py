"""The course of a run, on any reactor: clients under faults, then healing, final polls, rest, and the truth.

As in TigerBeetle's simulator there are two phases: faults while the clients do their work; then held requests are
released, dead brokers restart, and the cluster must come to rest. What is not at rest by the deadline is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_scenarios.checks.on_the_wire.wire_facts import WireWatch
from broker_scenarios.evidence import Evidence
from broker_scenarios.measures.broker_metrics import MetricSamples
from broker_scenarios.playing.cast import Cast
from broker_scenarios.playing.final_polls import poll_finally
from broker_scenarios.settling import wait_for_due_rules
from broker_scenarios.text_forms import clock
from sim_runtime.deadlines import sleep
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.internet.interfaces import IDelayedCall

    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.playing.stage import Stage
    from broker_scenarios.table import LoadProgress

__all__ = ["perform"]

_STEP_MS: Final = 50
_CLOSE_MS: Final = 1_000


async def perform(stage: Stage, seed: int, *, time: str, progress: LoadProgress | None = None) -> Evidence:
    """Run the scenario on a started cluster; returns its evidence. `time` names the kind of time."""
    scenario, target, reactor = stage.scenario, stage.target, stage.reactor
    began_s = reactor.seconds()
    began_us = stage.history.now_us()
    if scenario.records:
        target.faults.expect(records=scenario.records)
    target.faults.replay(scenario.rule_decisions)
    watch = target.watch(scenario.always)
    metrics = MetricSamples(scenario.expectation, target.metric, stage.history.now_us)
    metrics.take()
    wire = WireWatch(target.faults, target.journal) if scenario.wire_checks else None
    cast = Cast(stage, seed)
    while not all(process.is_ready for process in stage.driver_processes):
        await sleep(reactor, _STEP_MS)
    target.faults.control_clients(cast)
    for rule in scenario.rules:
        target.add_rule(rule)
    target.faults.start_load()
    cast.start()
    problem = await _Play(stage, cast, metrics, began_s, progress).over
    if problem is None:
        left_s = began_s + scenario.deadline_s - reactor.seconds()
        await wait_for_due_rules(target.faults, reactor, within_s=max(0.0, left_s))
    else:
        stage.problems.append(problem)
    reports = target.faults.reports()
    target.heal()
    for player in cast:
        await player.process.finish(_CLOSE_MS)
        player.process.note_pool()
    problem = await target.settle(within_s=scenario.deadline_s)
    for group in scenario.clients:
        if group.final_polls and problem is None:
            problem = await poll_finally(stage, group, within_s=scenario.deadline_s)
    if problem is not None:
        stage.problems.append(problem)
    truth = await target.truth()
    return Evidence(
        scenario=scenario,
        seed=seed,
        history=stage.history.recorder.drain(),
        operations=stage.history,
        groups=stage.groups,
        truth=truth,
        rules=reports,
        client_ids=stage.client_ids,
        watch=watch,
        metrics=metrics.taken,
        wire=None if wire is None else wire.batches,
        pools=stage.pools,
        callbacks=stage.callbacks,
        facts={
            "seed": str(seed),
            "release": scenario.release,
            "brokers": str(scenario.brokers),
            "clients": ", ".join(_described(group) for group in scenario.clients),
            "time": f"{time}, {clock(stage.history.now_us() - began_us)} with settling",
        },
        problems=tuple(stage.problems),
    )


class _Play:
    """Looks every 50 ms whether all clients have ended. `over` fires with None, or the reason why that is given up.

    A run has hundreds of looks: each is one call of the reactor, and no coroutine is resumed for it.
    """

    def __init__(
        self, stage: Stage, cast: Cast, metrics: MetricSamples, began_s: float, progress: LoadProgress | None
    ) -> None:
        self._stage = stage
        self._cast = cast
        self._metrics = metrics
        self._began_s = began_s
        self._progress = progress
        self._timer: IDelayedCall | None = None
        self.over: Final[Deferred[str | None]] = Deferred(lambda _: self._stop())
        self._look()

    def _look(self) -> None:
        again, self._timer = self._timer is not None, None
        try:
            if again:
                self._sample()
            playing = self._cast.still_playing()
            problem = self._problem(playing) if playing else None
        except Exception:  # noqa: BLE001 - it is the result of `over`
            self.over.errback()
            return
        if playing and problem is None:
            self._timer = self._stage.reactor.callLater(_STEP_MS / 1000, self._look)
        else:
            self.over.callback(problem)

    def _sample(self) -> None:
        self._metrics.take()
        if self._progress is not None:
            self._progress.update(self._cast.completed)

    def _problem(self, playing: Sequence[str]) -> str | None:
        scenario = self._stage.scenario
        now_s = self._stage.reactor.seconds()
        if now_s >= self._began_s + scenario.deadline_s:
            return (
                f"{self._cast.places(playing[:5])} had not ended after {scenario.deadline_s:g} s, with "
                f"{plural(self._cast.unfinished, 'record')} without an outcome (deadline_s)"
            )
        return self._stage.limits.problem_of_calls(self._stage.calls_made(), now_s - self._began_s)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _described(group: ClientGroup) -> str:
    """`writer (2): 400 records at 200/s`, or the number of steps of the script."""
    parts = []
    if group.load is not None:
        parts.append(f"{group.load.records:,} records at {group.load.rate_per_s:g}/s")
    if group.script:
        parts.append(plural(len(group.script), "step"))
    return f"{group.name} ({group.count}): {' and '.join(parts)}"
