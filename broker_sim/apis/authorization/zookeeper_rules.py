"""The rule of each API at a broker in ZooKeeper mode, which forwards nothing: it checks what a KRaft controller checks.

Mirrors KafkaApis before 4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.authorization.broker_rules import BROKER_RULES
from broker_sim.apis.authorization.controller_rules import CONTROLLER_RULES
from broker_sim.apis.authorization.rule import FORWARDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.authorization.rule import Rule
    from protocol_specs.api_key import ApiKey

__all__ = ["ZOOKEEPER_RULES"]

ZOOKEEPER_RULES: Final[Mapping[ApiKey, Rule]] = {
    key: CONTROLLER_RULES[key] if rule is FORWARDED else rule for key, rule in BROKER_RULES.items()
}
