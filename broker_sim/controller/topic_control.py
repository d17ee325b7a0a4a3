"""CreateTopics and DeleteTopics at the active controller: decide and commit. Mirrors ReplicationControlManager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.controller.topics import create_topics, delete_topics

if TYPE_CHECKING:
    from random import Random

    from broker_sim.controller.controller import Controller
    from broker_sim.quotas.controller_mutation_quotas import MutationQuota
    from protocol_specs.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse


class TopicControl:
    """Creates and deletes topics; `random` places their partitions."""

    __slots__ = ("_controller", "_random")

    def __init__(self, controller: Controller, *, random: Random) -> None:
        self._controller = controller
        self._random = random

    def create(self, request: CreateTopicsRequest, quota: MutationQuota | None) -> CreateTopicsResponse:
        """Create the topics that can be created; the response is made after the commit."""
        creation = create_topics(
            request,
            image=self._controller.image,
            config=self._controller.node_config,
            random=self._random,
            quota=quota,
        )
        if creation.topics:
            self._controller.change("CreateTopics", lambda image: image.with_topics(creation.topics))
        return creation.response

    def delete(self, request: DeleteTopicsRequest, quota: MutationQuota | None) -> DeleteTopicsResponse:
        """Delete the topics that exist; the response is made after the commit."""
        deletion = delete_topics(request, image=self._controller.image, quota=quota)
        if deletion.names:
            self._controller.change("DeleteTopics", lambda image: image.without_topics(deletion.names))
        return deletion.response
