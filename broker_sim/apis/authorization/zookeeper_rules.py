"""The rule of each API at a broker in ZooKeeper mode, which forwards nothing: it checks what a KRaft controller checks.

Mirrors KafkaApis before 4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.authorization.broker_rules import BROKER_RULES
from broker_sim.apis.authorization.controller_rules import CONTROLLER_RULES
from broker_sim.apis.authorization.rule import FORWARDED, cluster
from broker_sim.security.acl import AclOperation
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.authorization.rule import Handle, Rule
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.access import Access
    from protocol_specs.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest

__all__ = ["ZOOKEEPER_RULES"]

_ALTER: Final = cluster(AclOperation.ALTER)


def alter_user_scram_credentials(
    request: AlterUserScramCredentialsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """AlterUserScramCredentials: ALTER on the cluster, which the controller alone checks."""
    if context.broker.active_controller_id != context.broker.id:
        return handle(request, context)
    return _ALTER(request, context, access, handle)


ZOOKEEPER_RULES: Final[Mapping[ApiKey, Rule]] = {
    **{key: CONTROLLER_RULES[key] if rule is FORWARDED else rule for key, rule in BROKER_RULES.items()},
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
}
