"""DeleteTopics (api key 20) at a controller. Mirrors ControllerApis.deleteTopics.

The active controller deletes; where none of the topics exists, any controller can respond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import controller_view, decide_with_quota
from broker_sim.apis.delete_topics import error_response, refuse_if_disabled

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest


def handle(request: DeleteTopicsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    disabled = refuse_if_disabled(request, context)
    if disabled is not None:
        return disabled
    view = controller_view(context)
    if not view.node.is_active and not _names_a_topic(request, view.image):
        return view.node.controller.controls.topics.delete(request, None)
    return decide_with_quota(context, lambda controls, quota: controls.topics.delete(request, quota))


def _names_a_topic(request: DeleteTopicsRequest, image: MetadataImage) -> bool:
    names = [*request.topic_names, *(topic.name for topic in request.topics if topic.name is not None)]
    ids = [topic.topic_id for topic in request.topics if topic.name is None]
    return any(name in image.topics for name in names) or any(each in image.topics_by_id for each in ids)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
