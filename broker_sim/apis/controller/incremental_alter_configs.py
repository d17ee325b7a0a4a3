"""IncrementalAlterConfigs (api key 44) at a controller: change single configurations (KIP-339, KIP-919)."""

from __future__ import annotations

from typing import Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.config_changes import alter
from broker_sim.apis.incremental_alter_configs import error_response

HANDLER: Final = ApiHandler(handle=alter, error_response=error_response)
