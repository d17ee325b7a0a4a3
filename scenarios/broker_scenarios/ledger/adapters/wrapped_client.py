"""The common part of the adapters: a client with a ledger beside it. Names that no adapter has are the client's.

Calls return and raise what the client returns and raises; callbacks of the application are called as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_scenarios.errors import ScenarioError
from broker_scenarios.history import EventType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_scenarios.ledger.book import Contents, LedgerBook, Place, SentRecord, Transaction

__all__ = [
    "AsyncTransactions",
    "KafkaPythonCalls",
    "SubscriptionCalls",
    "Transactions",
    "WrappedClient",
    "WrappedConsumer",
    "WrappedProducer",
    "contents_of",
]


def contents_of(key: object, value: object, *, serialized: bool = False) -> Contents:
    """Return a record's contents on the wire; None if they are known to the client's serializers alone.

    `serialized`: the client has serializers or deserializers.
    """
    parts = [data.encode() if isinstance(data, str) else data for data in (key, value)]
    if serialized or not all(part is None or isinstance(part, bytes | bytearray | memoryview) for part in parts):
        return None
    wire_key, wire_value = (None if part is None else bytes(part) for part in parts)  # type: ignore[call-overload]
    return wire_key, wire_value


class WrappedClient:
    """A client that is used in its place; `isinstance` sees the class of the client."""

    def __init__(self, client: Any, book: LedgerBook, name: str) -> None:
        self._client = client
        self._book = book
        self._name = name

    @property  # type: ignore[misc]  # an object's class can be set; that of a wrapped client need not
    def __class__(self) -> type:
        return type(self._client)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __len__(self) -> int:
        return len(self._client)

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Any:
        self._client.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._client.__exit__(*error)

    async def __aenter__(self) -> Any:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._client.__aexit__(*error)


class WrappedProducer(WrappedClient):
    """A producer."""

    def __init__(self, client: Any, book: LedgerBook, name: str) -> None:
        super().__init__(client, book, name)
        self._transaction: Transaction | None = None

    def _sending(self, topic: str, contents: Contents, partition: int | None) -> SentRecord | None:
        """Record a send before it; None for a topic that the ledger does not cover."""
        if topic not in self._book.topics:
            return None
        named = None if partition is None or partition < 0 else partition
        return self._book.send(self._name, topic, contents, named, self._transaction)

    def _not_accepted(self, record: SentRecord | None, error: BaseException) -> None:
        """Record that the call that sends has raised: the record has not left the client."""
        if record is not None:
            self._book.complete(record, EventType.FAIL, error=_text(error))

    def _acked(self, record: SentRecord, partition: int | None, offset: int | None) -> None:
        self._book.complete(record, EventType.OK, partition, offset)

    def _failed(self, record: SentRecord, error: object, *, certain: bool = False) -> None:
        self._book.complete(record, EventType.FAIL if certain else EventType.INFO, error=_text(error))

    def _refuse(self, name: str) -> Any:
        raise ScenarioError(f"a ledger does not follow {name} of {type(self._client).__name__}: send single records")

    # Transactions

    def _begun(self) -> None:
        self._transaction = self._book.begin(self._name)

    def _ended(self, outcome: EventType, error: BaseException | None = None) -> None:
        transaction = self._transaction
        if transaction is not None:
            self._book.end(transaction, outcome, None if error is None else _text(error))
            if error is None:
                self._transaction = None


class Transactions(WrappedProducer):
    """The transactional calls, under the names that all libraries give them."""

    def begin_transaction(self, *arguments: Any, **options: Any) -> Any:
        """Begin a transaction."""
        result = self._client.begin_transaction(*arguments, **options)
        self._begun()
        return result

    def commit_transaction(self, *arguments: Any, **options: Any) -> Any:
        """Commit the transaction. An error leaves its outcome unknown."""
        try:
            result = self._client.commit_transaction(*arguments, **options)
        except BaseException as error:
            self._ended(EventType.INFO, error)
            raise
        self._ended(EventType.OK)
        return result

    def abort_transaction(self, *arguments: Any, **options: Any) -> Any:
        """Abort the transaction. An error leaves its outcome unknown."""
        try:
            result = self._client.abort_transaction(*arguments, **options)
        except BaseException as error:
            self._ended(EventType.INFO, error)
            raise
        self._ended(EventType.FAIL)
        return result


class AsyncTransactions(WrappedProducer):
    """The transactional calls of clients on asyncio."""

    async def begin_transaction(self) -> Any:
        """Begin a transaction."""
        result = await self._client.begin_transaction()
        self._begun()
        return result

    async def commit_transaction(self) -> Any:
        """Commit the transaction. An error leaves its outcome unknown."""
        try:
            result = await self._client.commit_transaction()
        except BaseException as error:
            self._ended(EventType.INFO, error)
            raise
        self._ended(EventType.OK)
        return result

    async def abort_transaction(self) -> Any:
        """Abort the transaction. An error leaves its outcome unknown."""
        try:
            result = await self._client.abort_transaction()
        except BaseException as error:
            self._ended(EventType.INFO, error)
            raise
        self._ended(EventType.FAIL)
        return result


class WrappedConsumer(WrappedClient):
    """A consumer."""

    def __init__(self, client: Any, book: LedgerBook, name: str) -> None:
        super().__init__(client, book, name)
        self._subscribed = False

    def _received(self, records: Iterable[Any], *, serialized: bool = False) -> None:
        """Record records with the attributes topic, partition, offset, key and value."""
        self._book.poll(
            self._name,
            [
                (each.topic, each.partition, each.offset, contents_of(each.key, each.value, serialized=serialized))
                for each in records
            ],
        )

    def _has_subscribed(self, topics: object) -> None:
        names = [topics] if isinstance(topics, str) else topics if isinstance(topics, list | tuple | set) else ()
        self._subscribed = True
        self._book.subscribe(self._name, [str(each) for each in names])

    def _has_unsubscribed(self) -> None:
        self._subscribed = False
        self._book.assign(self._name, ())

    def _has_assigned(self, partitions: Iterable[Any]) -> None:
        # Within a rebalance callback it is the group's assignment that the application confirms.
        if not self._subscribed:
            self._book.assign(self._name, [(each.topic, each.partition) for each in partitions])

    def _has_sought(self, positions: Mapping[Place, int | str]) -> None:
        self._book.seek(self._name, positions)

    def _has_sought_all(self, partitions: Iterable[Any], to: str) -> None:
        chosen = tuple(partitions) or tuple(self._client.assignment())
        self._has_sought({(each.topic, each.partition): to for each in chosen})


class SubscriptionCalls(WrappedConsumer):
    """The calls of subscription and assignment as Java's consumer has them, of clients whose calls return at once."""

    def subscribe(self, topics: Any = (), *arguments: Any, **options: Any) -> None:
        """Subscribe to topics or a pattern."""
        self._client.subscribe(topics, *arguments, **options)
        self._has_subscribed(topics)

    def unsubscribe(self) -> None:
        """End the subscription."""
        self._client.unsubscribe()
        self._has_unsubscribed()

    def assign(self, partitions: Any) -> None:
        """Assign partitions."""
        wanted = list(partitions)
        self._client.assign(wanted)
        self._has_assigned(wanted)


class KafkaPythonCalls(SubscriptionCalls):
    """The calls that consumers of kafka-python have, and of aiokafka, which descends from it."""

    def seek(self, partition: Any, offset: int) -> None:
        """Read on at an offset."""
        self._client.seek(partition, offset)
        self._has_sought({(partition.topic, partition.partition): offset})


def _text(error: object) -> str:
    return f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
