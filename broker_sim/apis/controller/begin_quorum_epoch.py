"""BeginQuorumEpoch (api key 53) at a controller: a leader announces its epoch (KIP-595). Mirrors KafkaRaftClient."""

from __future__ import annotations

from functools import partial
from typing import Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.voter_requests import serve_voter_request
from protocol_specs.messages import begin_quorum_epoch

HANDLER: Final = ApiHandler(handle=partial(serve_voter_request, messages=begin_quorum_epoch))
