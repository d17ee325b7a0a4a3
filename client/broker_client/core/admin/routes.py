"""Which node an item of a request belongs to. Mirrors KafkaAdminClient.NodeProvider and PartitionLeaderStrategy."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from broker_client.core.network.client_core import ANY_NODE
from broker_client.errors import BrokerError, ProducerError, error_of
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_client.core.admin.calls import AdminCalls
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.network.metadata import Metadata
    from broker_client.records import TopicPartition

__all__ = ["ANY", "BROKER", "CONTROLLER", "LEADER", "BrokerRoute", "Route"]

_FINAL: Final = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_TOPIC_EXCEPTION)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class Route(Protocol[K_contra]):
    """Called for every item in each round, with metadata that is new from the second round on."""

    def topics(self, items: Sequence[K_contra]) -> list[str]:
        """The topics that must be in the metadata first."""
        ...

    async def look_up(
        self, items: Sequence[K_contra], reasons: Mapping[Any, ProducerError], calls: AdminCalls, timeout_ms: int
    ) -> None:
        """Request what the metadata lacks. `reasons` has the errors because of which items are requested again."""
        ...

    def node(self, item: K_contra, cluster: Cluster, metadata: Metadata) -> int | ProducerError | None:
        """Return a node id, ANY_NODE, or the reason why there is none yet: another round may find one.

        Raises:
            ProducerError: no later round can find a node.
        """
        ...


class _MetadataRoute:
    """A route for which metadata is enough."""

    def topics(self, items: Sequence[Hashable]) -> list[str]:
        """None."""
        del items
        return []

    async def look_up(
        self, items: Sequence[Hashable], reasons: Mapping[Any, ProducerError], calls: AdminCalls, timeout_ms: int
    ) -> None:
        """Request nothing."""


class _AnyRoute(_MetadataRoute):
    """The least loaded node."""

    def node(self, item: Hashable, cluster: Cluster, metadata: Metadata) -> int | ProducerError | None:
        del item, cluster, metadata
        return ANY_NODE


class _ControllerRoute(_AnyRoute):
    """The node that metadata calls the controller; with KRaft that is any broker, which passes it on."""

    def node(self, item: Hashable, cluster: Cluster, metadata: Metadata) -> int | ProducerError | None:
        del item, metadata
        return cluster.controller_id if cluster.controller_id in cluster.nodes else ANY_NODE


class BrokerRoute(_MetadataRoute, Generic[K_contra]):
    """The broker that `broker_of` names, the least loaded node where it names none."""

    def __init__(self, broker_of: Callable[[K_contra], int | None]) -> None:
        self._broker_of = broker_of

    def node(self, item: K_contra, cluster: Cluster, metadata: Metadata) -> int | ProducerError | None:
        """The broker, once the metadata has it."""
        del metadata
        broker = self._broker_of(item)
        if broker is not None and broker not in cluster.nodes:
            known = ", ".join(map(str, sorted(cluster.nodes)))
            return BrokerError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker} is not among the brokers {known}")
        return broker


class _LeaderRoute(_MetadataRoute):
    """The leader of a partition; a partition without a known leader is looked up again."""

    def topics(self, items: Sequence[TopicPartition]) -> list[str]:  # type: ignore[override]
        return list(dict.fromkeys(item.topic for item in items))

    def node(self, item: TopicPartition, cluster: Cluster, metadata: Metadata) -> int | ProducerError | None:
        leader = cluster.leader_for(item)
        if leader is not None:
            return leader.id
        code = metadata.topic_error(item.topic)
        if cluster.partition(item) is not None:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        elif code is ErrorCode.NONE:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        error = error_of(code, f"no leader of {item} is known", topic=item.topic)
        if code in _FINAL:
            raise error
        return error


def _itself(broker_id: int) -> int:
    return broker_id


ANY: Final = _AnyRoute()
BROKER: Final = BrokerRoute(_itself)
"""The route of a call whose items are broker ids."""
CONTROLLER: Final = _ControllerRoute()
LEADER: Final = _LeaderRoute()
