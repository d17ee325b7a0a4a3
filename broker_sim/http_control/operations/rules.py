"""Calls on fault rules: the very rules of scenario files and of `add_rule`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_sim.errors import nearest
from broker_sim.faults.engine import RuleReport
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.reference_page import NAME
from broker_sim.faults.rule_checks import check_load
from broker_sim.faults.rule_schema import RULE_SCHEMA
from broker_sim.http_control.operation import CLUSTER, Operation, UnknownName

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS", "rule_of"]

RULE: Final = f"{CLUSTER}/rules/{{rule}}"
BODY: Final[dict[str, Any]] = RULE_SCHEMA | {
    "properties": {"name": {"type": "string", **NAME}, **RULE_SCHEMA["properties"]},
    "required": ["act"],
}


@dataclass(frozen=True, slots=True)
class AddedRule:
    """The name of a rule that was added: its own, or rule-1 and so on."""

    name: str


@dataclass(frozen=True, slots=True)
class ReleasedRequests:
    """How many requests a rule has released."""

    released: int


def rule_of(call: Call, name: str) -> str:
    """Return the name of a rule that exists. Raises UnknownName."""
    known = [report.name for report in call.cluster.faults.reports()]
    if name not in known:
        raise UnknownName(f"there is no rule {name!r}{nearest(name, known)}")
    return name


def added(call: Call) -> AddedRule:
    """Add a rule."""
    faults = call.cluster.faults
    rule = parse_rule(call.body, default_name=faults.free_name())
    check_load(rule, faults.progress)
    faults.add(rule)
    return AddedRule(rule.name)


def done(call: Call) -> Deferred[AddedRule]:
    """Do an action."""
    faults = call.cluster.faults
    rule = parse_rule({"act": call.body}, default_name=faults.free_name())
    return faults.do(rule).addCallback(AddedRule)


def listed(call: Call) -> list[RuleReport]:
    """Return the report of each rule."""
    return call.cluster.faults.reports()


def described(call: Call) -> RuleReport:
    """Return the report of one rule."""
    name = rule_of(call, call.path["rule"])
    return next(report for report in call.cluster.faults.reports() if report.name == name)


def removed(call: Call) -> RuleReport:
    """Remove a rule."""
    return call.cluster.faults.remove(rule_of(call, call.path["rule"]))


def removed_all(call: Call) -> list[RuleReport]:
    """Remove every rule."""
    faults = call.cluster.faults
    return [faults.remove(report.name) for report in faults.reports()]


def released(call: Call) -> ReleasedRequests:
    """Release the requests that a rule holds."""
    return ReleasedRequests(call.cluster.faults.release(rule_of(call, call.path["rule"])))


OPERATIONS = (
    Operation(
        method="POST",
        path=f"{CLUSTER}/rules",
        name="addRule",
        summary="Add a fault rule, in the form of scenario files; it acts from the response on.",
        handle=added,
        body=dict[str, Any],
        body_schema=BODY,
        result=AddedRule,
        status=201,
    ),
    Operation(
        method="POST",
        path=f"{CLUSTER}/do",
        name="doAction",
        summary="Do an action of fault rules on the cluster now; responds when it is done, with the name of its rule, "
        "whose removal ends an effect that lasts.",
        handle=done,
        body=Any,
        body_schema=BODY["properties"]["act"],
        result=AddedRule,
    ),
    Operation(
        method="GET",
        path=f"{CLUSTER}/rules",
        name="listRules",
        summary="The report of each rule: how often it has fired, how many requests fitted, its problem if it has one.",
        handle=listed,
        result=list[RuleReport],
    ),
    Operation(
        method="DELETE",
        path=f"{CLUSTER}/rules",
        name="removeRules",
        summary="Remove every rule; the requests that they hold go on.",
        handle=removed_all,
        result=list[RuleReport],
    ),
    Operation(
        method="GET", path=RULE, name="getRule", summary="The report of one rule.", handle=described, result=RuleReport
    ),
    Operation(
        method="DELETE",
        path=RULE,
        name="removeRule",
        summary="Remove a rule; the requests that it holds go on.",
        handle=removed,
        result=RuleReport,
    ),
    Operation(
        method="POST",
        path=f"{RULE}/release",
        name="releaseRule",
        summary="Release the requests that a rule holds.",
        handle=released,
        result=ReleasedRequests,
    ),
)
