"""The steps of scripts for our share consumer; `java/ScriptedShareConsumer.java` has them for Java's."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from broker_client import AcknowledgeType, ShareConsumer
from broker_client.consumer_errors import RecordDeserializationError
from tests.interop.consumer_scripts import STEP_SECONDS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client import ConsumerRecord

PROGRAM: Final = Path(__file__).parent / "java" / "ScriptedShareConsumer.java"
_SHORT_S: Final = 0.1
_LONG_S: Final = 3.0
"""Records end a poll: one that ends without them makes Java send another fetch, before or after they arrive."""


class ScriptedShareConsumer:
    """Keeps the records of the last poll."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.consumer = ShareConsumer(**options)
        self.delivered: list[ConsumerRecord] = []
        self.failure: RecordDeserializationError | None = None

    def poll_until(self, done: Callable[[list[ConsumerRecord]], bool], poll_s: float = _LONG_S) -> None:
        deadline_s = time.monotonic() + STEP_SECONDS_MAX
        while True:
            self.delivered = self.consumer.poll(poll_s)
            if done(self.delivered):
                return
            assert time.monotonic() < deadline_s

    def records(self, count: int) -> None:
        found: list[ConsumerRecord] = []

        def enough(delivered: list[ConsumerRecord]) -> bool:
            found.extend(delivered)
            return len(found) >= count

        self.poll_until(enough)

    def acknowledge(self, kind: str, first: str, last: str) -> None:
        for record in self.delivered:
            if int(first) <= record.offset <= int(last):
                self.consumer.acknowledge(record, AcknowledgeType[kind.upper()])

    def fails(self, offset: str) -> None:
        """Poll until a record cannot be deserialized, which must be this one."""
        failures: list[RecordDeserializationError] = []
        deadline_s = time.monotonic() + STEP_SECONDS_MAX
        while not failures:
            assert time.monotonic() < deadline_s
            try:
                self.delivered = self.consumer.poll(_LONG_S)
            except RecordDeserializationError as error:
                failures.append(error)
        [self.failure] = failures
        assert self.failure.offset == int(offset)

    def acknowledge_failed(self, kind: str) -> None:
        assert self.failure is not None
        topic, partition = self.failure.partition
        self.consumer.acknowledge_offset(topic, partition, self.failure.offset, AcknowledgeType[kind.upper()])

    def poll_for(self, duration_ms: str) -> None:
        end_s = time.monotonic() + int(duration_ms) / 1000
        self.poll_until(lambda _: time.monotonic() >= end_s, _SHORT_S)

    def close(self) -> None:
        self.consumer.close()


STEPS: Final[dict[str, Callable[..., object]]] = {
    "subscribe": lambda one, topics: one.consumer.subscribe(topics.split(",")),
    "unsubscribe": lambda one: one.consumer.unsubscribe(),
    "delivered": lambda one, count: one.poll_until(lambda delivered: len(delivered) == int(count)),
    "records": lambda one, count: one.records(int(count)),
    "poll": ScriptedShareConsumer.poll_for,
    "acknowledge": ScriptedShareConsumer.acknowledge,
    "fails": ScriptedShareConsumer.fails,
    "acknowledge-failed": ScriptedShareConsumer.acknowledge_failed,
    "commit": lambda one: one.consumer.commit_sync(),
    "commit-async": lambda one: one.consumer.commit_async(),
    "close": ScriptedShareConsumer.close,
}
