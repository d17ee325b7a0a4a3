"""ExpireDelegationToken (api key 40) at a controller (KIP-900). Mirrors
ControllerApis.handleExpireDelegationTokenRequest.
"""

from __future__ import annotations

from typing import Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.token_requests import decide_about_expiry

HANDLER: Final = ApiHandler(handle=decide_about_expiry)
