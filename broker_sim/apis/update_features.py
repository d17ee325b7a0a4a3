"""UpdateFeatures (api key 57): the controller answers, the broker passes the request on (KIP-584, KIP-778).

Versions: v1 has the upgrade type and validateOnly (v0's flag for downgrades is read by nobody). v2 (4.x) answers no
results by feature. Mirrors KafkaApis with ControllerApis.handleUpdateFeatures.
"""

from __future__ import annotations

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register
from protocol_specs.api_key import ApiKey

register(ApiHandler(api_key=ApiKey.UPDATE_FEATURES, handle=forward))
