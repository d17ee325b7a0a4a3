"""The calls of the HTTP interface, one module per kind of thing; OPERATIONS has all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.http_control.operations import (
    brokers,
    clusters,
    groups,
    journal,
    links,
    rules,
    server,
    topics,
    toxiproxy,
    users,
    waits,
)

if TYPE_CHECKING:
    from broker_sim.http_control.operation import Operation

__all__ = ["OPERATIONS"]

OPERATIONS: Final[tuple[Operation, ...]] = (
    *server.OPERATIONS,
    *clusters.OPERATIONS,
    *brokers.OPERATIONS,
    *topics.OPERATIONS,
    *groups.OPERATIONS,
    *users.OPERATIONS,
    *links.OPERATIONS,
    *rules.OPERATIONS,
    *waits.OPERATIONS,
    *journal.OPERATIONS,
    *toxiproxy.OPERATIONS,
)
