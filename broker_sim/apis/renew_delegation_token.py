"""RenewDelegationToken (api key 39): extend the life of a token (KIP-48). Mirrors KafkaApis.handleRenewTokenRequest."""

from __future__ import annotations

from typing import Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.token_requests import forward_expiry

HANDLER: Final = ApiHandler(handle=forward_expiry)
