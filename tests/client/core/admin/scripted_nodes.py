"""Scripted nodes for the calls of the admin client: the responses are functions of the requests, which are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, fail, succeed

from broker_client.core.admin.admin_core import AdminCore
from broker_client.core.network.client_core import ClientOptions
from broker_client.core.network.cluster import Cluster, Node, TopicMetadata
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.errors import ProducerError, UnsupportedVersion
from broker_client.records import PartitionInfo
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from protocol_specs.messages.metadata import MetadataResponse, MetadataResponseBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sim_runtime.world import World

__all__ = ["NODES", "ScriptedNodes"]

NODES: Final = {1: Node(1, "h", 1), 2: Node(2, "h", 2)}


BROKERS: Final = [MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port) for node in NODES.values()]
TOPIC: Final = TopicMetadata(
    name="t",
    topic_id=None,
    partitions=tuple(
        PartitionInfo(
            topic="t",
            partition=number,
            leader=number + 1,
            leader_epoch=0,
            replicas=(1, 2),
            in_sync_replicas=(1, 2),
            offline_replicas=(),
        )
        for number in range(2)
    ),
)
"""Partition 0 has leader 1, partition 1 has leader 2."""


class _Metadata:
    cluster = Cluster(nodes=NODES, topics={"t": TOPIC})


class ScriptedNodes:
    """Two nodes. The coordinator of a group or transactional id is the number at the end of its name."""

    def __init__(self, world: World, versions: Mapping[str, int] | None = None) -> None:
        self.reactor = world.reactor
        self.random = world.streams.stream("admin")
        self.options = ClientOptions(
            bootstrap_servers=(), network=NetworkClientConfig(client_id="a"), default_api_timeout_ms=5_000
        )
        self.metadata = _Metadata()
        self.requests: list[tuple[str, int | None, Any]] = []
        self.scripts: dict[str, Callable[[Any], Any]] = {
            "FindCoordinator": self._found,
            "Metadata": lambda _: MetadataResponse(brokers=BROKERS, controller_id=1, topics=[]),
        }
        self.coordinator_codes: list[ErrorCode] = []
        self.refreshes = 0
        self._versions = versions or {}
        self._world = world

    def run(self, call: Callable[[AdminCore], Any]) -> Any:
        """Run one call of the admin client."""
        return self._world.run_until(call(AdminCore(self)), deadline_ms=20_000)  # type: ignore[arg-type]

    def names(self) -> list[tuple[str, int | None]]:
        """The requests so far, each with the node that it went to."""
        return [(name, node_id) for name, node_id, _ in self.requests]

    async def cluster_with(self, topics: object, *, refresh: bool, timeout_ms: int = 0) -> Cluster:
        del topics, timeout_ms
        self.refreshes += refresh
        return self.metadata.cluster

    def request(
        self, kind: Any, build: Callable[[int], Any], *, node_id: int | None, highest_version: int | None, **_: Any
    ) -> Deferred[Any]:
        newest = kind.VERSIONS.highest if highest_version is None else highest_version
        try:
            request = build(self._versions.get(kind.NAME, newest))
        except UnsupportedVersion as error:
            return fail(error)
        self.requests.append((kind.NAME, node_id, request))
        response = self.scripts[kind.NAME](request)
        return fail(response) if isinstance(response, ProducerError) else succeed(response)

    def _found(self, request: Any) -> FindCoordinatorResponse:
        code = self.coordinator_codes.pop(0) if self.coordinator_codes else ErrorCode.NONE
        found = [
            Coordinator(key=key, node_id=int(key[-1]), host="h", port=1, error_code=code, error_message=None)
            for key in request.coordinator_keys
        ]
        if found:
            return FindCoordinatorResponse(coordinators=found)
        return FindCoordinatorResponse(node_id=int(request.key[-1]), host="h", port=1, error_code=code)
