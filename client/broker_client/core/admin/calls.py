"""A request for several items, repeated until each of them has its result. Mirrors KafkaAdminClient and AdminApiDriver.

A round finds the node of each item in the metadata, sends one request to each node, and sorts its response by item.
Items that a move or an outage left open are requested again after a growing back-off, within default.api.timeout.ms;
a broker's refusal is final.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from twisted.internet.defer import DeferredList

from broker_client.admin_errors import ItemsFailed
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import (
    BrokerError,
    ConnectionFailed,
    ProducerError,
    ProducerTimeout,
    UnsupportedVersion,
    error_of,
)
from protocol_specs.error_codes import ErrorCode
from sim_runtime.backoff import ExponentialBackoff
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_client.core.admin.routes import Route
    from broker_client.core.network.client_core import ClientCore
    from protocol_specs.message import Message

__all__ = ["AdminCalls", "ItemCall", "OneItemPerRequest", "Outcomes"]

RETRY_BACKOFF_MS: Final = 100
RETRY_BACKOFF_MAX_MS: Final = 1_000
NAMED_MAX: Final = 10

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class OneItemPerRequest(UnsupportedVersion):
    """`build` raises it for several items if requests of this version have one: each item is then sent alone."""


class Outcomes(Generic[K, V]):
    """The outcome of each item so far: a result, an error, or a reason to retry."""

    __slots__ = ("_items", "done", "errors", "open", "reasons")

    def __init__(self, items: Sequence[K]) -> None:
        self._items = tuple(items)
        self.open: dict[K, None] = dict.fromkeys(items)
        self.done: dict[K, V] = {}
        self.errors: dict[K, ProducerError] = {}
        self.reasons: dict[K, ProducerError] = {}

    def succeed(self, item: K, value: V) -> None:
        """Record the item's result; items that were not requested are ignored."""
        if item in self.open:
            del self.open[item]
            self.done[item] = value

    def fail(self, item: K, error: ProducerError) -> None:
        """The item's final error."""
        if item in self.open:
            del self.open[item]
            self.errors[item] = error

    def retry(self, item: K, reason: ProducerError) -> None:
        """Request the item again; `reason` is its error if the time is over."""
        if item in self.open:
            self.reasons[item] = reason

    def take(
        self,
        item: K,
        error_code: int,
        message: str | None,
        value: V,
        *,
        retried: Sequence[ErrorCode] = (),
        topic: str | None = None,
    ) -> None:
        """Record an item's result by its code: codes in `retried` are requested again."""
        code = ErrorCode.for_code(error_code)
        if code is ErrorCode.NONE:
            self.succeed(item, value)
        elif code in retried:
            self.retry(item, error_of(code, message, topic=topic))
        else:
            self.fail(item, error_of(code, message, topic=topic))

    def replace(self, later: Outcomes[K, V]) -> None:
        """Replace the outcomes of items by those that another call found."""
        for item in (*later.done, *later.errors):
            self.errors.pop(item, None)
        self.done |= later.done
        self.errors |= later.errors

    def result(self) -> dict[K, V]:
        """Return the results in the order of the items.

        Raises:
            ItemsFailed: some items have an error instead.
            ProducerError: it prevented every request.
        """
        done = {item: self.done[item] for item in self._items if item in self.done}
        if not self.errors:
            return done
        errors = {item: self.errors[item] for item in self._items if item in self.errors}
        first, *others = errors.values()
        if not done and not isinstance(first, BrokerError) and all(str(one) == str(first) for one in others):
            raise first
        raise ItemsFailed(errors, done)


@dataclass(slots=True, kw_only=True, frozen=True)
class ItemCall(Generic[K, V]):
    """One API: where its items go, the request for those of a node, and how the response is read.

    `build` gets the node's version, the items and the time that the broker may take in milliseconds; it raises
    UnsupportedVersion for what the version cannot express. `take` gets the response and the requested items.
    `highest_version` keeps back versions that this client does not use.
    """

    kind: type[Message]
    route: Route[Any]
    build: Callable[[int, list[K], int], Message]
    take: Callable[[Any, list[K], Outcomes[K, V]], None]
    highest_version: int | None = None


