"""Rules as mappings, the form that YAML, the command line and HTTP share, and their published JSON schema.

    name: crash-the-leader
    when: {acked_share: 0.4}
    act: {kill: leader of orders-0}

An unknown key is refused; an error names the path of the key, what was expected and the nearest known spelling.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from broker_sim.errors import nearest
from broker_sim.faults.actions import (
    ACTIONS,
    CutResponse,
    Delay,
    Disconnect,
    DropResponse,
    FailLogDir,
    FillLogDir,
    Hold,
    Kill,
    LosePower,
    MendLogDir,
    Mutate,
    RespondWithError,
    Restart,
    SlowLogDir,
    Stop,
)
from broker_sim.faults.interception import Phase
from broker_sim.faults.rule import (
    Action,
    ActiveController,
    BrokerRef,
    Gate,
    KilledBy,
    LeaderOf,
    Range,
    Rule,
    RuleError,
    Select,
    Self,
)
from broker_sim.faults.rule_checks import check_api, check_parts
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.fuzzing import Mutation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

RULE_KEYS: Final = ("name", "act", "phase", "select", "when", "until", "times", "optional")
SELECT_KEYS: Final = (
    "broker",
    "api",
    "topic",
    "partition",
    "client",
    "group",
    "member",
    "transaction",
    "producer_id",
    "producer_epoch",
    "sequence",
    "replica",
    "nth",
    "share",
)
GATE_KEYS: Final = ("acked_share", "acked_records", "appended_records", "appended_batches", "after", "delay_ms")
_CHANGES: Final = ("value", "lengthen", "shorten", "duplicate", "delete")
"""What `mutate` does to a field."""
_LEADER_OF: Final = re.compile(r"leader of (?P<topic>[A-Za-z0-9._-]+)-(?P<partition>\d+)")
_KILLED_BY: Final = re.compile(r"killed by (?P<rule>.+)")
_BROKER_FORMS: Final = "a broker id, 'leader of TOPIC-PARTITION', 'active controller', 'killed by RULE' or 'self'"


def parse_rule(value: object, *, default_name: str = "rule") -> Rule:
    """Parse one rule from its mapping. Raises RuleError."""
    given = _mapping(value, (), RULE_KEYS)
    name = _text(given.get("name", default_name), ("name",))
    if "act" not in given:
        raise RuleError(("act",), f"missing; expected one of {', '.join(ACTIONS)}")
    act = _act(given["act"])
    select = _select(given["select"]) if "select" in given else Select()
    phase = _phase(given["phase"]) if "phase" in given else None
    if phase is None and ("select" in given or not act.on_cluster):
        phase = _default_phase(act, select)
    rule = Rule(
        name=name,
        act=act,
        phase=phase,
        select=select,
        when=_gate(given["when"], "when") if "when" in given else None,
        until=_gate(given["until"], "until") if "until" in given else None,
        times=_whole(given["times"], ("times",), at_least=1) if "times" in given else None,
        optional=_truth(given.get("optional", False), ("optional",)),
    )
    check_parts(rule)
    return rule


def parse_rules(values: object) -> list[Rule]:
    """Parse a list of rules with different names. Raises RuleError, whose path begins with the index of the rule."""
    if not isinstance(values, list):
        raise RuleError((), f"expected a list of rules, not {_shown(values)}")
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
        for path, named in _named_rules(rule):
            if named not in names:
                raise RuleError((place, *path), f"no rule is named {named!r}{nearest(named, names)}")
    return rules


def _named_rules(rule: Rule) -> Iterable[tuple[tuple[str, ...], str]]:
    for key, gate in (("when", rule.when), ("until", rule.until)):
        if gate is not None and gate.after is not None:
            yield (key, "after"), gate.after
    broker = getattr(rule.act, "broker", None)
    if isinstance(broker, KilledBy):
        yield ("act", rule.act.name), broker.rule
    if isinstance(rule.select.broker, KilledBy):
        yield ("select", "broker"), rule.select.broker.rule


def _default_phase(act: Action, select: Select) -> Phase:
    if isinstance(act, Mutate):
        return Phase.BEFORE_RESPONSE
    needs_body = select.topic or select.partitions or select.keys_of_the_body
    return Phase.BEFORE_APPEND if needs_body else Phase.BEFORE_PARSE


def _phase(value: object) -> Phase:
    names = [phase.value for phase in Phase]
    text = _text(value, ("phase",))
    if text not in names:
        raise RuleError(("phase",), f"{text!r} is no phase; expected one of {', '.join(names)}{nearest(text, names)}")
    return Phase(text)


def _select(value: object) -> Select:
    given = _mapping(value, ("select",), SELECT_KEYS)

    def parsed(key: str, parse: Callable[..., Any], **limits: int) -> Any:
        return parse(given[key], ("select", key), **limits) if key in given else None

    return Select(
        broker=parsed("broker", _broker),
        api=_api(given["api"]) if "api" in given else None,
        topic=parsed("topic", _text),
        partitions=parsed("partition", _numbers, at_least=0),
        client=parsed("client", _text),
        group=parsed("group", _text),
        member=parsed("member", _text),
        transaction=parsed("transaction", _text),
        producer_ids=parsed("producer_id", _numbers, at_least=0),
        producer_epochs=parsed("producer_epoch", _numbers, at_least=0),
        sequences=parsed("sequence", _numbers, at_least=0),
        replica=_replica(given["replica"]) if "replica" in given else None,
        nth=parsed("nth", _numbers, at_least=1),
        share=parsed("share", _share),
    )


def _gate(value: object, key: str) -> Gate:
    given = _mapping(value, (key,), GATE_KEYS)
    if not given:
        raise RuleError((key,), f"empty; expected at least one of {', '.join(GATE_KEYS)}")

    def drawable(name: str, check: Callable[[object, tuple[str, ...]], float]) -> float | Range | None:
        return _drawable(given[name], (key, name), check) if name in given else None

    return Gate(
        acked_share=drawable("acked_share", _share),
        acked_records=drawable("acked_records", _at_least_one),
        appended_records=drawable("appended_records", _at_least_one),
        appended_batches=drawable("appended_batches", _at_least_one),
        after=_text(given["after"], (key, "after")) if "after" in given else None,
        delay_ms=drawable("delay_ms", _not_negative) or 0,
    )


def _act(value: object) -> Action:
    """Parse an action: its name (`hold`) or a mapping of its name to its value (`{delay_ms: 50}`)."""
    if isinstance(value, str):
        value = {value: None}
    if not isinstance(value, dict) or len(value) != 1:
        raise RuleError(("act",), f"expected one action, such as 'hold' or {{delay_ms: 50}}, not {_shown(value)}")
    ((name, parameter),) = value.items()
    if name not in ACTIONS:
        raise RuleError(
            ("act",), f"{name!r} is no action; expected one of {', '.join(ACTIONS)}{nearest(str(name), ACTIONS)}"
        )
    return _ACTION_PARSERS[name](parameter, ("act", name))


def _bare(act: Callable[[], Action]) -> Callable[[object, tuple[str, ...]], Action]:
    def parse(parameter: object, path: tuple[str, ...]) -> Action:
        if parameter is not None and parameter is not True:
            raise RuleError(path, f"takes no value, not {_shown(parameter)}")
        return act()

    return parse


_ACTION_PARSERS: Final[Mapping[str, Callable[[Any, tuple[str, ...]], Action]]] = {
    Delay.name: lambda value, path: Delay(_number(value, path, at_least=0)),
    Hold.name: _bare(Hold),
    DropResponse.name: _bare(DropResponse),
    Disconnect.name: _bare(Disconnect),
    RespondWithError.name: lambda value, path: RespondWithError(_error_code(value, path)),
    CutResponse.name: lambda value, path: CutResponse(_whole(value, path, at_least=0)),
    Mutate.name: lambda value, path: Mutate(_mutation(value, path)),
    Kill.name: lambda value, path: Kill(_broker(value, path)),
    Stop.name: lambda value, path: Stop(_broker(value, path)),
    Restart.name: lambda value, path: Restart(_broker(value, path)),
    LosePower.name: lambda value, path: LosePower(_broker(value, path)),
    FailLogDir.name: lambda value, path: FailLogDir(**_log_dir(value, path, {})),
    FillLogDir.name: lambda value, path: FillLogDir(**_log_dir(value, path, {"left_bytes": _left_bytes})),
    SlowLogDir.name: lambda value, path: SlowLogDir(**_slow(value, path)),
    MendLogDir.name: lambda value, path: MendLogDir(**_log_dir(value, path, {})),
}
assert tuple(_ACTION_PARSERS) == tuple(name for name in ACTIONS if name in _ACTION_PARSERS)


def _log_dir(
    value: object, path: tuple[str, ...], others: Mapping[str, Callable[[object, tuple[str, ...]], Any]]
) -> dict[str, Any]:
    """Parse a broker alone, or a mapping with a broker, one of its directories and the other values of the action."""
    if not isinstance(value, dict):
        return {"broker": _broker(value, path)}
    given = _mapping(value, path, ("broker", "log_dir", *others))
    if "broker" not in given:
        raise RuleError((*path, "broker"), f"missing; expected {_BROKER_FORMS}")
    parsers = {"broker": _broker, "log_dir": _text, **others}
    return {name: parsers[name](each, (*path, name)) for name, each in given.items()}


def _mutation(value: object, path: tuple[str, ...]) -> Mutation:
    """The field's path and one change; `reframe: false` keeps the lengths and checksums around the field."""
    given = _mapping(value, path, ("path", *_CHANGES, "reframe"))
    changes = [name for name in _CHANGES if name in given]
    if "path" not in given:
        raise RuleError((*path, "path"), "missing; expected a field's path, such as topics[0].name")
    if len(changes) != 1:
        raise RuleError(path, f"expected one of {', '.join(_CHANGES)}, not {' and '.join(changes) or 'none'}")
    field = _text(given["path"], (*path, "path"))
    reframe = _truth(given.get("reframe", True), (*path, "reframe"))
    (change,) = changes
    if change == "value":
        return Mutation.set(field, given[change], reframe=reframe)
    if change == "delete":
        if given[change] is not True:
            raise RuleError((*path, change), f"expected true, not {_shown(given[change])}")
        return Mutation.delete(field, reframe=reframe)
    amount = _whole(given[change], (*path, change), at_least=1)
    if change == "lengthen":
        return Mutation.lengthen(field, by=amount, reframe=reframe)
    if change == "shorten":
        return Mutation.shorten(field, by=amount, reframe=reframe)
    return Mutation.duplicate(field, times=amount, reframe=reframe)


