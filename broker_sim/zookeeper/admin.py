"""Requests of clients about topics, partitions, elections and configurations, at a broker in ZooKeeper mode.

Mirrors ZkAdminManager with the purgatories DelayedCreatePartitions, DelayedDeleteTopics and DelayedElectLeader: the
broker writes the request to ZooKeeper, and responds when its own metadata shows the result, or when the time is up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, succeed

from broker_sim.apis.token_requests import NO_TIME, serve_token_request
from broker_sim.config.definitions import describe_order
from broker_sim.controller.elect_leaders import refused_elections
from broker_sim.controller.manual_assignment import Refused
from broker_sim.controller.topics import created_topic, refused_deletion, refused_topic
from broker_sim.links.node_links import LinkFailure
from broker_sim.metadata.topic_names import CLUSTER_METADATA_TOPIC_NAME
from broker_sim.quotas.controller_mutation_quotas import ControllerMutationQuotas
from broker_sim.topic_partition import TopicPartition
from broker_sim.zookeeper.leader_and_isr import NO_LEADER
from broker_sim.zookeeper.messages import ZooKeeperError
from broker_sim.zookeeper.scram_credentials import alter_scram_credentials, describe_scram_credentials
from broker_sim.zookeeper.topic_assignment import added_partitions, new_topic
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest
from protocol_specs.messages.alter_configs import AlterConfigsRequest
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from protocol_specs.messages.create_acls import CreateAclsRequest
from protocol_specs.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from protocol_specs.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from protocol_specs.messages.delete_acls import DeleteAclsRequest
from protocol_specs.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from protocol_specs.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from protocol_specs.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from protocol_specs.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from protocol_specs.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.metadata.metadata_image import MetadataImage, TopicImage
    from broker_sim.quotas.controller_mutation_quotas import MutationQuota
    from broker_sim.zookeeper.broker import ZooKeeperBroker
    from broker_sim.zookeeper.zookeeper_client import ZooKeeperClient

NOT_CONTROLLER_ID: Final = -1
TOPIC_PURGATORY: Final = "topic"
NOT_CONTROLLER: Final = "This is not the correct controller for this cluster."
ELECTION_TYPES: Final = (0, 1)
BY_CONTROLLER_SINCE: Final = 7
"""CreateTopics v7 is of 2.8, where the controller creates topics automatically, not the broker."""
_ACL_CHANGES: Final = (CreateAclsRequest, DeleteAclsRequest)
_ANY_BROKER: Final = (
    AlterConfigsRequest,
    IncrementalAlterConfigsRequest,
    AlterClientQuotasRequest,
    DescribeUserScramCredentialsRequest,
    *_ACL_CHANGES,
)


class _Waiting:
    """A response that waits for the broker's metadata. `undone` names the topics or partitions that are missing."""

    __slots__ = ("deferred", "purgatory", "timer", "undone", "watched")

    def __init__(self, undone: Callable[[], list[Any]], purgatory: str, watched: int) -> None:
        self.undone = undone
        self.purgatory = purgatory
        self.watched = watched
        self.deferred: Deferred[list[Any]] = Deferred()
        self.timer: IDelayedCall | None = None


