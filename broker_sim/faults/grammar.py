"""Rules as mappings, the form that YAML, the command line and HTTP share.

    name: crash-the-leader
    when: {acked_share: 0.4}
    act: {kill: leader of orders-0}

An unknown key is refused; an error names the path of the key, what was expected and the nearest known spelling.
`rule_schema` publishes the same forms as a JSON schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.control.journal import EVENT_KINDS
from broker_sim.errors import nearest
from broker_sim.faults.action import ON_REQUESTS
from broker_sim.faults.actions import ACTIONS
from broker_sim.faults.forms import Broker, Built, Choice, Fields, ListOf, Number, Text, Truth, Whole, mapping, shown
from broker_sim.faults.gates import EventGate, FiredGate, Gate, field_names
from broker_sim.faults.interception import Phase
from broker_sim.faults.rule import KilledBy, Rule, RuleError
from broker_sim.faults.rule_checks import check_api, check_parts
from broker_sim.faults.selection import HIGHEST, Select
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.faults.action import Action
    from broker_sim.faults.forms import Form, Path, Schema
    from broker_sim.faults.selection import Numbers

__all__ = ["GATE", "KEYS", "SELECT", "named_rules", "parse_rule", "parse_rules"]


@dataclass(frozen=True, slots=True)
class Api:
    """The name of an API, in any case."""

    description: str

    def parse(self, value: object, path: Path) -> str:
        """Return the name as Kafka writes it."""
        text = Text(self.description, "Produce").parse(value, path)
        for key in ApiKey:
            if key.api_name.lower() == text.lower():
                return key.api_name
        check_api(text)
        return text

    @property
    def schema(self) -> Schema:
        """An enumeration."""
        return {
            "enum": [key.api_name for key in ApiKey],
            "description": self.description,
            "examples": [ApiKey.PRODUCE.api_name],
        }


@dataclass(frozen=True, slots=True)
class Replica:
    """The broker that sends a request, or any broker."""

    description: str

    def parse(self, value: object, path: Path) -> int:
        """Return its id, -1 for any."""
        if value == "any":
            return -1
        if isinstance(value, str):
            raise RuleError(path, f"expected a follower's broker id or 'any', not {shown(value)}")
        return Whole("", 2, at_least=0, drawable=False).parse(value, path)  # type: ignore[return-value]

    @property
    def schema(self) -> Schema:
        """A number or `any`."""
        return {
            "oneOf": [{"type": "integer", "minimum": 0}, {"const": "any"}],
            "description": self.description,
            "examples": ["any"],
        }


@dataclass(frozen=True, slots=True)
class NumberSet:
    """A whole number, a list of them, or `{at_least: 3, at_most: 9}`."""

    description: str
    example: object
    at_least: int = 0

    def parse(self, value: object, path: Path) -> Numbers:
        """Return the numbers."""
        number = Whole(self.description, 1, at_least=self.at_least, drawable=False)
        if not isinstance(value, dict):
            return ListOf(number, self.description).parse(value, path)
        bounds = Fields(any_of=(("at_least", "at_most"),), at_least=number, at_most=number).parse(value, path)
        return range(bounds.get("at_least", self.at_least), bounds.get("at_most", HIGHEST) + 1)

    @property
    def schema(self) -> Schema:
        """A number, an array or an object with bounds."""
        number = {"type": "integer", "minimum": self.at_least}
        bounds = {
            "type": "object",
            "additionalProperties": False,
            "properties": {"at_least": number, "at_most": number},
        }
        return {
            "oneOf": [number, {"type": "array", "items": number, "minItems": 1}, bounds | {"minProperties": 1}],
            "description": f"{self.description}: a number, a list of them, or `{{at_least: 3, at_most: 9}}`",
            "examples": [self.example],
        }


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the journal by kind, the values of its fields, and how many of them."""

    description: str

    def parse(self, value: object, path: Path) -> EventGate:
        """Return the gate. A kind or field that does not exist is refused with the nearest one."""
        if not isinstance(value, dict) or "kind" not in value:
            raise RuleError(path, f"expected a mapping with kind, such as {{kind: LeaderElected}}, not {shown(value)}")
        name = Text("", "").parse(value["kind"], (*path, "kind"))
        kind = EVENT_KINDS.get(name)
        if kind is None:
            raise RuleError((*path, "kind"), f"{name!r} is no event of the journal{nearest(name, EVENT_KINDS)}")
        names = field_names(kind)
        given = mapping(value, path, ("kind", "count", *names))
        amount = Whole("", 1, at_least=1, drawable=False).parse(given.get("count", 1), (*path, "count"))
        wanted = {key: each for key, each in given.items() if key not in {"kind", "count"}}
        return EventGate(kind, wanted, int(amount))  # type: ignore[arg-type]

    @property
    def schema(self) -> Schema:
        """An object."""
        return {
            "type": "object",
            "required": ["kind"],
            "properties": {
                "kind": {"enum": list(EVENT_KINDS), "description": "the kind of the event"},
                "count": {"type": "integer", "minimum": 1, "description": "how many such events, by default 1"},
            },
            "description": self.description,
            "examples": [{"kind": "LeaderElected", "topic": "orders", "partition": 0}],
        }


