"""A broker with an authorizer, and the rights of the client that the handlers are called for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.config.authorizer_settings import STANDARD_AUTHORIZER
from broker_sim.security.acl import Acl, AclOperation, AclPermissionType, PatternType, ResourceType
from broker_sim.topic_spec import TopicSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

CONFIG = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}


class Guarded:
    """A cluster with topics `t` and `u`; `deny` takes a right from every client."""

    def __init__(self, bench: ApiBench) -> None:
        self.bench = bench

    def deny(self, operation: AclOperation, resource_type: ResourceType, name: str) -> None:
        """Deny an operation, and let every node apply it."""
        entry = Acl(resource_type, name, PatternType.LITERAL, "User:*", "*", operation, AclPermissionType.DENY)
        self.bench.cluster.controller.controls.acls.create([entry])
        self.bench.settle()

    def exchange(self, request: Any, version: int) -> Any:
        """Return the response of broker 1."""
        return self.bench.exchange(request, version)


@pytest.fixture
def guarded(bench: Callable[..., ApiBench]) -> Guarded:
    topics = [TopicSpec(name=name, partitions=1, replication_factor=1) for name in ("t", "u")]
    made = Guarded(bench(topics=topics, config=CONFIG))
    made.bench.settle()
    return made
