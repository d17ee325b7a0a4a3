"""The keys of a scenario file, declared once: checked with line numbers, and published as a JSON schema for editors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.expectations import COUNT_HELP, EXPECTABLE
from broker_scenarios.invariants import INVARIANTS
from broker_scenarios.language.certificates import CERTIFICATES
from broker_scenarios.language.clients import CLIENT, LOAD
from broker_scenarios.language.draws import CHANCE, CHANCE_MEANING, DRAW_SCHEMA, without_chance
from broker_scenarios.language.kinds import (
    Config,
    Count,
    CountsByName,
    Flag,
    Key,
    Keys,
    ListOf,
    Named,
    Number,
    Text,
    Whole,
    shown,
)
from broker_scenarios.language.step_forms import SCRIPT
from broker_scenarios.measures import MEASURES
from broker_scenarios.measures.measure import SELECT_KEYS
from broker_scenarios.verdict import Validity
from broker_sim.errors import nearest
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.rule import RuleError
from broker_sim.faults.rule_schema import RULE_SCHEMA
from broker_sim.topic_spec import PARTITIONS_MAX
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_scenarios.language.kinds import Complain
    from broker_sim.yaml_source import KeyPath

__all__ = ["DISKS", "FLIP", "SCENARIO", "MeasureKind", "json_schema"]

DISKS: Final = ("memory", "virtual")
_TOPIC_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_ERROR_NAMES: Final = tuple(code.name for code in ErrorCode if code != 0)
_CLIENT_ERROR_NAMES: Final = ("ProducerClosed", "TransactionAborted", "UnknownEnd")
"""Errors of sends that no broker has a code for."""
_ANY_ERROR: Final = "the name of an error, such as NOT_LEADER_OR_FOLLOWER"
_ANY_OUTCOME: Final = f"ok, fail, info, open, or {_ANY_ERROR}"
_EXCEPTIONS: Final = {code.exception: code.name for code in ErrorCode if code.exception}
"""The errors by the names of Java's exceptions, in which many bug reports name them."""


_CHANCE: Final = Number(at_least=0, at_most=1, draws=False)


@dataclass(frozen=True, slots=True)
class RuleKind:
    """A fault rule; its name is its key."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Check the value by the grammar of the fault engine."""
        if not isinstance(value, dict):
            complain(path, f"expected a rule, not {shown(value)}")
            return
        if "name" in value:
            complain((*path, "name"), "a rule's name is its key")
            return
        if CHANCE in value:
            _CHANCE.check(value[CHANCE], (*path, CHANCE), complain)
        try:
            parse_rule({**without_chance(value), "name": str(path[-1])})
        except RuleError as error:
            complain((*path, *error.path), error.problem)

    def schema(self) -> dict[str, Any]:
        """The grammar's schema, and the chance."""
        chance = {**_CHANCE.schema(), "description": CHANCE_MEANING, "examples": [0.3]}
        return {**RULE_SCHEMA, "properties": {**RULE_SCHEMA["properties"], CHANCE: chance}}


_TOPIC: Final = Keys(
    keys={
        "partitions": Key(Whole(at_least=1, at_most=PARTITIONS_MAX), "how many partitions", 3),
        "replication_factor": Key(Whole(at_least=1, at_most=100), "how many replicas each partition has", 3),
        "config": Key(Config(), "topic configurations under Kafka's names", {"min.insync.replicas": 2}),
    },
    required=("partitions", "replication_factor"),
)
_CLUSTER: Final = Keys(
    keys={
        "brokers": Key(Whole(at_least=1, at_most=100), "how many brokers", 3),
        "controllers": Key(
            Whole(at_least=1, at_most=9), "how many controllers; one never fails, and is 1 when not given", 3
        ),
        "config": Key(
            Config(),
            "broker configurations under Kafka's names; `2:broker.rack` is broker 2's alone",
            {"num.io.threads": 8},
        ),
        "features": Key(
            Named(value=Whole(at_least=0, at_most=100), what="features"),
            "levels of features that differ from those of a new cluster of the release, as `kafka-storage format "
            "--feature` sets them",
            {"transaction.version": 1},
        ),
        "certificates": Key(
            CERTIFICATES,
            "certificates that the run makes, by name; a configuration refers to the PEM of one by "
            "`${certificates:NAME:key}`, `:chain` and `:authority`",
            {"broker": {"valid_until_s": 20}},
        ),
        "disk": Key(
            Text(one_of=DISKS, draws=True),
            "where logs are: `memory`, or `virtual`, a disk that loses power, fails, fills and is slow",
            "virtual",
        ),
        "defects": Key(
            ListOf(value=Text()), "documented bugs of brokers; `2:NAME` is broker 2's alone", ["dedup-returns-45"]
        ),
    },
    required=("brokers",),
)


