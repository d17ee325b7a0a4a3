from __future__ import annotations

import pytest

from broker_client.core.network.api_versions import decode_versions
from protocol_specs.errors import MessageDecodeError
from protocol_specs.framing import decode_response, encode_response
from protocol_specs.messages.api_versions import ApiVersion, ApiVersionsResponse

SIZE_BYTES = 4


def payload(version: int, correlation_id: int, highest: int) -> bytes:
    response = ApiVersionsResponse(api_keys=[ApiVersion(api_key=0, min_version=3, max_version=highest)])
    return encode_response(response, version, correlation_id=correlation_id)[SIZE_BYTES:]


@pytest.mark.parametrize("version", [0, 3, 4])
def test_versions_are_decoded_as_any_response(version: int) -> None:
    for correlation_id, highest in ((1, 9), (-5, 9), (2, 12)):
        data = payload(version, correlation_id, highest)
        assert decode_versions(version, data) == decode_response(ApiVersionsResponse, version, data)


def test_equal_responses_share_one_message() -> None:
    first, second = (decode_versions(4, payload(4, number, 9))[1] for number in (1, 2))
    assert first is second


@pytest.mark.parametrize("length", [0, 3, 4, 9])
def test_a_short_response_is_refused(length: int) -> None:
    with pytest.raises(MessageDecodeError):
        decode_versions(4, payload(4, 1, 9)[:length])
