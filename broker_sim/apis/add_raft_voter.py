"""AddRaftVoter (api key 80, 4.x): the controller answers, the broker passes the request on (KIP-853).

Versions: v1 ackWhenCommitted. Mirrors KafkaApis with KafkaRaftClient.handleAddVoterRequest.
"""

from __future__ import annotations

from typing import Final

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register

ADD_RAFT_VOTER: Final = 80

register(ApiHandler(api_key=ADD_RAFT_VOTER, handle=forward))
