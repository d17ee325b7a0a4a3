"""DescribeClientQuotas (api key 48): the quotas of this broker's metadata that match a filter (KIP-546).

Versions: v1 is flexible. The error text is empty, not null, without an error. Mirrors
KafkaApis.handleDescribeClientQuotasRequest with ClientQuotasImage.describe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.controller.client_quota_control import ERROR_TEXTS
from broker_sim.quotas.client_quotas_image import ClientQuotaFilter, FilterRefused
from protocol_specs.messages.describe_client_quotas import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.describe_client_quotas import DescribeClientQuotasRequest


def handle(request: DescribeClientQuotasRequest, context: RequestContext) -> DescribeClientQuotasResponse:
    """Return every entity that matches the filter, with its quotas."""
    try:
        wanted = ClientQuotaFilter(request.components, strict=request.strict)
    except FilterRefused as refused:
        return _refused(refused.error_code, refused.message)
    entries = [
        EntryData(
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.entries],
            values=[ValueData(key=key, value=value) for key, value in quotas.items()],
        )
        for entity, quotas in context.broker.metadata_cache.image.client_quotas.describe(wanted)
    ]
    return DescribeClientQuotasResponse(error_message="", entries=entries)


def error_response(
    request: DescribeClientQuotasRequest,  # noqa: ARG001 - the response has nothing of it
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> DescribeClientQuotasResponse:
    """The whole request fails: no entries. Mirrors DescribeClientQuotasRequest.getErrorResponse."""
    return _refused(error_code, ERROR_TEXTS.get(error_code))


def _refused(error_code: ErrorCode, message: str | None) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=error_code, error_message=message, entries=None)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
