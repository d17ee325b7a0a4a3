"""ApiVersions (api key 18): what this broker serves. Mirrors handleApiVersionsRequest; KIP-35, KIP-511, KIP-584.

Versions: 4.3 serves 0 to 4, 3.7 serves 0 to 3. The list is the registry of handlers, cut to the release's table.
- A version that is not served gets a response in the layout of v0: error 35 and, from 2.4 on, the entry of
  ApiVersions (KIP-511). Before 0.10 there is no ApiVersions.
- v3: client software name and version, INVALID_REQUEST when they are not legal; features as tags. The header of the
  response stays the old one. v4: features whose lowest version is 0 are listed too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.repeated_response import FRAMES_MAX, frame_tail, frame_with_tail
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order, hash_order_of_copy
from protocol_specs.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.node_apis import NodeApis
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.message import Message
    from protocol_specs.messages.api_versions import ApiVersionsRequest

__all__ = ["TailKey", "error_response", "handle"]

CLIENT_SOFTWARE_LOWEST: Final = 3

METADATA_VERSION: Final = "metadata.version"
TailKey: TypeAlias = tuple[int, int, tuple[tuple[str, int], ...]]
"""The numbers that the responses of equal nodes depend on: version, epoch of the metadata, levels of the features."""
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(request: ApiVersionsRequest | None, context: RequestContext) -> HandlerResult:
    """Return the table; `request` is None for a version that is not served."""
    advertised = context.broker.apis.advertised
    if request is None:
        if not context.behaviour.api_versions_names_itself:
            return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        own = advertised[ApiKey.API_VERSIONS]
        return ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION,
            api_keys=[ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=own.lowest, max_version=own.highest)],
        )
    version = context.api_version
    if version >= CLIENT_SOFTWARE_LOWEST:
        name, software_version = request.client_software_name, request.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(software_version)):
            return error_response(request, context, ErrorCode.INVALID_REQUEST)
        context.connection.client_software_name = name
        context.connection.client_software_version = software_version
    apis, image = context.broker.apis, context.broker.metadata_cache.image
    tails = apis.api_versions_tails
    if tails is None or not context.transport.takes_frames:
        return _success(apis, image, version)
    key = version, image.version, tuple(image.finalized_features.items())
    tail = tails.get(key)
    if tail is None:
        if len(tails) >= FRAMES_MAX:
            tails.clear()
        tail = tails[key] = frame_tail(_success(apis, image, version), version)
    return frame_with_tail(context.correlation_id, tail)


def _success(apis: NodeApis, image: MetadataImage, version: int) -> ApiVersionsResponse:
    response = ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=served.lowest, max_version=served.highest)
            for key, served in apis.advertised.items()
        ]
    )
    features = apis.features.get(version)
    if features is not None:
        levels = image.finalized_features
        others = [name for name in levels if name != METADATA_VERSION]
        finalized = hash_order_of_copy(others, METADATA_VERSION) if METADATA_VERSION in levels else others
        response.supported_features = [
            SupportedFeatureKey(
                name=name, min_version=features.supported[name].lowest, max_version=features.supported[name].highest
            )
            for name in hash_order(features.supported)
        ]
        response.finalized_features = [
            FinalizedFeatureKey(name=name, min_version_level=levels[name], max_version_level=levels[name])
            for name in finalized
        ]
        if features.finalized_epoch_sent:
            response.finalized_features_epoch = image.version
    return response


def error_response(request: ApiVersionsRequest | None, context: RequestContext, error_code: ErrorCode) -> Message:  # noqa: ARG001
    """The error alone, with an empty list."""
    return ApiVersionsResponse(error_code=error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
