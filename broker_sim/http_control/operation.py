"""One call of the HTTP interface: its method and path, the types of its input and output, and its handler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec

from broker_sim.errors import BrokerSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from twisted.web.http import Request

    from broker_sim.cluster import Cluster
    from broker_sim.http_control.clusters import Clusters, HostedCluster

__all__ = ["CLUSTER", "Call", "Limit", "Operation", "UnknownName"]

CLUSTER: Final = "/clusters/{cluster}"
"""The path of one cluster, which most paths begin with."""
Limit: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""How many items a query wants at most."""


class UnknownName(BrokerSimError):
    """A path names a cluster, topic, rule, ... that does not exist: status 404."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request: the values of its path, its query and its body, decoded as the operation declares them."""

    clusters: Clusters
    request: Request
    path: Mapping[str, str]
    query: Any = None
    body: Any = None

    @property
    def hosted(self) -> HostedCluster:
        """The cluster of the path. Raises UnknownName."""
        return self.clusters.named(self.path["cluster"])

    @property
    def cluster(self) -> Cluster:
        """The running cluster of the path. Raises UnknownName."""
        return self.hosted.cluster

    def number(self, name: str) -> int:
        """Return a whole number of the path. Raises UnknownName for another text."""
        text = self.path[name]
        if not text.isdecimal():
            raise UnknownName(f"{name} {text!r} is not a whole number")
        return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call. `handle` returns a value of the type `result`, or a Deferred of one; None for status 204.

    `query` and `body` are dataclasses with the parameters and the body, None for neither. `body_schema` replaces the
    schema of a body that has a grammar of its own. `media_type` is another one than JSON: then `handle` returns text,
    or writes to the request itself and returns STREAMED.
    """

    method: str
    path: str
    name: str
    """The name of the call in clients that are generated: the operationId of OpenAPI."""
    summary: str
    handle: Callable[[Call], Any]
    query: type | None = None
    body: Any = None
    body_schema: Mapping[str, Any] | None = None
    body_is_optional: bool = False
    result: Any = None
    status: int = 200
    media_type: str = "application/json"

    @property
    def tag(self) -> str:
        """The group of the call in documents: the noun of its path."""
        nouns = [part for part in self.path.split("/") if part and not part.startswith("{")]
        return nouns[1] if len(nouns) > 1 and nouns[0] == "clusters" else (nouns or ["server"])[0]