def _slow(value: object, path: tuple[str, ...]) -> dict[str, Any]:
    times = ("append_ms", "sync_ms", "bytes_per_second")
    parsed = _log_dir(value, path, {"append_ms": _not_negative, "sync_ms": _not_negative, "bytes_per_second": _rate})
    if not any(name in parsed for name in times):
        raise RuleError(path, f"expected at least one of {', '.join(times)}")
    return parsed


def _rate(value: object, path: tuple[str, ...]) -> float:
    return _number(value, path, at_least=1)


def _left_bytes(value: object, path: tuple[str, ...]) -> int:
    return _whole(value, path, at_least=0)


def _broker(value: object, path: tuple[str, ...]) -> BrokerRef:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value if isinstance(value, str) else ""
    if text == "self":
        return Self()
    if text == "active controller":
        return ActiveController()
    leader, killed = _LEADER_OF.fullmatch(text), _KILLED_BY.fullmatch(text)
    if leader:
        return LeaderOf(leader["topic"], int(leader["partition"]))
    if killed:
        return KilledBy(killed["rule"])
    raise RuleError(path, f"expected {_BROKER_FORMS}, not {_shown(value)}")


def _api(value: object) -> str:
    text = _text(value, ("select", "api"))
    for key in ApiKey:
        if key.api_name.lower() == text.lower():
            return key.api_name
    check_api(text)
    return text