class ZkAdminManager:
    """Serves one broker; it delegates everything except configurations and quotas to the controller."""

    def __init__(self, broker: ZooKeeperBroker, client: ZooKeeperClient) -> None:
        self._broker = broker
        self._client = client
        self._waiting: list[_Waiting] = []
        self._random = broker.random("topic assignments")
        self._mutation_quotas = ControllerMutationQuotas(
            broker.config, now_us=broker.journal.now_us, image=lambda: self._image.client_quotas
        )
        versions = broker.release.api_versions
        created = versions.get(CreateTopicsRequest.API_KEY)
        strict_since = ApiKey.CREATE_TOPICS.facts.strict_mutation_quota_since
        assert strict_since is not None
        self._has_mutation_quotas = created is not None and created.highest >= strict_since

    def any_broker_serves(self, request: Any) -> bool:
        """Return True if any broker serves the request."""
        return isinstance(request, _ANY_BROKER)

    def response(self, request: Any, context: RequestContext | None = None) -> Deferred[Any]:
        """Serve a request of the controller; fails with LinkFailure when this broker's session has ended.

        The `context` of a client limits its mutations (KIP-599); requests of brokers have no context and no limit.
        """
        handlers: Mapping[type[Any], Callable[[Any], Awaitable[Any]]] = {
            ElectLeadersRequest: self._elect_leaders,
            AlterPartitionReassignmentsRequest: self._alter_reassignments,
            ListPartitionReassignmentsRequest: self._list_reassignments,
            UpdateFeaturesRequest: self._update_features,
            AlterUserScramCredentialsRequest: self._alter_credentials,
        }
        if not isinstance(request, CreateTopicsRequest | DeleteTopicsRequest | CreatePartitionsRequest):
            return self._run(handlers[type(request)](request))
        client_id = None if context is None else context.client_id
        quota = None
        if context is not None and self._has_mutation_quotas:
            quota = self._mutation_quotas.quota_of(request.API_KEY, context.api_version, client_id, user=context.user)
        return self._run(self._mutate(request, client_id, quota))

    async def _mutate(self, request: Any, client_id: str | None, quota: MutationQuota | None) -> Any:
        """Make or delete partitions, as far as the client's quota goes."""
        response: Any
        if isinstance(request, CreateTopicsRequest):
            response = await self._create_topics(request, client_id, quota)
        elif isinstance(request, DeleteTopicsRequest):
            response = await self._delete_topics(request, quota)
        else:
            response = await self._create_partitions(request, quota)
        if quota is not None:
            response.throttle_time_ms = quota.throttle_ms
        return response

    def not_controller(self, request: Any) -> Any:
        """Return the response of a broker that is no controller, if it differs from that of other errors; else None."""
        error = ErrorCode.NOT_CONTROLLER
        if isinstance(request, CreateTopicsRequest) and self._broker.behaviour.serves_topics_once:
            names = dict.fromkeys(topic.name for topic in request.topics)
            return CreateTopicsResponse(topics=[refused_topic(name, error, None) for name in names])
        if isinstance(request, CreateTopicsRequest):
            # Its message is empty, where a refusal of the request as a whole has none.
            return CreateTopicsResponse(
                topics=[CreatableTopicResult(name=topic.name, error_code=error) for topic in request.topics]
            )
        if isinstance(request, ElectLeadersRequest):
            if request.election_type not in ELECTION_TYPES:
                return refused_elections(request, ErrorCode.UNKNOWN_SERVER_ERROR)
            return _elections(dict.fromkeys(self._elected_partitions(request), (error, None)))
        if isinstance(request, AlterPartitionReassignmentsRequest):
            return AlterPartitionReassignmentsResponse(error_code=error, error_message=NOT_CONTROLLER)
        if isinstance(request, ListPartitionReassignmentsRequest):
            return ListPartitionReassignmentsResponse(error_code=error, error_message=NOT_CONTROLLER)
        if isinstance(request, UpdateFeaturesRequest):
            return UpdateFeaturesResponse(error_code=error, error_message=NOT_CONTROLLER)
        return None

    def change_in_zookeeper(self, request: Any) -> Deferred[Any]:
        """Validate and write at once, or read; watches notify other brokers."""
        if isinstance(request, _ACL_CHANGES):
            assert self._broker.acl_control is not None, "without an authorizer nothing is forwarded"
            return self._run(self._broker.acl_control.respond(request))

        def change(zookeeper: Any, session: Any) -> Any:  # noqa: ARG001 - as every operation
            if isinstance(request, AlterClientQuotasRequest):
                return zookeeper.client_quotas.alter(request)
            if isinstance(request, DescribeUserScramCredentialsRequest):
                return describe_scram_credentials(request, zookeeper.image.scram)
            if isinstance(request, AlterConfigsRequest):
                return zookeeper.configs.alter(request)
            return zookeeper.configs.alter_incrementally(request)

        return self._run(self._client.request("ZooKeeperSetConfigs", change))

    def serve_token_request(self, request: Any, context: RequestContext) -> Deferred[Any]:
        """Create, renew or expire a delegation token; watches notify other brokers."""

        def serve(zookeeper: Any, session: Any) -> Any:  # noqa: ARG001 - as every operation
            return serve_token_request(zookeeper.tokens, request, context, no_time_ms=NO_TIME)

        return self._run(self._client.request("ZooKeeperSetConfigs", serve))

    def create_by_itself(self, request: CreateTopicsRequest) -> Deferred[CreateTopicsResponse]:
        """Create topics automatically: any broker may; from 2.8 on it requests that from the controller."""
        broker = self._broker
        served = broker.release.api_versions.get(CreateTopicsRequest.API_KEY)
        by_controller = served is not None and served.highest >= BY_CONTROLLER_SINCE
        controller_id = broker.active_controller_id
        if by_controller and not broker.controller.is_active and controller_id not in (None, NOT_CONTROLLER_ID):
            assert controller_id is not None
            return broker.links.send(broker.id, controller_id, request, version=BY_CONTROLLER_SINCE)
        return self.response(request)

    def _run(self, work: Awaitable[Any]) -> Deferred[Any]:
        async def run() -> Any:
            try:
                return await work
            except ZooKeeperError as error:
                msg = f"broker {self._broker.id} has lost ZooKeeper"
                raise LinkFailure(msg) from error

        return Deferred.fromCoroutine(run())

    # Waiting for the metadata.

    def metadata_changed(self) -> None:
        """The broker's metadata has changed: check the waiting responses again."""
        for waiting in list(self._waiting):
            if not waiting.undone():
                self._end(waiting)

    @property
    def delayed(self) -> list[tuple[str, int]]:
        """The waiting responses: the purgatory of each, and its number of partitions or topics."""
        return [(waiting.purgatory, waiting.watched) for waiting in self._waiting]

    def _until(
        self, undone: Callable[[], list[Any]], timeout_ms: int, purgatory: str = TOPIC_PURGATORY
    ) -> Deferred[list[Any]]:
        """Fires with an empty result once everything is done, or with the missing part when the time is up."""
        left = undone()
        if timeout_ms <= 0 or not left:
            return succeed(left)
        waiting = _Waiting(undone, purgatory, len(left))
        self._waiting.append(waiting)
        waiting.timer = self._broker.reactor.callLater(timeout_ms / 1000, self._end, waiting)
        return waiting.deferred

    def _end(self, waiting: _Waiting) -> None:
        self._waiting.remove(waiting)
        if waiting.timer is not None and waiting.timer.active():
            waiting.timer.cancel()
        waiting.deferred.callback(waiting.undone())

    def stop(self) -> None:
        """Drop all waiting responses: the broker's process has ended."""
        for waiting in self._waiting:
            if waiting.timer is not None and waiting.timer.active():
                waiting.timer.cancel()
        self._waiting.clear()

    @property
    def _image(self) -> MetadataImage:
        return self._broker.metadata_cache.image

    def _without_leaders(self, counts: Mapping[str, int]) -> list[str]:
        """Return the topics that lack a leader for some of their partitions in this broker's metadata."""
        return [
            name
            for name, count in counts.items()
            if (topic := self._image.topics.get(name)) is None
            or len(topic.partitions) < count
            or any(each.leader == NO_LEADER for each in topic.partitions)
        ]

    # Topics.

    async def _create_topics(
        self, request: CreateTopicsRequest, client_id: str | None, quota: MutationQuota | None
    ) -> CreateTopicsResponse:
        config = self._broker.config
        image, deletions = await self._client.request(
            "ZooKeeperGetTopics", lambda zookeeper, _: (zookeeper.image, zookeeper.deletions())
        )
        counts = Counter(topic.name for topic in request.topics)
        results: dict[str, CreatableTopicResult] = {}
        created: dict[str, TopicImage] = {}
        for topic in request.topics:
            name = topic.name
            if counts[name] > 1:
                results[name] = refused_topic(name, ErrorCode.INVALID_REQUEST, self._named_twice(counts, client_id))
            elif name == CLUSTER_METADATA_TOPIC_NAME and self._broker.behaviour.topic_ids:
                result = results[name] = refused_topic(
                    name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed."
                )
                result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            else:
                try:
                    made = new_topic(
                        topic,
                        image=image,
                        deletions=deletions,
                        config=config,
                        random=self._random,
                        behaviour=self._broker.behaviour,
                    )
                except Refused as refused:
                    results[name] = refused_topic(name, refused.error_code, refused.message)
                else:
                    if _exceeds(quota, request, len(made.partitions)):
                        results[name] = refused_topic(name, ErrorCode.THROTTLING_QUOTA_EXCEEDED, None)
                        continue
                    created[name] = made
                    result = results[name] = _created(made, config)
                    if request.validate_only:
                        result.topic_id = ZERO_UUID
        if not request.validate_only and created:
            topics = list(created.values())
            await self._client.request("ZooKeeperCreateTopics", lambda zookeeper, _: _written(zookeeper, topics))
            sizes = {name: len(topic.partitions) for name, topic in created.items()}
            left = await self._until(lambda: self._without_leaders(sizes), request.timeout_ms)
            for name in list(created) if request.timeout_ms <= 0 else left:
                results[name] = refused_topic(name, ErrorCode.REQUEST_TIMED_OUT, None)
        requested = [topic.name for topic in request.topics]
        responded = dict.fromkeys(requested) if self._broker.behaviour.serves_topics_once else requested
        return CreateTopicsResponse(topics=[results[name] for name in responded])

    def _named_twice(self, counts: Mapping[str, int], client_id: str | None) -> str:
        if not self._broker.behaviour.serves_topics_once:
            return "Found multiple entries for this topic."
        names = ",".join(name for name, count in counts.items() if count > 1)
        requested = f"Create topics request from client `{client_id or ''}`"
        return f"{requested} contains multiple entries for the following topics: {names}"

    async def _delete_topics(self, request: DeleteTopicsRequest, quota: MutationQuota | None) -> DeleteTopicsResponse:
        if any(topic.name is not None and topic.topic_id != ZERO_UUID for topic in request.topics):
            return refused_deletion(request, ErrorCode.INVALID_REQUEST)
        image = self._image
        results: list[DeletableTopicResult] = []
        doomed: dict[str, list[DeletableTopicResult]] = {}
        named = _named(request)
        for given, topic_id in dict.fromkeys(named) if self._broker.behaviour.serves_topics_once else named:
            result = DeletableTopicResult(name=given, topic_id=topic_id, error_code=ErrorCode.NONE)
            results.append(result)
            known = image.topics_by_id.get(topic_id) if given is None else image.topics.get(given)
            if known is not None:
                result.name, result.topic_id = known.name, known.topic_id
                doomed.setdefault(known.name, []).append(result)
            elif topic_id != ZERO_UUID:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_ID
            elif given is None:
                result.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            else:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for name in list(doomed):
            if quota is not None and not quota.accepts(len(image.topics[name].partitions)):
                for result in doomed.pop(name):
                    result.error_code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if doomed:
            names = list(doomed)
            await self._client.request("ZooKeeperDeleteTopics", lambda zookeeper, _: zookeeper.request_deletion(names))
            left = await self._until(lambda: [each for each in names if each in self._image.topics], request.timeout_ms)
            for name in names if request.timeout_ms <= 0 else left:
                for result in doomed[name]:
                    result.error_code = ErrorCode.REQUEST_TIMED_OUT
        return DeleteTopicsResponse(responses=results)

    async def _create_partitions(
        self, request: CreatePartitionsRequest, quota: MutationQuota | None
    ) -> CreatePartitionsResponse:
        image = await self._client.request("ZooKeeperGetTopics", lambda zookeeper, _: zookeeper.image)
        counts = Counter(topic.name for topic in request.topics)
        results: dict[str, CreatePartitionsTopicResult] = {}
        grown: dict[str, TopicImage] = {}
        for wanted in request.topics:
            name = wanted.name
            result = results[name] = CreatePartitionsTopicResult(name=name, error_code=ErrorCode.NONE)
            if counts[name] > 1:
                result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, "Duplicate topic in request."
                continue
            try:
                added = added_partitions(wanted, image=image, random=self._random)
            except Refused as refused:
                result.error_code, result.error_message = refused.error_code, refused.message
            else:
                if _exceeds(quota, request, len(added)):
                    result.error_code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
                    continue
                topic = image.topics[name]
                grown[name] = replace(topic, partitions=(*topic.partitions, *added))
        if grown and not request.validate_only:
            topics = list(grown.values())
            await self._client.request("ZooKeeperSetTopics", lambda zookeeper, _: _written(zookeeper, topics))
            sizes = {name: len(topic.partitions) for name, topic in grown.items()}
            left = await self._until(lambda: self._without_leaders(sizes), request.timeout_ms)
            for name in list(grown) if request.timeout_ms <= 0 else left:
                results[name].error_code = ErrorCode.REQUEST_TIMED_OUT
        return CreatePartitionsResponse(results=list(results.values()))

    # Leaders and replicas.

    async def _elect_leaders(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        if request.election_type not in ELECTION_TYPES:
            return refused_elections(request, ErrorCode.UNKNOWN_SERVER_ERROR)
        partitions = self._elected_partitions(request)
        began_s = self._broker.reactor.seconds()
        errors, elected = await self._broker.controller.requests.elect_leaders(partitions, request.election_type)
        if request.topic_partitions is None:
            errors = {each: error for each, error in errors.items() if error[0] is not ErrorCode.ELECTION_NOT_NEEDED}
            partitions = [each for each in partitions if each in errors or each in elected]

        def unseen() -> list[TopicPartition]:
            return [
                each
                for each, leader in elected.items()
                if (known := self._image.partition(*each)) is None or known.leader != leader
            ]

        if self._broker.release.api_versions[ElectLeadersRequest.API_KEY].highest == 0:
            # Before KIP-460 an election that is not needed has succeeded.
            errors = {each: error for each, error in errors.items() if error[0] is not ErrorCode.ELECTION_NOT_NEEDED}
        purgatory = self._broker.config.behaviour.purgatories[-1]
        spent_ms = round((self._broker.reactor.seconds() - began_s) * 1000)
        for each in await self._until(unseen, request.timeout_ms - spent_ms, purgatory):
            errors[each] = (ErrorCode.REQUEST_TIMED_OUT, None)
        return _elections({each: errors.get(each, (ErrorCode.NONE, None)) for each in partitions})

    def _elected_partitions(self, request: ElectLeadersRequest) -> list[TopicPartition]:
        """Return the requested partitions, each once: without names all partitions that this broker knows."""
        if request.topic_partitions is None:
            return [
                TopicPartition(topic.name, index)
                for topic in self._image.topics.values()
                for index in range(len(topic.partitions))
            ]
        requested = (
            TopicPartition(each.topic, index) for each in request.topic_partitions for index in each.partitions
        )
        return list(dict.fromkeys(requested))

    async def _alter_reassignments(
        self, request: AlterPartitionReassignmentsRequest
    ) -> AlterPartitionReassignmentsResponse:
        wanted: dict[TopicPartition, Sequence[int] | None] = {
            TopicPartition(topic.name, each.partition_index): each.replicas
            for topic in request.topics
            for each in topic.partitions
        }
        results = await self._broker.controller.requests.alter_reassignments(wanted)
        if results is None:
            return AlterPartitionReassignmentsResponse(
                error_code=ErrorCode.NOT_CONTROLLER, error_message=NOT_CONTROLLER
            )
        topics: dict[str, list[ReassignablePartitionResponse]] = {}
        for (name, index), (code, message) in results.items():
            topics.setdefault(name, []).append(
                ReassignablePartitionResponse(partition_index=index, error_code=code, error_message=message)
            )
        return AlterPartitionReassignmentsResponse(
            error_code=ErrorCode.NONE,
            error_message="",
            responses=[ReassignableTopicResponse(name=name, partitions=each) for name, each in topics.items()],
        )

    async def _list_reassignments(
        self, request: ListPartitionReassignmentsRequest
    ) -> ListPartitionReassignmentsResponse:
        going_on = await self._broker.controller.requests.list_reassignments()
        if going_on is None:
            return ListPartitionReassignmentsResponse(error_code=ErrorCode.NOT_CONTROLLER, error_message=NOT_CONTROLLER)
        wanted = (
            None
            if request.topics is None
            else {
                TopicPartition(topic.name, index): None for topic in request.topics for index in topic.partition_indexes
            }
        )
        topics: dict[str, list[OngoingPartitionReassignment]] = {}
        for each, assignment in going_on:
            if wanted is None or each in wanted:
                topics.setdefault(each.topic, []).append(
                    OngoingPartitionReassignment(
                        partition_index=each.partition,
                        replicas=list(assignment.replicas),
                        adding_replicas=list(assignment.adding),
                        removing_replicas=list(assignment.removing),
                    )
                )
        return ListPartitionReassignmentsResponse(
            error_code=ErrorCode.NONE,
            error_message="",
            topics=[OngoingTopicReassignment(name=name, partitions=each) for name, each in topics.items()],
        )

    async def _alter_credentials(self, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
        def alter(zookeeper: Any, session: Any) -> Any:  # noqa: ARG001 - as every operation
            response, changes = alter_scram_credentials(request, zookeeper.image.scram)
            if changes:
                zookeeper.change("credentials", lambda image: replace(image, scram=image.scram.with_changes(changes)))
            return response

        response: AlterUserScramCredentialsResponse = await self._client.request("ZooKeeperSetConfigs", alter)
        return response

    async def _update_features(self, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        """Refuse every feature: brokers of the ZooKeeper era support none. Mirrors processFeatureUpdates."""
        message = "Could not apply finalized feature update because the provided feature is not supported."
        return UpdateFeaturesResponse(
            error_code=ErrorCode.NONE,
            error_message=None,
            results=[
                UpdatableFeatureResult(
                    feature=each.feature, error_code=ErrorCode.INVALID_REQUEST, error_message=message
                )
                for each in request.feature_updates
            ],
        )


def _written(zookeeper: Any, topics: Sequence[TopicImage]) -> None:
    zookeeper.change("topics", lambda image: image.with_topics(topics))


def _exceeds(
    quota: MutationQuota | None, request: CreateTopicsRequest | CreatePartitionsRequest, partitions: int
) -> bool:
    """Take tokens of a client's quota; none for a request that only validates."""
    return quota is not None and not request.validate_only and not quota.accepts(partitions)


def _elections(errors: Mapping[TopicPartition, tuple[ErrorCode, str | None]]) -> ElectLeadersResponse:
    topics: dict[str, list[PartitionResult]] = {}
    for (name, index), (code, message) in errors.items():
        result = PartitionResult(partition_id=index, error_code=code, error_message=message)
        topics.setdefault(name, []).append(result)
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(topic=name, partition_result=results) for name, results in topics.items()
        ]
    )


def _named(request: DeleteTopicsRequest) -> list[tuple[str | None, bytes]]:
    """Return the topics to delete; a topic that is named twice has two results."""
    names: list[tuple[str | None, bytes]] = [(name, ZERO_UUID) for name in request.topic_names]
    return names + [(topic.name, topic.topic_id) for topic in request.topics]


def _created(topic: TopicImage, config: BrokerConfig) -> CreatableTopicResult:
    order = {name: place for place, name in enumerate(describe_order("topic", config.release))}
    result = created_topic(topic, config)
    assert result.configs is not None
    result.configs.sort(key=lambda entry: order.get(entry.name, len(order)))
    return result
