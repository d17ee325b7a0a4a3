"""BrokerHeartbeat (api key 63): a registered broker reports that it is alive, and the state that it wants.

Mirrors BrokerHeartbeatRequest and BrokerHeartbeatResponse; KIP-631, KIP-841, KIP-858, KIP-1066.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, Uuid
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.BROKER_HEARTBEAT, versions="0-2", flexible="0+")
class BrokerHeartbeatRequest(Message):
    """The request: a registered broker reports that it is alive, and the state that it wants."""

    broker_id: int = field(Int32, entity="brokerId")
    broker_epoch: int = field(Int64, default=-1)
    current_metadata_offset: int = field(Int64)
    want_fence: bool = field(Bool)
    want_shut_down: bool = field(Bool)
    offline_log_dirs: list[bytes] = field(Array(Uuid), versions="1+", tag=0, tagged="1+")
    cordoned_log_dirs: list[bytes] | None = field(
        Array(Uuid), versions="2+", nullable="2+", tag=1, tagged="2+", default=None
    )


@message(api_key=ApiKey.BROKER_HEARTBEAT, versions="0-2", flexible="0+")
class BrokerHeartbeatResponse(Message):
    """The response: the state of the broker at the controller: caught up, fenced, allowed to stop."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    is_caught_up: bool = field(Bool)
    is_fenced: bool = field(Bool, default=True)
    should_shut_down: bool = field(Bool)