class MeasureKind:
    """One expectation of a measure."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Check the measure, and the keys that it selects by."""
        if not isinstance(value, dict):
            complain(path, f"expected a mapping with measure and is, not {shown(value)}")
            return
        name = str(value.get("measure"))
        if name not in MEASURES:
            hint = nearest(name, MEASURES)
            complain((*path, "measure"), f"{shown(name)} is no measure{hint}; expected one of {', '.join(MEASURES)}")
            return
        measure = MEASURES[name]
        keys = {key: _SELECT[key] for key in measure.keys}
        Keys(keys={**_MEASURE, **keys}, required=("measure", *measure.required, "is")).check(value, path, complain)

    def schema(self) -> dict[str, Any]:
        """An object with the measure, what it selects, and what it must be."""
        return Keys(keys={**_MEASURE, **_SELECT}).schema()

    @staticmethod
    def select_keys() -> list[tuple[str, str, object]]:
        """Return name, meaning and example of each key that a measure may select by."""
        return [(name, key.meaning, key.example) for name, key in _SELECT.items()]


_MEASURE: Final = {
    "measure": Key(Text(one_of=tuple(MEASURES)), "what is measured", "requests"),
    "is": Key(Count(), "what the measure must be, rounded to a whole number", "<= 20"),
}
_CALLS: Final = ("assign", "begin", "close", "commit", "flush", "init", "poll", "subscribe", "txn")
"""The operations of clients that take time, by their names in the history; sends have measures of their own."""
_SELECT: Final = {
    "api": Key(Text(one_of=tuple(key.api_name for key in ApiKey)), SELECT_KEYS["api"], "Produce"),
    "client": Key(Text(), SELECT_KEYS["client"], "app"),
    "broker": Key(Whole(at_least=1, at_most=1_000_000, draws=False), SELECT_KEYS["broker"], 1),
    "topic": Key(Text(), SELECT_KEYS["topic"], "orders"),
    "partition": Key(Whole(at_least=0, at_most=9_999, draws=False), SELECT_KEYS["partition"], 0),
    "call": Key(Text(one_of=_CALLS), SELECT_KEYS["call"], "close"),
    "error": Key(Text(one_of=_ERROR_NAMES), SELECT_KEYS["error"], "FENCED_MEMBER_EPOCH"),
    "metric": Key(Text(), SELECT_KEYS["metric"], "ProducerIdCount"),
    "from_ms": Key(Number(at_least=0, at_most=86_400_000, draws=False), SELECT_KEYS["from_ms"], 500),
}

_TIME: Final = Number(at_least=0, at_most=86_400_000, draws=False)
_OUTCOME: Final = CountsByName(
    names=("ok", "fail", "info", "open", *_ERROR_NAMES, *_CLIENT_ERROR_NAMES),
    expected=_ANY_OUTCOME,
    aliases=_EXCEPTIONS,
)
_EXPECT: Final = Keys(
    keys={
        "verdict": Key(
            Text(one_of=(*(v.value for v in Validity), "any")),
            "the verdict, valid when not given: `broken` if a finding breaks what the configurations promise, "
            "`unknown` if something could not be judged; what they permit is counted, and the verdict is `valid`",
            "broken",
        ),
        "errors": Key(
            CountsByName(
                names=tuple(code.name for code in ErrorCode if code > 0), expected=_ANY_ERROR, aliases=_EXCEPTIONS
            ),
            "how many batches the brokers refuse with an error, by its name; the errors of rules are not counted",
            {"NOT_ENOUGH_REPLICAS": ">= 1"},
        ),
        "outcome": Key(
            _OUTCOME,
            "how many sends end with ok, fail (certainly not stored) or info (outcome unknown), are still open at the "
            "end, or end with an error, by its name",
            {"ok": 3, "REQUEST_TIMED_OUT": 1},
        ),
        "transactions": Key(_OUTCOME, "the same of the transactions that clients begin", {"ok": 2, "fail": 1}),
        "calls": Key(
            CountsByName(names=_ERROR_NAMES, expected=_ANY_ERROR, aliases=_EXCEPTIONS),
            "how many other calls of clients (poll, commit of offsets, ...) end with an error, by its name",
            {"REBALANCE_IN_PROGRESS": 0},
        ),
        "measures": Key(
            Named(value=MeasureKind(), what="measures"),
            "figures of the run by names of your own: what is measured, of which part, and what it must be",
            {"metadata storm": {"measure": "requests_in_a_second", "api": "Metadata", "is": "<= 20"}},
        ),
        "live_within_ms": Key(
            Number(at_least=0, at_most=86_400_000, draws=False),
            "within what time after the last fault each partition acknowledges a record, in milliseconds; as "
            "the claim liveness.deadline.ms it is a finding",
            5_000,
        ),
        **{name: Key(Count(), COUNT_HELP[name], ">= 1") for name in EXPECTABLE},
    }
)


