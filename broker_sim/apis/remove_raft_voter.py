"""RemoveRaftVoter (api key 81, 4.x): the controller answers, the broker passes the request on (KIP-853).

Version 0. Mirrors KafkaApis with KafkaRaftClient.handleRemoveVoterRequest.
"""

from __future__ import annotations

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register
from protocol_specs.api_key import ApiKey

register(ApiHandler(api_key=ApiKey.REMOVE_RAFT_VOTER, handle=forward))
