"""Plays the script of one client, step after step. A call that fails is recorded, and the script goes on."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import CancelledError, Deferred

from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import ProducerError
from broker_scenarios.checks.on_the_wire.wire_facts import CallInCallback
from broker_scenarios.history import EventType
from broker_scenarios.language import steps
from broker_scenarios.language.script_check import word_of
from broker_scenarios.language.step_forms import STEPS
from broker_scenarios.playing.client_process import ClientProcess
from broker_scenarios.playing.consumer_steps import ConsumerSteps
from broker_scenarios.playing.copy_loop import copy
from broker_scenarios.playing.outbox import Outbox, SentRecord
from broker_scenarios.playing.waits import awaited, wait_for
from sim_runtime.deadlines import DeadlineExceeded, deadline, sleep

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.language.steps import Script, Step
    from broker_scenarios.playing.stage import Stage
    from sim_runtime.interfaces import IReactor

__all__ = ["ScriptPlayer"]

_EVERY_OUTCOME_MS: Final = 600_000
"""How long a send with `wait` may wait for its outcome, in milliseconds: a producer gives it up long before."""


class ScriptPlayer:
    """One client of a group. `has_ended` is True when its script is over."""

    def __init__(self, stage: Stage, group: ClientGroup, number: int) -> None:
        self.stage = stage
        self.group = group
        self.client_id = group.client_id(number)
        self.has_ended = False
        self.outbox = Outbox()
        self._lifetime = 0
        self._changes: Mapping[str, str] = {}
        self._playing: Deferred[None] | None = None
        self._steps: list[tuple[int, Step]] = []
        self.process = self._new_process()
        self.consumer_steps = ConsumerSteps(self)

    @property
    def unfinished(self) -> int:
        """The sends without an outcome."""
        return self.process.sends.invoked - self.process.sends.completed

    @property
    def place(self) -> str:
        """The step that is played, with those that it is a part of: `step 2, repeat, step 1, poll`."""
        return ", ".join(f"step {number}, {_described(step)}" for number, step in self._steps)

    def start(self) -> None:
        """Play the script from its beginning."""
        self.has_ended = False
        self._steps = []
        self.process.start()
        self._playing = Deferred.fromCoroutine(self._play())
        self._playing.addErrback(self._failed)

    def kill(self) -> None:
        """Kill the process in the middle of its script, as a rule does."""
        self._stop_playing()
        self.process.crash()
        self.has_ended = True

    def restart(self) -> None:
        """Start a new process, which plays the script from its beginning; one that still runs is killed before."""
        self._stop_playing()
        if not self.process.reactor.is_crashed:
            self.process.crash()
        self._start_process()
        self.start()

    def _stop_playing(self) -> None:
        playing, self._playing = self._playing, None
        if playing is not None:
            playing.cancel()

    async def _play(self) -> None:
        await self.play(self.group.script)
        self.has_ended = True

    def _failed(self, failure: Any) -> None:
        if failure.check(CancelledError) is None:
            self.stage.problems.append(f"client {self.client_id}: {failure.type.__name__}: {failure.getErrorMessage()}")
        self.has_ended = True

    async def play(self, script: Script) -> None:
        """Play steps in order."""
        steps_now = self._steps
        depth = len(steps_now)
        for number, step in enumerate(script, 1):
            self.stage.limits.take_step()
            steps_now[depth:] = [(number, step)]
            await _STEPS[type(step)](self, step)
        del steps_now[depth:]

    # Producer

    async def send(self, step: steps.Send) -> None:
        """Send records, one after another."""
        topic = step.topic or self.stage.scenario.topics[0].name
        partitions = range(self.stage.target.partition_counts[topic]) if step.each_partition else [step.partition]
        for place, partition in enumerate(list(partitions) * step.count):
            self.stage.limits.take_step()
            if place and step.every_ms:
                await self.sleep(step.every_ms)
            reported: Deferred[None] = Deferred()
            record = SentRecord(
                topic=topic,
                value_id=self.stage.new_value_id(),
                size_bytes=step.size_bytes,
                partition=partition,
                key=None if step.key is None else step.key.encode(),
                timestamp_ms=step.timestamp_ms,
                headers=step.headers,
                on_delivery=self._on_delivery(step, reported),
            )
            self.send_record(record)
            if step.wait:
                with suppress(DeadlineExceeded):  # a client that never reports: the record stays open
                    await self.within(reported, _EVERY_OUTCOME_MS, "the outcome of a record")

    def _on_delivery(self, step: steps.Send, reported: Deferred[None]) -> Callable[[], None] | None:
        """Return the delivery callback of the application: it may call the producer, and the script may wait for it."""
        if step.on_delivery is None and not step.wait:
            return None
        called = {"flush": steps.Flush(), "close": steps.Close(), None: None}[step.on_delivery]

        def delivered() -> None:
            if called is not None:
                # The call begins within the callback, and is recorded.
                call = CallInCallback(
                    client_id=self.client_id, what=str(step.on_delivery), begun_us=self.stage.history.now_us()
                )
                self.stage.callbacks.append(call)
                ended = Deferred.fromCoroutine(_awaited(_STEPS[type(called)](self, called)))
                ended.addCallbacks(lambda _: setattr(call, "returned", True), self._failed)
            if step.wait:
                # The script goes on after the callback, not within it.
                self.process.reactor.callLater(0, _fire_once, reported)

        return delivered

    def send_record(self, record: SentRecord) -> None:
        """Give the producer a record and keep it."""
        self.outbox.add(record)
        self.process.send(record)

    async def resend(self, step: steps.Resend) -> None:
        """Send records of the outbox again."""
        for record in self.outbox.of(step.which):
            self.send_record(record)

    async def flush(self, step: steps.Flush) -> None:
        """Flush the producer."""
        producer = self.process.producer
        assert producer is not None, "the check of scripts requires a producer"
        await self.call("flush", [], producer.flush(), step.timeout_ms)

    async def init(self, _: steps.Init) -> None:
        """Call init_transactions."""
        await self.call("init", [], self._transactional(lambda calls: calls.init_transactions()))

    async def begin(self, _: steps.Begin) -> None:
        """Begin a transaction."""
        self.begin_transaction()

    async def commit(self, step: steps.Commit) -> None:
        """Commit it."""
        await self.commit_transaction(or_abort=step.or_abort)

    async def abort(self, _: steps.Abort) -> None:
        """Abort it."""
        await self.abort_transaction()

    def begin_transaction(self) -> bool:
        """Begin a transaction; returns whether it has begun."""
        assert self.process.producer is not None, "the check of scripts requires a producer"
        try:
            self.process.producer.transactional.begin_transaction()
        except ProducerError as error:
            operation = self.stage.history.invoke(self.process.number, "begin", [])
            self.stage.history.complete(operation, EventType.FAIL, None, error)
            return False
        self.process.begin()
        return True

    async def commit_transaction(self, *, or_abort: bool) -> bool:
        """Commit; returns whether the commit succeeded. With `or_abort` an abort follows a commit that did not.

        A transaction whose commit failed has an unknown end, until an abort of it succeeds.
        """
        error = await self._end(lambda calls: calls.commit_transaction())
        if error is None:
            self.process.end_transaction(EventType.OK)
            return True
        self.process.commit_error = error
        if or_abort:
            await self.abort_transaction()
        return False

    async def abort_transaction(self) -> None:
        """Abort the transaction."""
        error = await self._end(lambda calls: calls.abort_transaction())
        if error is None:
            self.process.end_transaction(EventType.FAIL, self.process.commit_error)
        else:
            self.process.give_up_transaction(error)

    async def _end(self, end: Callable[[Any], Coroutine[Any, Any, None]]) -> Exception | None:
        """End the transaction; returns the error of the call."""
        try:
            await self.within(self._transactional(end), _EVERY_OUTCOME_MS, "the end of the transaction")
        except (ProducerError, DeadlineExceeded) as error:
            return error
        return None

    async def _transactional(self, call: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        assert self.process.producer is not None, "the check of scripts requires a producer"
        await call(self.process.producer.transactional)

    # The process

    async def close(self, step: steps.Close) -> None:
        """Close the client in order."""
        timeout_ms = step.timeout_ms
        await self.call("close", [], self._close(timeout_ms), timeout_ms + 30_000)
        self.process.give_up_transaction()

    async def _close(self, timeout_ms: float) -> None:
        """Close as an application does whose sends have returned; the wait for them is a part of the time-out."""
        began_s = self.stage.reactor.seconds()
        if timeout_ms > 0 and isinstance(producer := self.process.producer, ProducerCore):
            with suppress(DeadlineExceeded):
                await self.within(producer.all_appended(), timeout_ms, "the sends")
        waited_ms = (self.stage.reactor.seconds() - began_s) * 1000
        await self.process.close(max(0.0, timeout_ms - waited_ms))

    async def exit(self, _: steps.Exit) -> None:
        """End the program as it is."""
        self.process.exit()

    async def crash(self, _: steps.Crash) -> None:
        """Kill the process. What was open ends first: the neutral form has no completions after a crash."""
        self.process.crash()
        operation = self.stage.history.invoke(self.process.number, "crash", [])
        self.stage.history.complete(operation, EventType.INFO)

    async def restart_step(self, step: steps.Restart) -> None:
        """Go on with a new process."""
        self.process.crash()
        self._changes = {**self._changes, **step.config}
        left = self.outbox.unconfirmed() if step.outbox else []
        self._start_process()
        self.process.start()
        for record in left:
            self.send_record(record)

    def _start_process(self) -> None:
        self._lifetime += 1
        self.process = self._new_process()
        self.consumer_steps = ConsumerSteps(self)

    def _new_process(self) -> ClientProcess:
        host = self.client_id if self._lifetime == 0 else f"{self.client_id}-process-{self._lifetime + 1}"
        return ClientProcess(self.stage, self.group, self.client_id, host, self._changes)

    # The run

    async def wait(self, step: steps.Wait) -> None:
        """Wait; what does not come in time is a problem of the run."""
        problem = await wait_for(self.stage, self.reactor, step)
        if problem is not None:
            self.stage.problems.append(f"client {self.client_id}: {problem}")

    async def act(self, step: steps.Act) -> None:
        """Act on the cluster."""
        self.stage.act(self.client_id, step.act)

    async def repeat(self, step: steps.Repeat) -> None:
        """Play steps several times."""
        for _ in range(step.times):
            self.stage.limits.take_step()
            began_s = self.reactor.seconds()
            await self.play(step.steps)
            left_ms = step.every_ms - (self.reactor.seconds() - began_s) * 1000
            if left_ms > 0:
                await self.sleep(left_ms)

    async def copy(self, step: steps.Copy) -> None:
        """Consume, transform and produce."""
        await copy(self, step)

    # Helpers of all steps

    async def sleep(self, ms: float) -> None:
        """The application does nothing for a time."""
        await sleep(self.reactor, ms)

    @property
    def reactor(self) -> IReactor:
        """The time of the application: that of its process, which may be frozen, or the run's between two processes."""
        return self.stage.reactor if self.process.reactor.is_crashed else self.process.reactor

    async def call(
        self, f: str, mops: list[list[Any]], call: Awaitable[Any], timeout_ms: float = _EVERY_OUTCOME_MS
    ) -> bool:
        """Make a call and record it; returns whether it succeeded."""
        history = self.stage.history
        operation = history.invoke(self.process.number, f, mops, group=self.group_id)
        try:
            await self.within(call, timeout_ms, f"the call {f}")
        except (ProducerError, DeadlineExceeded) as error:
            history.complete(operation, EventType.INFO, None, error)
            return False
        history.complete(operation, EventType.OK)
        return True

    async def within(self, call: Awaitable[Any], timeout_ms: float, awaited: str) -> Any:
        """Wait for a call. Raises DeadlineExceeded."""
        made = Deferred.fromCoroutine(_awaited(call))
        return await deadline(
            self.stage.reactor, made, timeout_ms, awaited=f"{awaited} of client {self.client_id}", option="timeout_ms"
        )

    @property
    def group_id(self) -> str | None:
        """The consumer group."""
        return None if self.group.consumer is None else self.group.consumer.get("group.id")