def _error_code(value: object, path: tuple[str, ...]) -> ErrorCode:
    names = [code.name for code in ErrorCode]
    if isinstance(value, int) and not isinstance(value, bool):
        if value in [int(code) for code in ErrorCode]:
            return ErrorCode(value)
    elif isinstance(value, str) and value.upper() in names:
        return ErrorCode[value.upper()]
    hint = nearest(value.upper(), names) if isinstance(value, str) else ""
    raise RuleError(path, f"expected a Kafka error code by name or number, not {_shown(value)}{hint}")


def _replica(value: object) -> int:
    if value == "any":
        return -1
    path = ("select", "replica")
    if isinstance(value, str):
        raise RuleError(path, f"expected a follower's broker id or 'any', not {_shown(value)}")
    return _whole(value, path, at_least=0)


def _mapping(value: object, path: tuple[str, ...], known: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RuleError(path, f"expected a mapping with {', '.join(known)}, not {_shown(value)}")
    for key in value:
        if key not in known:
            raise RuleError(
                (*path, str(key)), f"unknown key; expected one of {', '.join(known)}{nearest(str(key), known)}"
            )
    return value


def _text(value: object, path: tuple[str, ...]) -> str:
    if not isinstance(value, str) or not value:
        raise RuleError(path, f"expected a text, not {_shown(value)}")
    return value


def _truth(value: object, path: tuple[str, ...]) -> bool:
    if not isinstance(value, bool):
        raise RuleError(path, f"expected true or false, not {_shown(value)}")
    return value


def _number(value: object, path: tuple[str, ...], *, at_least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= at_least:
        raise RuleError(path, f"expected a number of at least {at_least}, not {_shown(value)}")
    return value


def _whole(value: object, path: tuple[str, ...], *, at_least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise RuleError(path, f"expected a whole number of at least {at_least}, not {_shown(value)}")
    return value


def _share(value: object, path: tuple[str, ...]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise RuleError(path, f"expected a share above 0 and up to 1, not {_shown(value)}")
    return value


def _at_least_one(value: object, path: tuple[str, ...]) -> int:
    return _whole(value, path, at_least=1)


def _not_negative(value: object, path: tuple[str, ...]) -> float:
    return _number(value, path, at_least=0)


def _drawable(value: object, path: tuple[str, ...], check: Callable[[object, tuple[str, ...]], float]) -> float | Range:
    """Parse a number, or `[low, high]`: a range to draw from."""
    if not isinstance(value, list):
        return check(value, path)
    if len(value) != 2:
        raise RuleError(path, f"expected a number or [low, high], not {_shown(value)}")
    low, high = (check(item, path) for item in value)
    if low > high:
        raise RuleError(path, f"expected [low, high] with low not above high, not {_shown(value)}")
    return Range(low, high)


def _numbers(value: object, path: tuple[str, ...], *, at_least: int) -> tuple[int, ...]:
    items = value if isinstance(value, list) else [value]
    if not items:
        raise RuleError(path, "empty; expected a number or a list of numbers")
    return tuple(_whole(item, path, at_least=at_least) for item in items)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
