"""Every API of a controller has a rule."""

from __future__ import annotations

from broker_sim.apis.authorization.controller_rules import CONTROLLER_RULES
from broker_sim.apis.controller.controller_apis import HANDLERS


def test_every_api_has_a_rule_and_no_rule_is_left_over() -> None:
    assert [key.api_name for key in HANDLERS.served if key not in CONTROLLER_RULES] == []
    own = {key for key in CONTROLLER_RULES if not key.facts.cluster_action}
    assert [key.api_name for key in own - {*HANDLERS.served}] == []
