"""UnregisterBroker (api key 64): the controller forgets a broker, the broker passes the request on (KIP-631).

Version 0. Mirrors KafkaApis with ControllerApis.handleUnregisterBroker.
"""

from __future__ import annotations

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register
from protocol_specs.api_key import ApiKey

register(ApiHandler(api_key=ApiKey.UNREGISTER_BROKER, handle=forward))
