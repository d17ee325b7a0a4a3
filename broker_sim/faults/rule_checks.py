"""The checks of a rule against its own parts and against the cluster that it is added to.

A written rule passes the grammar first; a Rule object comes here directly, so that both are held to the same rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.errors import nearest
from broker_sim.faults.rule import ActiveController, FollowerOf, LeaderOf, RuleError, Self
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.faults.progress import Progress
    from broker_sim.faults.rule import BrokerRef, Rule
    from broker_sim.faults.rule_targets import RuleTargets
    from broker_sim.faults.selection import Select

__all__ = ["check_api", "check_load", "check_parts", "check_targets"]


def check_parts(rule: Rule) -> None:
    """Check that the action, the phase and the selection of a rule fit together. Raises RuleError."""
    action, phase, select = rule.act, rule.phase, rule.select
    if select.api is not None:
        check_api(select.api)
    if rule.every_ms is not None and phase is not None:
        raise RuleError(("every_ms",), "repeats an action on the cluster: expected no select and no phase")
    action.check(rule)
    if phase is None and any(isinstance(broker, Self) for broker in action.brokers):
        raise RuleError(("act",), "'self' is the broker of a request: the rule needs a select or a phase")
    if isinstance(select.broker, Self):
        raise RuleError(("select", "broker"), "'self' is the broker of a request: without it every broker is selected")


def check_api(name: str) -> None:
    """Check the name of an API. Raises RuleError with the nearest name, or all names when none is near."""
    names = [key.api_name for key in ApiKey]
    if name not in names:
        hint = nearest(name, names) or f"; expected one of {', '.join(names)}"
        raise RuleError(("select", "api"), f"{name!r} is no API{hint}")


def check_load(rule: Rule, progress: Progress) -> None:
    """Check that a gate on a share of the load has a load. Raises RuleError."""
    for key, gate in (("when", rule.when), ("until", rule.until)):
        if gate is not None and gate.acked_share is not None and progress.expected_records is None:
            problem = "only a scenario has a load to take a share of; expected acked_records"
            raise RuleError((key, "acked_share"), problem)


def check_targets(rule: Rule, cluster: RuleTargets) -> None:
    """Check that the brokers, followers and partitions which a rule names exist in a cluster. Raises RuleError."""
    action, select = rule.act, rule.select
    for need in action.needs:
        if need not in cluster.capabilities:
            raise RuleError(("act",), f"{action.name} needs {need.description}")
    for broker in action.brokers:
        _check_broker(broker, ("act", action.name), cluster, may_be_controller=action.on_controllers)
    _check_select(select, cluster)


def _check_select(select: Select, cluster: RuleTargets) -> None:
    _check_broker(select.broker, ("select", "broker"), cluster, may_be_controller=True)
    if select.replica is not None and select.replica >= 0:
        _check_id(select.replica, ("select", "replica"), cluster.broker_ids)
    count = cluster.partition_counts.get(select.topic) if select.topic is not None else None
    for partition in select.partitions if isinstance(select.partitions, tuple) else ():
        if count is not None and partition >= count:
            raise RuleError(("select", "partition"), _no_partition(str(select.topic), partition, count))


def _check_broker(
    broker: BrokerRef | None, path: tuple[str, ...], cluster: RuleTargets, *, may_be_controller: bool
) -> None:
    if isinstance(broker, int):
        others = cluster.controller_ids if may_be_controller else ()
        _check_id(broker, path, [*cluster.broker_ids, *others])
    elif isinstance(broker, LeaderOf | FollowerOf):
        count = cluster.partition_counts.get(broker.topic)
        if count is None:
            hint = nearest(broker.topic, cluster.partition_counts)
            raise RuleError(path, f"there is no topic {broker.topic!r}{hint or ': create it before the rule'}")
        if broker.partition >= count:
            raise RuleError(path, _no_partition(broker.topic, broker.partition, count))
    elif isinstance(broker, ActiveController) and path[0] == "act" and not cluster.controller_ids:
        problem = "the cluster has one controller, which never fails; controllers=3 makes it have three"
        raise RuleError(path, problem)


def _check_id(node_id: int, path: tuple[str, ...], known: Sequence[int]) -> None:
    if node_id not in known:
        raise RuleError(path, f"there is no broker {node_id}: they are {list(known)}")


def _no_partition(topic: str, partition: int, count: int) -> str:
    return f"topic {topic!r} has no partition {partition}: it has {count} (0 to {count - 1})"
