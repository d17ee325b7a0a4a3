"""The route to the coordinators of groups, which FindCoordinator names. Mirrors CoordinatorStrategy; KIP-699."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from broker_client.consumer_errors import group_error
from broker_client.core.admin.calls import ItemCall, OneItemPerRequest, Outcomes
from broker_client.core.admin.routes import ANY
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.core.admin.calls import AdminCalls
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.network.metadata import Metadata
    from broker_client.errors import ProducerError

__all__ = ["COORDINATOR_RETRIED", "CoordinatorRoute", "by_group", "of_group", "take_code"]

K = TypeVar("K", bound=Hashable)

COORDINATOR_RETRIED: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
"""The codes of a coordinator that moves: the request is sent again."""
GROUP_KEY_TYPE: Final = 0
_BATCHED_FROM: Final = 4


class CoordinatorRoute(Generic[K]):
    """The coordinator of the group of an item; one object per call.

    A coordinator is looked up again after every error but COORDINATOR_LOAD_IN_PROGRESS. `group_of` returns the group
    id of an item.
    """

    def __init__(self, group_of: Callable[[K], str]) -> None:
        self._group_of = group_of
        self._nodes: dict[str, int] = {}
        self._looked_up: Outcomes[str, int] = Outcomes([])

    def topics(self, items: Sequence[K]) -> list[str]:
        """None."""
        del items
        return []

    async def look_up(
        self, items: Sequence[K], reasons: Mapping[Any, ProducerError], calls: AdminCalls, timeout_ms: int
    ) -> None:
        """Send FindCoordinator for the groups whose coordinator is not known, in one request from Kafka 3.0 on."""
        for item in items:
            if item in reasons and reasons[item].error_code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                self._nodes.pop(self._group_of(item), None)
        groups = dict.fromkeys(map(self._group_of, items))
        self._looked_up = Outcomes([group for group in groups if group not in self._nodes])
        if self._looked_up.open:
            await calls.round(_FIND_COORDINATOR, self._looked_up, timeout_ms, refresh=False)
            self._nodes |= self._looked_up.done

    def node(self, item: K, cluster: Cluster, metadata: Metadata) -> int | ProducerError | None:
        """Return the node id of the coordinator, or the retriable error of its look-up.

        Raises:
            ProducerError: the broker refused the look-up.
        """
        del cluster, metadata
        group = self._group_of(item)
        if group in self._looked_up.errors:
            raise self._looked_up.errors[group]
        if group in self._looked_up.reasons:
            return self._looked_up.reasons[group]
        return self._nodes[group]

    def node_id(self, item: K) -> int:
        """The node id of the coordinator that was requested last."""
        return self._nodes[self._group_of(item)]


def by_group() -> CoordinatorRoute[str]:
    """Return the route of a call whose items are group ids."""
    return CoordinatorRoute(lambda group_id: group_id)


def of_group(group_id: str) -> CoordinatorRoute[Any]:
    """Return the route of a call whose items belong to one group."""
    return CoordinatorRoute(lambda _: group_id)


def take_code(
    outcomes: Outcomes[K, Any],
    item: K,
    group_id: str,
    error_code: int,
    message: str | None,
    value: object,
    *,
    retried: Sequence[ErrorCode] = COORDINATOR_RETRIED,
) -> None:
    """Record the result of an item by the code of its group's coordinator; codes in `retried` are requested again."""
    code = ErrorCode.for_code(error_code)
    if code is ErrorCode.NONE:
        outcomes.succeed(item, value)
    elif code in retried:
        outcomes.retry(item, group_error(code, group_id, message))
    else:
        outcomes.fail(item, group_error(code, group_id, message))


def _find_coordinator_request(version: int, groups: list[str], timeout_ms: int) -> FindCoordinatorRequest:
    del timeout_ms
    if version >= _BATCHED_FROM:
        return FindCoordinatorRequest(key_type=GROUP_KEY_TYPE, coordinator_keys=groups)
    if len(groups) > 1:
        raise OneItemPerRequest(f"FindCoordinator v{version} has one group per request")
    return FindCoordinatorRequest(key=groups[0], key_type=GROUP_KEY_TYPE)


def _take_coordinators(response: Any, groups: list[str], outcomes: Outcomes[str, int]) -> None:
    found = [(one.key, one) for one in response.coordinators] or [(groups[0], response)]
    for group, one in found:
        take_code(
            outcomes,
            group,
            group,
            one.error_code,
            one.error_message,
            one.node_id,
            retried=(ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        )


_FIND_COORDINATOR: Final[ItemCall[str, int]] = ItemCall(
    kind=FindCoordinatorRequest, route=ANY, build=_find_coordinator_request, take=_take_coordinators
)
