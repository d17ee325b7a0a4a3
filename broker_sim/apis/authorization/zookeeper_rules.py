"""The rule of each API at a broker in ZooKeeper mode, which forwards nothing: it checks what a KRaft controller checks.

Mirrors KafkaApis before 4.0. The refusals have texts of their own. A broker that is not the controller does not check
the requests about topics, which it does not serve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.authorization import config_rules, topic_rules
from broker_sim.apis.authorization.broker_rules import BROKER_RULES
from broker_sim.apis.authorization.controller_rules import CONTROLLER_RULES
from broker_sim.apis.authorization.rule import FORWARDED, changed, cluster, edited, in_places
from broker_sim.coordinators.default_messages import default_message
from broker_sim.security.acl import AclOperation
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_topics import DeletableTopicResult
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.authorization.rule import Handle, Rule
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.access import Access
    from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest
    from protocol_specs.messages.create_topics import CreateTopicsRequest
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest
    from protocol_specs.messages.update_features import UpdateFeaturesRequest

__all__ = ["ZOOKEEPER_RULES"]

_ALTER: Final = cluster(AclOperation.ALTER)
LISTS_SINCE_METADATA: Final = 8
"""A release that serves this version of Metadata has one result for each mention of a topic (else one per topic)."""
_CREATE: Final = cluster(AclOperation.CREATE)
_ALTER_CONFIGS: Final = cluster(AclOperation.ALTER_CONFIGS)
_DENIED: Final = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})


def _with_text(rule: Rule, parts: str, text: str | None) -> Rule:
    """Return the rule with another text in the refused parts of the response."""

    def reworded(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
        def reword(response: Any) -> None:
            for part in getattr(response, parts):
                if part.error_code in _DENIED:
                    part.error_message = text

        return edited(rule(request, context, access, handle), reword)

    return reworded


def _at_controller(rule: Rule) -> Rule:
    """Return the rule of a request that only the controller serves and checks."""

    def checked(request: Any, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
        broker = context.broker
        if broker.active_controller_id != broker.id:
            return handle(request, context)
        return rule(request, context, access, handle)

    return checked


def create_topics(
    request: CreateTopicsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """CreateTopics: a topic whose configurations the client may not describe has no id, and an error if it is refused.

    The results are in the order of the request. Before 2.0 the right on the cluster is needed.
    """
    if context.behaviour.cluster_creates_topics:

        def unify(response: Any) -> None:
            response.topics = list({topic.name: topic for topic in response.topics}.values())

        return edited(_CREATE(request, context, access, handle), unify)
    explains = context.behaviour.refused_creations_have_texts
    places = {topic.name: place for place, topic in enumerate(request.topics)}

    def hide(response: Any) -> None:
        response.topics.sort(key=lambda topic: places[topic.name])
        for topic in response.topics:
            if topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED and not explains:
                topic.error_message = None
            if not access.topic(AclOperation.DESCRIBE_CONFIGS, topic.name):
                topic.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                topic.topic_id = ZERO_UUID

    return edited(topic_rules.create_topics(request, context, access, handle), hide)


def delete_topics(
    request: DeleteTopicsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """DeleteTopics: DELETE on each topic, and DESCRIBE where an id names it; results in the order of the request."""
    named = [(topic.name, topic.topic_id) for topic in request.topics]
    if not context.broker.config.delete_topic_enable or any(
        name is not None and topic_id != ZERO_UUID for name, topic_id in named
    ):
        return handle(request, context)
    image = context.broker.metadata_cache.image

    def refusal(name: str | None, topic_id: bytes) -> DeletableTopicResult | None:
        known = image.topics_by_id.get(topic_id) if name is None else None
        found = name if known is None else known.name
        if found is None:
            return None
        hidden = name is None and not access.topic(AclOperation.DESCRIBE, found)
        if not hidden and access.topic(AclOperation.DELETE, found):
            return None
        return DeletableTopicResult(
            name=None if hidden else found,
            topic_id=topic_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message=None,
        )

    names = request.topic_names
    if context.broker.release.api_versions[ApiKey.METADATA].highest < LISTS_SINCE_METADATA:
        names = list(dict.fromkeys(names))
    by_name = [refusal(name, ZERO_UUID) for name in names]
    by_topic = [refusal(name, topic_id) for name, topic_id in named]
    left = changed(
        request,
        topics=[topic for topic, refused in zip(request.topics, by_topic, strict=True) if refused is None],
        topic_names=[name for name, refused in zip(names, by_name, strict=True) if refused is None],
    )

    def add(response: Any) -> None:
        response.responses = in_places([*by_name, *by_topic], response.responses)

    return edited(handle(left, context), add)


def update_features(
    request: UpdateFeaturesRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """UpdateFeatures: ALTER on the cluster; the refusal has the text of the error."""

    def explain(response: Any) -> None:
        if response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            response.error_message = default_message(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    return edited(_ALTER(request, context, access, handle), explain)


def alter_client_quotas(
    request: AlterClientQuotasRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """AlterClientQuotas: ALTER_CONFIGS on the cluster; before 2.8 its refusal has no text."""
    rule = _ALTER_CONFIGS if context.behaviour.refused_quotas_have_texts else _WORDLESS_QUOTAS
    return rule(request, context, access, handle)


_WORDLESS_QUOTAS: Final = _with_text(_ALTER_CONFIGS, "entries", None)
_OWN: Final[Mapping[ApiKey, Rule]] = {
    ApiKey.CREATE_TOPICS: _at_controller(create_topics),
    ApiKey.DELETE_TOPICS: _at_controller(delete_topics),
    ApiKey.CREATE_PARTITIONS: _at_controller(
        _with_text(topic_rules.create_partitions, "results", "The topic authorization is failed.")
    ),
    ApiKey.ELECT_LEADERS: _ALTER,
    ApiKey.UPDATE_FEATURES: update_features,
    ApiKey.ALTER_CONFIGS: _with_text(config_rules.alter_resources, "responses", None),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _with_text(config_rules.alter_resources, "responses", None),
    ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _at_controller(_ALTER),
}

ZOOKEEPER_RULES: Final[Mapping[ApiKey, Rule]] = {
    **{key: CONTROLLER_RULES[key] if rule is FORWARDED else rule for key, rule in BROKER_RULES.items()},
    **_OWN,
}
