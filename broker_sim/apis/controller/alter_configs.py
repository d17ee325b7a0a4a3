"""AlterConfigs (api key 33) at a controller: replace all configurations of resources (KIP-133, KIP-919)."""

from __future__ import annotations

from typing import Final

from broker_sim.apis.alter_configs import error_response
from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.config_changes import alter

HANDLER: Final = ApiHandler(handle=alter, error_response=error_response)
