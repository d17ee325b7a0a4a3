"""The routes to coordinators, which FindCoordinator names. Mirrors CoordinatorStrategy; KIP-98, KIP-699."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from broker_client.consumer_errors import group_error
from broker_client.core.admin.calls import ItemCall, OneItemPerRequest, Outcomes
from broker_client.core.admin.routes import ANY
from broker_client.errors import UnsupportedVersion
from broker_client.transaction_errors import transactional_id_error
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.core.admin.calls import AdminCalls
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.network.metadata import Metadata
    from broker_client.errors import ProducerError

__all__ = ["COORDINATOR_RETRIED", "OF_GROUPS", "OF_TRANSACTIONS", "CoordinatorRoute", "CoordinatorType"]

K = TypeVar("K", bound=Hashable)

COORDINATOR_RETRIED: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
"""The codes of a coordinator that moves: the request is sent again."""
LOOK_UP_RETRIED: Final = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
COORDINATOR_KEPT: Final = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.CONCURRENT_TRANSACTIONS)
"""After these codes the coordinator is the same, and is not looked up again."""
_TYPES_FROM: Final = 1
_BATCHED_FROM: Final = 4


@dataclass(slots=True, frozen=True)
class CoordinatorType:
    """A type of coordinator: its number in FindCoordinator, and the error for a code and a key."""

    number: int
    error_of: Callable[[ErrorCode, str, str | None], ProducerError]

    def take_code(
        self,
        outcomes: Outcomes[K, Any],
        item: K,
        key: str,
        error_code: int,
        message: str | None,
        value: object,
        *,
        retried: Sequence[ErrorCode] = COORDINATOR_RETRIED,
    ) -> None:
        """Record the result of an item by the code of its key's coordinator; codes in `retried` are requested again."""
        code = ErrorCode.for_code(error_code)
        if code is ErrorCode.NONE:
            outcomes.succeed(item, value)
        elif code in retried:
            outcomes.retry(item, self.error_of(code, key, message))
        else:
            outcomes.fail(item, self.error_of(code, key, message))


OF_GROUPS: Final = CoordinatorType(0, group_error)
OF_TRANSACTIONS: Final = CoordinatorType(1, transactional_id_error)


class CoordinatorRoute(Generic[K]):
    """The coordinator of the group or transactional id of an item; one object per call.

    A coordinator is looked up again after every error but those in COORDINATOR_KEPT. `key_of` returns the group id or
    transactional id of an item.
    """

    def __init__(self, kind: CoordinatorType, key_of: Callable[[K], str]) -> None:
        self._key_of = key_of
        self._nodes: dict[str, int] = {}
        self._looked_up: Outcomes[str, int] = Outcomes([])
        self._find_coordinator = _find_coordinator(kind)

    def topics(self, items: Sequence[K]) -> list[str]:
        """None."""
        del items
        return []

    async def look_up(
        self, items: Sequence[K], reasons: Mapping[Any, ProducerError], calls: AdminCalls, timeout_ms: int
    ) -> None:
        """Send FindCoordinator for the keys whose coordinator is not known, in one request from Kafka 3.0 on."""
        for item in items:
            if item in reasons and reasons[item].error_code not in COORDINATOR_KEPT:
                self._nodes.pop(self._key_of(item), None)
        keys = dict.fromkeys(map(self._key_of, items))
        self._looked_up = Outcomes([key for key in keys if key not in self._nodes])
        if self._looked_up.open:
            await calls.round(self._find_coordinator, self._looked_up, timeout_ms, refresh=False)
            self._nodes |= self._looked_up.done

    def node(self, item: K, cluster: Cluster, metadata: Metadata) -> int | ProducerError | None:
        """Return the node id of the coordinator, or the retriable error of its look-up.

        Raises:
            ProducerError: the broker refused the look-up.
        """
        del cluster, metadata
        key = self._key_of(item)
        if key in self._looked_up.errors:
            raise self._looked_up.errors[key]
        if key in self._looked_up.reasons:
            return self._looked_up.reasons[key]
        return self._nodes[key]

    def node_id(self, item: K) -> int:
        """The node id of the coordinator that was requested last."""
        return self._nodes[self._key_of(item)]


def _find_coordinator(kind: CoordinatorType) -> ItemCall[str, int]:
    def build(version: int, keys: list[str], timeout_ms: int) -> FindCoordinatorRequest:
        del timeout_ms
        if version < _TYPES_FROM and kind is not OF_GROUPS:
            raise UnsupportedVersion(
                f"coordinators of transactions are found from FindCoordinator v{_TYPES_FROM} (Kafka 0.11) on, "
                f"the node speaks v{version}"
            )
        if version >= _BATCHED_FROM:
            return FindCoordinatorRequest(key_type=kind.number, coordinator_keys=keys)
        if len(keys) > 1:
            raise OneItemPerRequest(f"FindCoordinator v{version} has one key per request")
        return FindCoordinatorRequest(key=keys[0], key_type=kind.number)

    def take(response: Any, keys: list[str], outcomes: Outcomes[str, int]) -> None:
        found = [(one.key, one) for one in response.coordinators] or [(keys[0], response)]
        for key, one in found:
            kind.take_code(outcomes, key, key, one.error_code, one.error_message, one.node_id, retried=LOOK_UP_RETRIED)

    return ItemCall(kind=FindCoordinatorRequest, route=ANY, build=build, take=take)