class AdminCalls:
    """Call everything on the reactor's thread."""

    __slots__ = ("_backoff", "core")

    def __init__(self, core: ClientCore) -> None:
        self.core = core
        self._backoff = ExponentialBackoff(RETRY_BACKOFF_MS, RETRY_BACKOFF_MAX_MS, 2, 0.2, core.random)

    def deadline_ms(self) -> int:
        """The time at which a call that begins now is given up, by the reactor's clock."""
        return now_ms_of(self.core.reactor) + self.core.options.default_api_timeout_ms

    async def settle(self, items: Sequence[K], call: ItemCall[K, V]) -> dict[K, V]:
        """Send requests until every item has its result; raises ItemsFailed when some have an error instead.

        What concerns all of them alike is raised as it is: ProducerTimeout, UnsupportedVersion, AuthenticationFailed.
        """
        return (await self.outcomes(items, call, self.deadline_ms())).result()

    async def outcomes(self, items: Sequence[K], call: ItemCall[K, V], deadline_ms: int) -> Outcomes[K, V]:
        """Send requests until every item has a result or an error."""
        outcomes: Outcomes[K, V] = Outcomes(items)
        attempts = 0
        while outcomes.open:
            left_ms = deadline_ms - now_ms_of(self.core.reactor)
            if left_ms <= 0:
                self._expire(call.kind, outcomes, self.core.options.default_api_timeout_ms)
                break
            await self.round(call, outcomes, left_ms, refresh=attempts > 0)
            if outcomes.open:
                await sleep(self.core.reactor, max(min(self._backoff.backoff_ms(attempts), left_ms), 1))
                attempts += 1
        return outcomes

    async def round(self, call: ItemCall[K, V], outcomes: Outcomes[K, V], left_ms: int, *, refresh: bool) -> None:
        """Send one request to each node of the open items and take the responses."""
        items = list(outcomes.open)
        try:
            cluster = await self.core.cluster_with(call.route.topics(items), refresh=refresh, timeout_ms=left_ms)
        except ProducerError as error:
            for item in items:
                if not isinstance(error, ProducerTimeout) or item not in outcomes.reasons:
                    outcomes.fail(item, error)
            return
        timeout_ms = min(left_ms, self.core.options.network.request_timeout_ms)
        await call.route.look_up(items, outcomes.reasons, self, timeout_ms)
        by_node: dict[int | None, list[K]] = {}
        for item in items:
            try:
                node = call.route.node(item, cluster, self.core.metadata)
            except ProducerError as error:
                outcomes.fail(item, error)
                continue
            if isinstance(node, ProducerError):
                outcomes.retry(item, node)
            else:
                by_node.setdefault(node, []).append(item)
        await self._send(call, list(by_node.items()), outcomes, timeout_ms)

    async def request(
        self,
        kind: type[Message],
        build: Callable[[int, int], Message],
        *,
        route: Route[str],
        error: Callable[[Any], tuple[int, str | None]] | None = None,
        retried: Sequence[ErrorCode] = (ErrorCode.NOT_CONTROLLER,),
    ) -> Any:
        """A request that is one whole: `build` is given version and time, `error` reads code and message."""

        def take(response: Any, _: list[str], outcomes: Outcomes[str, Any]) -> None:
            code, message = (0, None) if error is None else error(response)
            outcomes.take(kind.NAME, code, message, response, retried=retried)

        call: ItemCall[str, Any] = ItemCall(
            kind=kind, route=route, build=lambda version, _, timeout_ms: build(version, timeout_ms), take=take
        )
        try:
            responses = await self.settle([kind.NAME], call)
        except ItemsFailed as failed:
            raise failed.errors[kind.NAME] from None
        return responses[kind.NAME]

    # Details

    async def _send(
        self,
        call: ItemCall[K, V],
        by_node: Sequence[tuple[int | None, list[K]]],
        outcomes: Outcomes[K, V],
        timeout_ms: int,
    ) -> None:
        responses = await DeferredList(
            [
                self.core.request(
                    call.kind,
                    lambda version, of_node=of_node: call.build(version, of_node, timeout_ms),  # type: ignore[misc]
                    node_id=node_id,
                    timeout_ms=timeout_ms,
                    highest_version=call.highest_version,
                )
                for node_id, of_node in by_node
            ],
            consumeErrors=True,
        )
        alone: list[tuple[int | None, list[K]]] = []
        for (node_id, of_node), (succeeded, response) in zip(by_node, responses, strict=True):
            if succeeded:
                self._take(call, node_id, of_node, response, outcomes)
                continue
            response.trap(ProducerError)
            if response.check(OneItemPerRequest) is not None and len(of_node) > 1:
                alone += [(node_id, [item]) for item in of_node]
                continue
            again = response.check(ConnectionFailed, ProducerTimeout) is not None
            for item in of_node:
                (outcomes.retry if again else outcomes.fail)(item, response.value)
        if alone:
            await self._send(call, alone, outcomes, timeout_ms)

    @staticmethod
    def _take(
        call: ItemCall[K, V], node_id: int | None, items: list[K], response: Any, outcomes: Outcomes[K, V]
    ) -> None:
        for item in items:
            outcomes.reasons.pop(item, None)
        call.take(response, items, outcomes)
        for item in items:
            if item in outcomes.open and item not in outcomes.reasons:
                node = "the broker" if node_id is None else f"node {node_id}"
                outcomes.fail(item, ProducerError(f"{node} left {item} out of its response to {call.kind.NAME}"))

    @staticmethod
    def _expire(kind: type[Message], outcomes: Outcomes[K, V], limit_ms: int) -> None:
        names = [str(item) for item in outcomes.open if str(item) != kind.NAME]
        what = f"{kind.NAME} of {', '.join(names[:NAMED_MAX])}" if names else kind.NAME
        more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
        last = next((str(outcomes.reasons[item]) for item in outcomes.open if item in outcomes.reasons), "none came")
        error = ProducerTimeout(
            f"{what}{more} had no final response after {limit_ms} ms (the last one: {last})", "default.api.timeout.ms"
        )
        for item in list(outcomes.open):
            outcomes.fail(item, error)
