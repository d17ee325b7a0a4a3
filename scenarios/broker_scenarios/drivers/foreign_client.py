"""A foreign client as a script sees it: the calls of this project's client, made by a driver's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from twisted.internet.defer import Deferred

from broker_client.consumer_groups import OffsetAndMetadata
from broker_client.core.consumer.consumer_core import EARLIEST
from broker_client.core.consumer.fetched_batches import ConsumerRecord
from broker_client.records import TopicPartition
from broker_scenarios.drivers.driver_process import DriverEnded, DriverError
from broker_scenarios.sends import NOWHERE
from broker_scenarios.workloads.values import VALUE_BYTES_MIN, value_bytes, value_id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_client.consumer_groups import RebalanceListener
    from broker_client.errors import ProducerError
    from broker_scenarios.drivers.driver import DriverProgram
    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.sends import DeliveryCallback
    from sim_runtime.process_reactor import ProcessReactor

__all__ = ["ForeignClient", "ForeignConsumer", "ForeignProducer"]

_RECORDS_A_POLL: Final = 500


class _Place(NamedTuple):
    partition: int
    offset: int
    timestamp_ms: int


class ForeignClient:
    """The process of a foreign client, with a producer, a consumer or both."""

    def __init__(
        self,
        process: DriverProgram,
        group: ClientGroup,
        reactor: ProcessReactor,
        *,
        client_id: str,
        bootstrap_servers: str,
        changes: Mapping[str, str],
        on_problem: Callable[[str], None],
    ) -> None:
        self._reactor = reactor
        self._on_problem = on_problem
        self._who = f"client {client_id}: driver {group.driver}"
        self.process: Final = process
        self.producer: Final = None if group.producer is None else ForeignProducer(self)
        self.consumer: Final = None if group.consumer is None else ForeignConsumer(self)
        load = group.load
        self._start = {
            "load": None
            if load is None
            else {"topic": load.topic, "records": load.records, "rate_per_s": load.rate_per_s},
            "client_id": client_id,
            "bootstrap_servers": bootstrap_servers,
            "producer": None if group.producer is None else {**group.producer, **changes},
            "consumer": None if group.consumer is None else dict(group.consumer),
        }

    def start(self) -> None:
        """Make the client; the calls that follow wait for it in the driver."""
        self.process.invoke("start", [], self._started, **self._start)

    def _started(self, response: Mapping[str, Any]) -> None:
        if response.get("type") not in {None, "ok"}:
            self._on_problem(f"{self._who} could not make its client: {response['error']}")

    def call(self, f: str, mops: list[list[Any]] | None = None, **facts: Any) -> Deferred[Mapping[str, Any]]:
        """Make a call; the Deferred fails with the error of the client."""
        done: Deferred[Mapping[str, Any]] = Deferred()

        def completed(response: Mapping[str, Any]) -> None:
            error = _error_of(response)
            # What comes while the application is frozen waits, and nothing comes after its end.
            self._reactor.run(lambda: None if done.called else _end(done, response, error))

        self.process.invoke(f, mops or [], completed, **facts)
        return done

    def send(self, mops: list[list[Any]], on_delivery: DeliveryCallback, **facts: Any) -> None:
        """Send a record."""

        def completed(response: Mapping[str, Any]) -> None:
            error = _error_of(response)
            place = NOWHERE if error is not None else _place_of(response)
            self._reactor.run(lambda: on_delivery(place, error))

        self.process.invoke("send", mops, completed, **facts)

    def order(self, f: str, mops: list[list[Any]] | None = None) -> None:
        """Make a call whose error is a problem of the run."""

        def completed(response: Mapping[str, Any]) -> None:
            if response.get("type") not in {None, "ok"}:
                self._on_problem(f"{self._who} failed to {f}: {response['error']}")

        self.process.invoke(f, mops or [], completed)

    async def close(self, timeout_ms: float) -> None:
        """Close the client in order."""
        await self.call("close", timeout_ms=timeout_ms)

    def hangs(self) -> None:
        """Note that the client has not closed in time."""
        self._on_problem(f"{self._who} did not close in time, and was killed")


class ForeignProducer:
    """The producer of a foreign client."""

    def __init__(self, client: ForeignClient) -> None:
        self._client = client

    @property
    def transactional(self) -> ForeignProducer:
        """The calls of transactions."""
        return self

    def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> object:
        """Give the client a record."""
        assert value is not None, "a run sends no tombstones"
        assert on_delivery is not None, "a run wants every outcome"
        self._client.send(
            [["send", topic if partition is None else f"{topic}-{partition}", value_id_of(value)]],
            on_delivery,
            topic=topic,
            partition=partition,
            key=None if key is None else key.decode("latin-1"),
            headers={name: (text or b"").decode() for name, text in headers},
            timestamp_ms=timestamp_ms,
            filler=value[VALUE_BYTES_MIN:].decode(),
        )
        return None

    async def flush(self) -> None:
        """Wait until every record has an outcome."""
        await self._client.call("flush")

    async def init_transactions(self) -> None:
        """InitTransactions, or its name in this client."""
        await self._client.call("init")

    def begin_transaction(self) -> None:
        """Begin a transaction; the calls that follow wait for it in the driver."""
        self._client.order("begin")

    async def commit_transaction(self) -> None:
        """Commit it."""
        await self._client.call("commit_transaction")

    async def abort_transaction(self) -> None:
        """Abort it."""
        await self._client.call("abort_transaction")


class ForeignConsumer:
    """The consumer of a foreign client; its positions are those after what it has polled."""

    def __init__(self, client: ForeignClient) -> None:
        self._client = client
        self._assigned: tuple[TopicPartition, ...] = ()
        self._positions: dict[TopicPartition, int] = {}
        self._listener: RebalanceListener | None = None

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions, as of the last poll."""
        return self._assigned

    def position(self, key: TopicPartition) -> int | None:
        """The next offset to read, if one is known."""
        return self._positions.get(key)

    def fetched_ends(self, key: TopicPartition) -> tuple[int, int] | None:  # noqa: ARG002 - of any partition
        """The ends that responses had: foreign clients do not show them."""
        return None

    def assign(self, keys: Iterable[TopicPartition]) -> None:
        """Assign partitions by hand."""
        self._assigned = tuple(keys)
        self._positions = {key: place for key, place in self._positions.items() if key in self._assigned}
        self._client.order("assign", [["assign", [_name(key) for key in self._assigned]]])

    async def subscribe(self, topics: Sequence[str], listener: RebalanceListener | None = None) -> None:
        """Subscribe to topics."""
        self._listener = listener
        await self._client.call("subscribe", [["subscribe", list(topics)]])

    async def unsubscribe(self) -> None:
        """Give up everything."""
        self._assigned = ()
        await self._client.call("subscribe", [["subscribe", []]])

    def seek(self, key: TopicPartition, offset: int) -> None:
        """Go on at an offset."""
        self._positions[key] = offset
        self._client.order("seek", [["seek", {_name(key): offset}]])

    def seek_to(self, key: TopicPartition, spec: int) -> None:
        """Go on at the beginning or the end."""
        self._positions.pop(key, None)
        self._client.order("seek", [["seek", {_name(key): "beginning" if spec == EARLIEST else "end"}]])

    async def committed(self, keys: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The committed offsets of the group; None where there is none."""
        response = await self._client.call("committed", keys=[_name(key) for key in keys])
        return {
            _key(name): None if offset is None else OffsetAndMetadata(offset=int(offset))
            for name, offset in response["offsets"].items()
        }

    async def offsets(self, keys: Iterable[TopicPartition], spec: int) -> dict[TopicPartition, int]:  # noqa: ARG002 - scripts need the ends alone
        """The ends of partitions."""
        response = await self._client.call("ends", keys=[_name(key) for key in keys])
        return {_key(name): int(end) for name, end in response["offsets"].items()}

    async def poll(self, timeout_ms: int) -> list[ConsumerRecord]:
        """Poll once."""
        response = await self._client.call("poll", [["poll"]], timeout_ms=timeout_ms, records=_RECORDS_A_POLL)
        ((_, found),) = response["mops"]
        self._assigned = tuple(map(_key, response["assigned"]))
        if self._listener is not None and response["rebalanced"]:
            self._listener.on_partitions_assigned(tuple(map(_key, response["rebalanced"])))
        records = [_record(_key(name), *each) for name, read in found.items() for each in read]
        for record in records:
            self._positions[TopicPartition(record.topic, record.partition)] = record.offset + 1
        return records

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None) -> None:
        """Commit offsets, or the positions."""
        wanted = self._positions if offsets is None else {key: each.offset for key, each in offsets.items()}
        await self._client.call("commit", [["commit", {_name(key): offset for key, offset in wanted.items()}]])


def _error_of(response: Mapping[str, Any]) -> ProducerError | None:
    match response.get("type"):
        case "ok":
            return None
        case None:
            return DriverEnded("the process of the client has ended")
        case outcome:
            return DriverError(str(response["error"]), int(response["code"]), certain=outcome == "fail")


def _end(done: Deferred[Mapping[str, Any]], response: Mapping[str, Any], error: ProducerError | None) -> None:
    if error is None:
        done.callback(response)
    else:
        done.errback(error)


def _place_of(response: Mapping[str, Any]) -> _Place:
    ((_, key, (offset, _)),) = response["mops"]
    return _Place(_key(key).partition, int(offset), int(response["timestamp_ms"]))


def _record(key: TopicPartition, offset: int, value_id: int) -> ConsumerRecord:
    value = None if value_id < 0 else value_bytes(value_id, VALUE_BYTES_MIN)
    return ConsumerRecord(key.topic, key.partition, offset, -1, None, value, (), -1)


def _name(key: TopicPartition) -> str:
    return f"{key.topic}-{key.partition}"


def _key(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))