SELECT: Final = Fields(
    broker=Broker("the broker that serves the request, in any form of a broker"),
    api=Api("the name of the API"),
    version=NumberSet("the API version", {"at_most": 8}),
    topic=Text("the topic: of the partition of the phase, else one that the body of the request names", "orders"),
    partition=NumberSet("a partition of the topic, in the same way", 0),
    client=Text("a client id, or a pattern such as `producer-*`", "producer-*"),
    group=Text("a group id that the request names, or a pattern", "billing"),
    member=Text("a member id or an instance id of the request, or a pattern", "app-*"),
    transaction=Text("a transactional id that the request names, or a pattern", "transfer-*"),
    producer_id=NumberSet("a producer id of the request, a marker or a batch", 1000),
    producer_epoch=NumberSet("the epoch of the same producer", 0),
    sequence=NumberSet("the first sequence of a batch of that producer, in a Produce", 0),
    replica=Replica(
        "requests of the broker with this id, or of `any` broker: Fetch of a follower, WriteTxnMarkers of a "
        "coordinator; without it, of clients"
    ),
    connection=NumberSet(
        "the number of the connection among those of its client id whose requests fit, from 1", 2, at_least=1
    ),
    nth=NumberSet("the number of the request among those that fit, from 1", 2, at_least=1),
    share=Number("this share of the requests that fit, drawn by the seed", 0.1, above=0, at_most=1, drawable=False),
)
_SELECT_FIELDS: Final = {
    "version": "versions",
    "connection": "connections",
    "partition": "partitions",
    "producer_id": "producer_ids",
    "producer_epoch": "producer_epochs",
    "sequence": "sequences",
}
"""The fields of Select with the numbers of a key."""
_COUNTS: Final[dict[str, Form]] = {
    "acked_share": Number(
        "this share of the records of a scenario's load is acknowledged, above 0 and up to 1", 0.4, above=0, at_most=1
    ),
    "acked_records": Whole("this many records are acknowledged", 100, at_least=1),
    "appended_records": Whole("leaders have appended this many records", 100, at_least=1),
    "appended_batches": Whole("leaders have appended this many batches", 10, at_least=1),
    "after": Text("the rule of this name has fired", "crash-the-leader"),
    "fired": Built(
        FiredGate,
        Fields(
            required=("rule",),
            alone="rule",
            rule=Text("the name of the rule", "crash-the-leader"),
            times=Whole("how often, by default once", 3, at_least=1, drawable=False),
            description="another rule has fired so many times: `{rule: crash, times: 3}`",
        ),
    ),
    "event": Event("an event of the journal has occurred: its kind, the values of its fields, and how often (`count`)"),
    "in_sync": Truth(
        "true: every broker runs and every replica is in sync. Of several rules with it one is open at a time; only "
        "in `when`"
    ),
    "at_ms": Number(
        "this many milliseconds have passed since the start of the load, or without a load since the gate waits",
        500,
        at_least=0,
    ),
    "delay_ms": Number("this many milliseconds pass after all other conditions hold", [0, 500], at_least=0),
}
GATE: Final = Fields(_COUNTS, any_of=(tuple(_COUNTS),))
KEYS: Final[dict[str, Form]] = {
    "phase": Choice("the phase in which the rule fires", tuple(phase.value for phase in Phase)),
    "times": Whole("how often the rule fires at most", 1, at_least=1, drawable=False),
    "every_ms": Number(
        "an action on the cluster repeats after so many milliseconds, `times` times or until the rule closes",
        500,
        at_least=1,
    ),
    "optional": Truth("true if the rule need not fire"),
}
"""The forms of the simple keys of a rule; the others are `name`, `act`, `select`, `when` and `until`."""
RULE_KEYS: Final = ("name", "act", "phase", "select", "when", "until", "times", "every_ms", "optional")