_CLAIMS: Final = Keys(
    keys={
        "exactly-once": Key(Flag(), "whether a group consumes each record once", True),
        "key-order": Key(Flag(), "whether the records of one key are read in the order of their sends", True),
        "max.realtime-lag.ms": Key(_TIME, "how far a poll may lag behind what is known, in milliseconds", 1_000),
        "liveness.deadline.ms": Key(
            _TIME,
            "within what time after the last fault each partition with sends acknowledges a record, in milliseconds",
            5_000,
        ),
    }
)


def _parts() -> dict[str, Key]:
    """The keys that a flip may state as well."""
    return {
        "release": Key(Text(draws=True), "the Kafka release that the brokers emulate", "4.3.1"),
        "cluster": Key(_CLUSTER, "the cluster", {"brokers": 3}),
        "topics": Key(
            Named(value=_TOPIC, what="topics", name=_TOPIC_NAME),
            "the topics, by name",
            {"orders": {"partitions": 3, "replication_factor": 3}},
        ),
        "clients": Key(
            Named(value=CLIENT, what="clients", name=re.compile(r"[A-Za-z0-9._-]{1,100}")),
            "the clients, by name",
            {"app": {"producer": {"acks": "all"}, "script": [{"send": 3}, "flush", "close"]}},
        ),
        "load": Key(
            LOAD,
            "what is sent: the short form of a client with a load",
            {
                "records": 1_000,
                "producers": 2,
                "rate_per_second": 500,
            },
        ),
        "producer": Key(Config(), "the configurations of the producers of `load`", {"acks": 1}),
        "rules": Key(
            Named(value=RuleKind(), what="fault rules"),
            "the faults, by name",
            {"crash": {"when": {"acked_share": 0.4}, "act": {"kill": "leader of orders-0"}}},
        ),
        "always": Key(
            ListOf(value=Text(one_of=tuple(INVARIANTS))),
            "invariants that are checked at each journal event that concerns them; a broken one is a finding, which "
            "names the event",
            ["high-watermark-within-isr", "one-leader-per-epoch"],
        ),
        "only_simulated": Key(
            Text(),
            "why no real cluster shows the finding behind a proxy: a run on one is refused with this reason",
            "the rule holds the broker's own threads",
        ),
        "only_virtual": Key(
            Text(),
            "why the finding needs virtual time: a run on sockets is refused with this reason",
            "the batch is as large as the buffers of a simulated connection",
        ),
        "claims": Key(_CLAIMS, "what is claimed of the run beside its configurations", {"exactly-once": True}),
        "expect": Key(_EXPECT, "how the run must end", {"verdict": "valid", "lost": 0}),
        "deadline_s": Key(Number(at_least=1, at_most=86_400), "when the run is given up, in seconds", 60),
    }


FLIP: Final = Keys(
    keys={
        "why": Key(Text(), "why the finding is gone, in a line", "the broker knows the sequence"),
        **_parts(),
    },
    required=("why", "expect"),
)

SCENARIO: Final = Keys(
    keys={
        "title": Key(Text(), "what the scenario shows, in a line", "A lost response is a second copy"),
        "claim": Key(Text(), "what is claimed, and why, in a few sentences", "The broker appends the batch ..."),
        "base": Key(
            Text(),
            "another scenario file: this file states only the differences. null takes a key away",
            "leader-crash-acks-1.yaml",
        ),
        "seed": Key(
            Whole(at_least=0, at_most=2**63 - 1, draws=False), "the seed of the run when the command line gives none", 7
        ),
        **_parts(),
        "flip": Key(
            FLIP,
            "the second run, on the same seed: what it changes, and how it must end. null takes a key away",
            {"why": "idempotence", "producer": {"enable.idempotence": True}, "expect": {"duplicate": 0}},
        ),
    },
    required=("title", "cluster", "topics", "expect"),
)


def json_schema() -> dict[str, Any]:
    """The JSON schema of scenario files, for editors and other tools."""
    whole = SCENARIO.schema()
    whole["properties"]["flip"] = _with_nulls(whole["properties"]["flip"])
    # A file is laid over its base as a flip is laid over its file.
    parts = {name: {"$ref": f"#/else/properties/flip/properties/{name}"} for name in _parts()}
    laid = {**whole["properties"], **parts, "flip": {"$ref": "#/else/properties/flip"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "broker-sim scenario",
        "description": "One claim about a Kafka cluster under faults: topology, load, faults and what must come of it.",
        "if": {"required": ["base"]},
        "then": {**whole, "properties": laid},
        "else": whole,
        "$defs": {"draw": DRAW_SCHEMA, "script": SCRIPT.definition()},
    }


def _with_nulls(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a mapping that is laid over another: null takes a key away."""
    laid: dict[str, Any] = dict(schema)
    if "properties" in schema:
        laid["properties"] = {name: _or_null(value) for name, value in schema["properties"].items()}
    if isinstance(schema.get("additionalProperties"), dict):
        laid["additionalProperties"] = _or_null(schema["additionalProperties"])
    return laid


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [{"type": "null"}, _with_nulls(schema)]}
