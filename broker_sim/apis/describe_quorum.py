"""DescribeQuorum (api key 55): the controller answers, the broker passes the request on (KIP-595).

Versions: v1 times of voters and observers (KIP-836). v2 (4.x) directory ids, error messages, the nodes' listeners
(KIP-853). Mirrors KafkaApis with KafkaRaftClient.handleDescribeQuorumRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register
from protocol_specs.api_key import ApiKey
from protocol_specs.messages.describe_quorum import DescribeQuorumResponse
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.request_context import NoAnswer, RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.describe_quorum import DescribeQuorumRequest

NODES_SINCE: Final = 2


def handle_describe_quorum(request: DescribeQuorumRequest, context: RequestContext) -> Deferred[Message | NoAnswer]:
    """Forward; what the version has no place for is left out."""

    def cut(response: Message | NoAnswer) -> Message | NoAnswer:
        if isinstance(response, DescribeQuorumResponse) and context.api_version < NODES_SINCE:
            response.nodes = []
            for partition in [each for topic in response.topics for each in topic.partitions]:
                for replica in (*partition.current_voters, *partition.observers):
                    replica.replica_directory_id = ZERO_UUID
        return response

    return forward(request, context).addCallback(cut)


register(ApiHandler(api_key=ApiKey.DESCRIBE_QUORUM, handle=handle_describe_quorum))
