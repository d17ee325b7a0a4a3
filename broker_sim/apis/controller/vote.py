"""Vote (api key 52) at a controller: a candidate requests a vote (KIP-595, KIP-996). Mirrors KafkaRaftClient."""

from __future__ import annotations

from functools import partial
from typing import Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.voter_requests import serve_voter_request
from protocol_specs.messages import vote

HANDLER: Final = ApiHandler(handle=partial(serve_voter_request, messages=vote))
