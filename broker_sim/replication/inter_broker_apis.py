"""What followers ask their leaders over links: Fetch, ListOffsets, OffsetForLeaderEpoch.

A Fetch goes to the follower's session (see replica_fetch_session), the others to the handlers that clients ask too:
there a replica id says that a follower asks, as in KafkaApis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.apis.kafka_apis import handler_of
from broker_sim.apis.request_context import ConnectionInfo, RequestContext
from broker_sim.errors import BrokerSimError
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.list_offsets import ListOffsetsRequest
from protocol_specs.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

if TYPE_CHECKING:
    from broker_sim.broker import Broker


def answer_inter_broker(broker: Broker, request: Any, source: int) -> Any:
    """The answer to a follower, or a Deferred of it; another message is a mistake of ours."""
    if isinstance(request, FetchRequest):
        return broker.replica_manager.roles.replica_fetch(request, source)
    versions = broker.replica_manager.follower_versions
    if isinstance(request, ListOffsetsRequest):
        version: int | None = versions.list_offsets
    elif isinstance(request, OffsetForLeaderEpochRequest):
        version = versions.offset_for_leader_epoch
    else:
        version = None
    if version is None:
        msg = f"broker {broker.id} has no answer for {type(request).__name__} from node {source}"
        raise BrokerSimError(msg)
    connection = ConnectionInfo(connection_id=f"link:{source}-{broker.id}", client_host="")
    context = RequestContext(
        broker, connection, request.API_KEY, version, client_id=f"broker-{source}", request=request
    )
    return handler_of(request.API_KEY).handle(request, context)