def parse_rule(value: object, *, default_name: str = "rule") -> Rule:
    """Parse one rule from its mapping. Raises RuleError."""
    given = mapping(value, (), RULE_KEYS)
    name = Text("", "").parse(given.get("name", default_name), ("name",))
    if "act" not in given:
        raise RuleError(("act",), f"missing; expected one of {', '.join(ACTIONS)}")
    act = _act(given["act"])
    select = _select(given["select"]) if "select" in given else Select()
    simple = {key: form.parse(given[key], (key,)) for key, form in KEYS.items() if key in given}
    phase = Phase(simple.pop("phase")) if "phase" in simple else None
    if phase is None and ("select" in given or not act.on_cluster):
        phase = _default_phase(act, select)
    until = _gate(given["until"], "until") if "until" in given else None
    if until is not None and until.in_sync:
        raise RuleError(("until", "in_sync"), "is a condition of `when` alone")
    rule = Rule(
        name=name,
        act=act,
        phase=phase,
        select=select,
        when=_gate(given["when"], "when") if "when" in given else None,
        until=until,
        **simple,
    )
    check_parts(rule)
    return rule


def parse_rules(values: object) -> list[Rule]:
    """Parse a list of rules with different names. Raises RuleError, whose path begins with the index of the rule."""
    if not isinstance(values, list):
        raise RuleError((), f"expected a list of rules, not {shown(values)}")
    rules: list[Rule] = []
    for place, value in enumerate(values):
        try:
            rule = parse_rule(value, default_name=f"rule-{place + 1}")
        except RuleError as error:
            raise RuleError((place, *error.path), error.problem) from None
        if rule.name in [known.name for known in rules]:
            raise RuleError((place, "name"), f"{rule.name!r} is the name of an earlier rule")
        rules.append(rule)
    names = [rule.name for rule in rules]
    for place, rule in enumerate(rules):
        for path, named in named_rules(rule):
            if named not in names:
                raise RuleError((place, *path), f"no rule is named {named!r}{nearest(named, names)}")
    return rules


def named_rules(rule: Rule) -> Iterable[tuple[tuple[str, ...], str]]:
    """Return the rules that a rule names, each with the path of its key."""
    for key, gate in (("when", rule.when), ("until", rule.until)):
        if gate is not None:
            yield from (((key, name), rule) for name, rule in gate.rules.items())
    for broker in rule.act.brokers:
        if isinstance(broker, KilledBy):
            yield ("act", rule.act.name), broker.rule
    if isinstance(rule.select.broker, KilledBy):
        yield ("select", "broker"), rule.select.broker.rule


def _default_phase(act: Action, select: Select) -> Phase:
    if act.phases is not ON_REQUESTS:
        return act.phases[0]
    needs_body = select.names_partitions or select.keys_of_the_body
    return Phase.BEFORE_APPEND if needs_body else Phase.BEFORE_PARSE


def _select(value: object) -> Select:
    given = SELECT.parse(value, ("select",))
    return Select(**{_SELECT_FIELDS.get(key, key): each for key, each in given.items()})


def _gate(value: object, key: str) -> Gate:
    return Gate(**GATE.parse(value, (key,)))


_WORDS_ELSEWHERE: Final = {
    "close": "disconnect",
    "crash": "kill",
    "delay": "delay_ms",
    "drop": "drop_response",
    "isolate": "cut_link",
    "latency": "shape_link",
    "partition": "cut_link",
    "slow_link": "shape_link",
}
"""Words for faults in other interfaces and tools, and the actions."""


def _act(value: object) -> Action:
    """Parse an action: its name (`hold`) or a mapping of its name to its value (`{delay_ms: 50}`)."""
    if isinstance(value, str):
        value = {value: None}
    if not isinstance(value, dict) or len(value) != 1:
        raise RuleError(("act",), f"expected one action, such as 'hold' or {{delay_ms: 50}}, not {shown(value)}")
    ((name, parameter),) = value.items()
    if name not in ACTIONS:
        known = _WORDS_ELSEWHERE.get(str(name))
        hint = nearest(str(name), ACTIONS) if known is None else f"; did you mean {known!r}?"
        raise RuleError(("act",), f"{name!r} is no action{hint}; expected one of {', '.join(ACTIONS)}")
    return ACTIONS[name].parse(parameter, ("act", name))