def _described(step: Step) -> str:
    if isinstance(step, steps.Wait):
        return f"wait for {' and '.join(awaited(step))}"
    return word_of(step)


def _fire_once(reported: Deferred[None]) -> None:
    """Fire unless it has fired: a client with a bug may report a record twice."""
    if not reported.called:
        reported.callback(None)


async def _awaited(call: Awaitable[Any]) -> Any:
    return await call


_STEPS: Final[Mapping[type[Step], Callable[[ScriptPlayer, Any], Awaitable[None]]]] = {
    steps.Send: ScriptPlayer.send,
    steps.Resend: ScriptPlayer.resend,
    steps.Flush: ScriptPlayer.flush,
    steps.Init: ScriptPlayer.init,
    steps.Begin: ScriptPlayer.begin,
    steps.Commit: ScriptPlayer.commit,
    steps.Abort: ScriptPlayer.abort,
    steps.Close: ScriptPlayer.close,
    steps.Exit: ScriptPlayer.exit,
    steps.Crash: ScriptPlayer.crash,
    steps.Restart: ScriptPlayer.restart_step,
    steps.Wait: ScriptPlayer.wait,
    steps.Act: ScriptPlayer.act,
    steps.Repeat: ScriptPlayer.repeat,
    steps.Copy: ScriptPlayer.copy,
    steps.SendOffsets: lambda player, step: player.consumer_steps.send_offsets(step),
    steps.Assign: lambda player, step: player.consumer_steps.assign(step),
    steps.Subscribe: lambda player, step: player.consumer_steps.subscribe(step),
    steps.Unsubscribe: lambda player, step: player.consumer_steps.unsubscribe(step),
    steps.Seek: lambda player, step: player.consumer_steps.seek(step),
    steps.Poll: lambda player, step: player.consumer_steps.poll(step),
    steps.CommitOffsets: lambda player, step: player.consumer_steps.commit(step),
}
assert {step.__name__ for step in _STEPS} == {
    "".join(part.capitalize() for part in word.split("_")) for word in STEPS
}, "each step of the language can be played"
