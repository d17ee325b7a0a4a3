"""One process of a client: a producer, a consumer or both, on a host of its own. It can crash and freeze."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_client.consumer_options import consumer_options
from broker_client.core.consumer.consumer_core import ConsumerCore
from broker_client.core.consumer.consumer_parts import CONSUMER_PARTS
from broker_client.core.network.client_core import ClientCore
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.core.producer.producer_parts import PRODUCER_PARTS
from broker_client.errors import ProducerError
from broker_client.producer_config import ProducerConfig
from broker_client.transaction_errors import TransactionAborted
from broker_scenarios.checks.on_the_wire.wire_facts import Pool
from broker_scenarios.drivers.foreign_client import ForeignClient
from broker_scenarios.history import EventType
from broker_scenarios.language.client_defects import defects_of
from broker_scenarios.playing.run_history import name_of_error
from broker_scenarios.sends import NOWHERE, Sends, class_of
from broker_scenarios.workloads.values import value_bytes
from protocol_specs.error_codes import ErrorCode
from sim_runtime.deadlines import DeadlineExceeded, deadline
from sim_runtime.process_reactor import ProcessReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from broker_client.consumer_groups import OffsetAndMetadata
    from broker_client.records import TopicPartition
    from broker_scenarios.drivers.foreign_client import ForeignConsumer, ForeignProducer
    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.playing.outbox import SentRecord
    from broker_scenarios.playing.run_history import Operation
    from broker_scenarios.playing.stage import Stage
    from broker_scenarios.sends import DeliveredRecord

__all__ = ["ClientProcess", "ProcessEnded", "UnknownEnd"]

_PLAINTEXT: Final = "PLAINTEXT"
_DRIVER_CLOSES_MS: Final = 15_000
"""How much longer than its time-out a foreign client may take to close, in milliseconds, on a busy machine."""
_LAST_REPORTS_MS: Final = 5_000
"""How long a foreign client may report sends after its close has returned, in milliseconds: its threads go on."""


class ProcessEnded(ProducerError):
    """The process of the client has ended before the call did."""

    maybe_written = True


class UnknownEnd(ProducerError):
    """The end of the transaction is not known, and so is the fate of its records."""

    maybe_written = True


class ClientProcess:
    """One lifetime of a client.

    `ended_sends` counts the sends with an outcome. Within a transaction a send has the outcome of the transaction.
    """

    def __init__(
        self, stage: Stage, group: ClientGroup, client_id: str, host: str, changes: Mapping[str, str] | None = None
    ) -> None:
        stage.limits.start_process()
        self._stage = stage
        self.group: Final = group
        self.number: Final = stage.history.new_process()
        stage.groups[self.number] = group
        stage.client_ids[self.number] = client_id
        self.reactor: Final = ProcessReactor(stage.reactor_of(host))
        self.random: Final[Random] = stage.streams.stream(f"client {host}")
        self.sends: Final = Sends(
            stage.history.recorder, process=self.number, producer_id=self.number, now_us=stage.history.now_us
        )
        self.transaction: Operation | None = None
        """The operation of the open transaction."""
        self.commit_error: Exception | None = None
        """What the commit of the open transaction failed with; None as well if no commit was tried."""
        self._in_transaction: list[Callable[[ProducerError | None], None]] = []
        self._open: dict[int, Callable[[ProducerError], None]] = {}
        self._all_reported: Deferred[None] | None = None
        self.producer: ProducerCore | ForeignProducer | None = None
        self.consumer: ConsumerCore | ForeignConsumer | None = None
        self._consumer_client: ClientCore | None = None
        self._foreign: ForeignClient | None = None
        if group.driver is not None:
            self._start_driver(client_id, changes or {})
            return
        if group.producer is not None:
            given = {"client.id": client_id, **group.producer, **(changes or {})}
            config = ProducerConfig({**given, **self._servers_for(given)})
            defects = defects_of(group.defects, PRODUCER_PARTS)
            self.producer = ProducerCore(config, self.reactor, self.random, trace=stage.trace, defects=defects)
        if group.consumer is not None:
            given = {"client.id": client_id, **group.consumer}
            self._start_consumer({**given, **self._servers_for(given)})

    def _servers_for(self, config: Mapping[str, str]) -> dict[str, str]:
        protocol = config.get("security.protocol", _PLAINTEXT)
        return {"bootstrap.servers": self._stage.target.bootstrap_servers_for(protocol)}

    def _start_driver(self, client_id: str, changes: Mapping[str, str]) -> None:
        assert self._stage.start_driver is not None, "a run without drivers refuses them"
        on_problem = self._stage.problems.append
        self._foreign = ForeignClient(
            self._stage.start_driver(self.group, self.reactor, client_id, on_problem),
            self.group,
            self.reactor,
            client_id=client_id,
            bootstrap_servers=self._stage.target.bootstrap_servers_for(_PLAINTEXT),
            changes=changes,
            on_problem=on_problem,
        )
        self._stage.driver_processes.append(self._foreign.process)
        self.producer, self.consumer = self._foreign.producer, self._foreign.consumer

    def _start_consumer(self, config: Mapping[str, Any]) -> None:
        options = consumer_options(config)
        self._consumer_client = ClientCore(
            options.client,
            self.reactor,
            self.random,
            by_subscription=True,
            allow_auto_topic_creation=options.allow_auto_create_topics,
            defects=defects_of(self.group.defects, CONSUMER_PARTS),
        )
        self.consumer = consumer = options.make_core(self._consumer_client)
        consumer.observe_automatic_commits(self._automatic_commit)

    def _automatic_commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Callable[[BaseException | None], object]:
        """Record a commit that the client makes by itself."""
        assert self.group.consumer is not None, "a consumer commits"
        history = self._stage.history
        named = {f"{key.topic}-{key.partition}": one.offset for key, one in offsets.items()}
        operation = history.invoke(
            self.number, "commit", [["commit", named]], group=self.group.consumer.get("group.id"), auto=True
        )
        return lambda error: history.complete(operation, EventType.OK if error is None else EventType.INFO, None, error)

    def start(self) -> None:
        """Make the client of a driver, which connects then; one of this project is made with the process."""
        if self._foreign is not None:
            self._foreign.start()

    # Sends

    def send(self, record: SentRecord) -> None:
        """Give the producer a record; its outcome comes to the record and to the history."""
        assert self.producer is not None, "the check of scripts requires a producer"
        limits = self._stage.limits
        limits.begin_send(record.size_bytes)
        completed = self.sends.invoke(
            topic=record.topic, key=record.key, value_id=record.value_id, size_bytes=record.size_bytes
        )
        operation = self.transaction
        mop: list[Any] = []
        if operation is not None:
            mop = ["send", f"{record.topic}-{record.partition}", record.value_id]
            operation.mops.append(mop)
        place = self.sends.invoked

        def end(metadata: DeliveredRecord, error: ProducerError | None) -> None:
            record.outcome = EventType.OK if error is None else class_of(error)
            if error is None:
                self._stage.target.acknowledged(record.topic, metadata.partition, metadata.offset)
            self._stage.history.outcomes[record.outcome.value] += 1
            if error is not None:
                self._stage.history.outcomes[name_of_error(error)] += 1
            completed(metadata, error)

        def delivered(metadata: DeliveredRecord, error: ProducerError | None) -> None:
            if self._open.pop(place, None) is not None:
                limits.end_send(record.size_bytes)
                if self._all_reported is not None and not self._open:
                    self._all_reported.callback(None)
            if operation is None:
                end(metadata, error)
            else:
                in_transaction(operation, metadata, error)
            if record.on_delivery is not None:
                record.on_delivery()

        def in_transaction(operation: Operation, metadata: DeliveredRecord, error: ProducerError | None) -> None:
            mop[1] = f"{record.topic}-{metadata.partition if metadata.partition >= 0 else record.partition}"
            if error is None and metadata.offset >= 0:
                operation.results.append(["send", mop[1], [metadata.offset, record.value_id]])
            self._in_transaction.append(lambda outcome: end(metadata, outcome or error))
            if operation.type is not None:
                self._end_sends(operation.type)

        self._open[place] = lambda error: delivered(NOWHERE, error)
        try:
            self.producer.send(
                record.topic,
                value_bytes(record.value_id, record.size_bytes),
                record.key,
                partition=record.partition,
                headers=tuple((name, text.encode()) for name, text in record.headers.items()),
                timestamp_ms=record.timestamp_ms,
                on_delivery=delivered,
            )
        except ProducerError as error:
            delivered(NOWHERE, error)

    # Transactions

    def begin(self) -> None:
        """A transaction begins: the operation takes the sends and polls until its end."""
        self.end_transaction(EventType.INFO)
        self.transaction = self._stage.history.invoke(self.number, "txn", [])
        self.commit_error = None

    def give_up_transaction(self, error: Exception | None = None) -> None:
        """Neither a commit nor an abort of the open transaction has succeeded, and none will.

        Its writes failed if no commit was tried, or if the coordinator refused it because there was nothing to commit.
        Otherwise the end is unknown.
        """
        tried = self.commit_error
        certain = tried is None or getattr(tried, "error_code", None) is ErrorCode.INVALID_TXN_STATE
        self.end_transaction(EventType.FAIL if certain else EventType.INFO, error or tried)

    def end_transaction(self, outcome: EventType, error: Exception | None = None) -> None:
        """The open transaction, if there is one, has ended with this outcome."""
        operation, self.transaction = self.transaction, None
        if operation is None:
            return
        self._stage.history.complete(operation, outcome, operation.results, error)
        self._end_sends(outcome)

    def _end_sends(self, outcome: EventType) -> None:
        sends, self._in_transaction = self._in_transaction, []
        for end in sends:
            if outcome is EventType.OK:
                end(None)
            elif outcome is EventType.FAIL:
                end(TransactionAborted("the transaction of the record was aborted, or its commit never tried"))
            else:
                end(UnknownEnd("the end of the record's transaction is not known"))

    # The end

    def pause(self) -> None:
        """Freeze the process, as SIGSTOP does."""
        self.reactor.pause()
        if self._foreign is not None:
            self._foreign.process.pause()

    def resume(self) -> None:
        """Let it go on."""
        if self._foreign is not None:
            self._foreign.process.resume()
        self.reactor.resume()

    def exit(self) -> None:
        """End the program: what is buffered never leaves, and nothing is reported any more."""
        if self._foreign is not None:
            self._foreign.process.exit()
        self.reactor.crash()
        self.end_transaction(EventType.INFO)

    def crash(self) -> None:
        """Kill the process: what was open has an unknown outcome."""
        self._kill()
        self.end_transaction(EventType.INFO)
        for end in list(self._open.values()):
            end(ProcessEnded("the process was killed"))
        self._open.clear()

    def _kill(self) -> None:
        self.reactor.crash()
        if self._foreign is not None:
            self._foreign.process.kill()

    async def finish(self, timeout_ms: float) -> None:
        """Close at the end of the run, unless it has crashed; what goes wrong then is part of no script."""
        if not self.reactor.is_crashed:
            self._end_sends(EventType.INFO)  # the transaction stays open; the client has reported these sends
            self.resume()
            if isinstance(self.consumer, ConsumerCore):
                self.consumer.observe_automatic_commits(None)
            closing = Deferred.fromCoroutine(self.close(timeout_ms))
            limit_ms = 2 * timeout_ms + (1_000 if self._foreign is None else _DRIVER_CLOSES_MS)
            try:
                await deadline(
                    self._stage.reactor, closing, limit_ms, awaited="the end of a client", option="deadline_s"
                )
            except ProducerError:
                await self._last_reports()
            except DeadlineExceeded:
                if self._foreign is not None:
                    self._foreign.hangs()
            else:
                await self._last_reports()
        self._kill()

    async def _last_reports(self) -> None:
        """Wait for the outcomes that threads of a foreign client report once its close has returned."""
        if self._foreign is not None and self._open:
            self._all_reported = Deferred()
            awaited = deadline(
                self._stage.reactor, self._all_reported, _LAST_REPORTS_MS, awaited="the last sends", option="deadline_s"
            )
            with suppress(DeadlineExceeded):
                await awaited

    def note_pool(self) -> None:
        """Record the memory that the producer has free."""
        if isinstance(self.producer, ProducerCore):
            pool, client_id = self.producer.pool, self._stage.client_ids[self.number]
            self._stage.pools.append(Pool(self.number, client_id, pool.available_bytes, pool.memory_bytes))

    async def close(self, timeout_ms: float) -> None:
        """Close in order, within the time-out."""
        if self._foreign is not None:
            await self._foreign.close(timeout_ms)
        if isinstance(self.producer, ProducerCore):
            await self.producer.close(int(timeout_ms))
        if isinstance(self.consumer, ConsumerCore) and self._consumer_client is not None:
            try:
                await self.consumer.close(int(timeout_ms))
            finally:
                self._consumer_client.close()
