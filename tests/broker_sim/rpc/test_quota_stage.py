from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.rpc.quota_stage import QuotaStage
from protocol_specs.api_key import ApiKey
from protocol_specs.framing import encode_response
from protocol_specs.messages.end_txn import EndTxnResponse
from protocol_specs.messages.produce import ProduceResponse

if TYPE_CHECKING:
    from protocol_specs.message import Message


class Exceeded:
    """Quotas that make each client wait."""

    active = True

    def throttle_ms(self, *_: object) -> int:
        return 250

    def note(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("api_key", "response", "version"),
    [(ApiKey.PRODUCE, ProduceResponse(), 9), (ApiKey.END_TXN, EndTxnResponse(), 1)],
)
def test_a_prepared_response_gets_its_throttle_time(api_key: ApiKey, response: Message, version: int) -> None:
    transport = SimpleNamespace(throttle=lambda *_: None)
    context: Any = SimpleNamespace(api_key=api_key, api_version=version, replica_id=-1, transport=transport)
    throttle = QuotaStage(Exceeded()).on_response  # type: ignore[arg-type]
    assert throttle is not None
    throttled: Any = throttle(context, encode_response(response, version, correlation_id=1))
    assert (type(throttled), throttled.throttle_time_ms) == (type(response), 250)
