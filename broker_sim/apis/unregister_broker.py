"""UnregisterBroker (api key 64): the controller forgets a broker, the broker passes the request on (KIP-631).

Version 0. Mirrors KafkaApis with ControllerApis.handleUnregisterBroker.
"""

from __future__ import annotations

from typing import Final

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register

UNREGISTER_BROKER: Final = 64

register(ApiHandler(api_key=UNREGISTER_BROKER, handle=forward))
