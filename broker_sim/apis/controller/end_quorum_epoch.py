"""EndQuorumEpoch (api key 54) at a controller: a leader resigns (KIP-595). Mirrors KafkaRaftClient."""

from __future__ import annotations

from typing import Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.voter_requests import serve_voter_request

HANDLER: Final = ApiHandler(handle=serve_voter_request)
