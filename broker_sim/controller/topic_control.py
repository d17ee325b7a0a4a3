"""The controller's side of CreateTopics and DeleteTopics: decide, commit, answer. Mirrors ControllerApis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.controller.topics import create_topics, delete_topics
from protocol_specs.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

if TYPE_CHECKING:
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller import Controller


class TopicControl:
    """Answers the topic requests that brokers forward; `config` is the controller's, `random` its own stream."""

    __slots__ = ("_config", "_controller", "_random")

    def __init__(self, controller: Controller, *, config: BrokerConfig, random: Random) -> None:
        self._controller = controller
        self._config = config
        self._random = random
        controller.forwarded[CreateTopicsRequest] = self.create
        controller.forwarded[DeleteTopicsRequest] = self.delete

    def create(self, request: CreateTopicsRequest, source: int) -> CreateTopicsResponse:  # noqa: ARG002 - any broker may ask
        """Create what can be created; the answer is made after the commit."""
        creation = create_topics(
            request,
            image=self._controller.image,
            config=self._controller.node_config,
            random=self._random,
            quota=self._controller.mutation_quotas.current,
        )
        if creation.topics:
            self._controller.change("CreateTopics", lambda image: image.with_topics(creation.topics))
        return creation.response

    def delete(self, request: DeleteTopicsRequest, source: int) -> DeleteTopicsResponse:  # noqa: ARG002 - any broker may ask
        """Delete what is there; the answer is made after the commit."""
        deletion = delete_topics(request, image=self._controller.image, quota=self._controller.mutation_quotas.current)
        if deletion.names:
            self._controller.change("DeleteTopics", lambda image: image.without_topics(deletion.names))
        return deletion.response
