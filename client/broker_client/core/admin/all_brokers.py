"""The brokers of a call that goes to each of them. Mirrors AllBrokersStrategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.admin.routes import ANY
from broker_client.core.admin.topics import uncreating
from protocol_specs.messages.metadata import MetadataRequest

if TYPE_CHECKING:
    from broker_client.core.admin.calls import AdminCalls

__all__ = ["all_broker_ids"]


async def all_broker_ids(calls: AdminCalls) -> list[int]:
    """Return the ids of the brokers, sorted, as any broker reports them now.

    The metadata of the client is no substitute: it backs off while its brokers stay the same (KIP-580), so that a call
    repeated within a second would wait.
    """
    response = await calls.request(MetadataRequest, lambda version, _: uncreating(version, []), route=ANY)
    return sorted(broker.node_id for broker in response.brokers)
