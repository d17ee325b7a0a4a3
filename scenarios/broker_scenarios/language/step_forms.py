"""The steps of a script as a file writes them: what each is called, what it takes and what it means.

A step is a word (`flush`) or a key with its value (`{send: {partition: 0, count: 3}}`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.language.kinds import (
    Choice,
    Config,
    Flag,
    Key,
    Keys,
    ListOf,
    Named,
    Nothing,
    Number,
    Text,
    Whole,
    shown,
)
from broker_scenarios.language.steps import (
    Abort,
    Act,
    Assign,
    Begin,
    Close,
    Commit,
    CommitOffsets,
    Copy,
    Crash,
    Exit,
    Flush,
    Init,
    Poll,
    Repeat,
    Resend,
    Restart,
    Seek,
    Send,
    SendOffsets,
    Subscribe,
    Unsubscribe,
    Wait,
)
from broker_scenarios.workloads.values import VALUE_BYTES_MIN
from broker_sim.cluster_input import config_texts
from broker_sim.errors import nearest
from broker_sim.faults.grammar import Event, parse_rule
from broker_sim.faults.rule import RuleError
from broker_sim.faults.rule_schema import RULE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from broker_scenarios.language.kinds import Complain, Kind
    from broker_scenarios.language.steps import Script, Step
    from broker_sim.yaml_source import KeyPath

__all__ = ["SCRIPT", "STEPS", "StepForm", "parse_script"]

_FOREVER_MS: Final = 86_400_000
_IN_CALLBACKS: Final = ("flush", "close")
_RESENT: Final = ("failed", "unknown", "unconfirmed")
_TIME: Final = Number(at_least=0, at_most=_FOREVER_MS)
_HOW_MANY: Final = Whole(at_least=1, at_most=1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepForm:
    """One kind of step: the kind of its value, its meaning, an example, and how a checked value becomes the step.

    `needs` is the part of a client that the step uses: producer, consumer, or none in particular.
    """

    kind: Kind
    meaning: str
    example: object
    make: Callable[[Any], Step]
    needs: str | None = None
    optional_value: bool = False
    """Whether the word alone is enough."""


_WORDS_ELSEWHERE: Final = {
    "consume": "poll",
    "delay": "wait",
    "kill": "crash",
    "pause": "wait",
    "produce": "send",
    "read": "poll",
    "sleep": "wait",
    "write": "send",
}
"""Words of clients and of other tools, and the steps."""


class StepKind:
    """One step of a script."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Refuse unknown steps, and check the value of a known one."""
        if isinstance(value, str):
            form = self._form(value, path, complain)
            if form is not None and not form.optional_value:
                complain(path, f"{value} needs a value, such as {form.example!r}")
            return
        if not isinstance(value, dict) or len(value) != 1:
            complain(path, f"expected one step, such as `flush` or `{{send: 3}}`, not {shown(value)}")
            return
        ((word, given),) = value.items()
        form = self._form(word, (*path, word), complain)
        if form is not None and not (given is None and form.optional_value):
            form.kind.check(given, (*path, word), complain)

    def children(self, value: object) -> Iterator[tuple[str | int | None, Kind, object]]:
        """Return the value of the step with its kind."""
        if isinstance(value, dict):
            yield from ((word, STEPS[word].kind, given) for word, given in value.items() if word in STEPS)

    def schema(self) -> dict[str, Any]:
        """A word, or an object with one step."""
        words = [word for word, form in STEPS.items() if form.optional_value]
        steps = {
            word: Key(
                Choice(kinds=((lambda value: value is None, Nothing()),), otherwise=form.kind)
                if form.optional_value
                else form.kind,
                form.meaning,
                form.example,
            ).schema()
            for word, form in STEPS.items()
        }
        one = {"type": "object", "additionalProperties": False, "minProperties": 1, "maxProperties": 1}
        return {"anyOf": [{"type": "string", "enum": words}, {**one, "properties": steps}]}

    def _form(self, word: str, path: KeyPath, complain: Complain) -> StepForm | None:
        if word not in STEPS:
            known = _WORDS_ELSEWHERE.get(word)
            hint = nearest(word, tuple(STEPS)) if known is None else f"; did you mean {known!r}?"
            complain(path, f"{word!r} is no step{hint}; expected one of {', '.join(STEPS)}")
        return STEPS.get(word)


class ScriptKind(ListOf):
    """A list of steps. Its schema refers to the one definition of a script: a script may hold scripts."""

    def __init__(self) -> None:
        super().__init__(value=StepKind())

    def schema(self) -> dict[str, Any]:
        """A reference to the definition."""
        return {"$ref": "#/$defs/script"}

    def definition(self) -> dict[str, Any]:
        """An array of steps."""
        return super().schema()


SCRIPT: Final = ScriptKind()


def parse_script(value: list[Any]) -> Script:
    """Return the steps of a checked script."""
    steps: list[Step] = []
    for item in value:
        word, given = (item, None) if isinstance(item, str) else next(iter(item.items()))
        steps.append(STEPS[word].make(given))
    return tuple(steps)


def _is(*kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind) and not isinstance(value, bool)


def _short(short: Kind, keys: Keys) -> Choice:
    """A number as the short form of a mapping."""
    return Choice(kinds=((_is(int, float), short),), otherwise=keys)


def _keyed(make: Callable[..., Step]) -> Callable[[Any], Step]:
    """Make the step from its mapping, or from the word alone."""
    return lambda value: make(**(value or {}))


def _bare(make: Callable[[], Step], meaning: str, *, needs: str | None = None) -> StepForm:
    """A step that is a word alone."""
    return StepForm(
        kind=Nothing(), meaning=meaning, example=None, make=lambda _: make(), needs=needs, optional_value=True
    )


def _restart(value: Any) -> Restart:
    given = {} if value is None else value
    return Restart(outbox=given.get("outbox", False), config=config_texts(given.get("producer", {})))


def _wait(value: Any) -> Wait:
    given = {"ms": value} if not isinstance(value, dict) else dict(value)
    if "event" in given:
        given["event"] = _EVENT.parse(given["event"], ())
    return Wait(**given)


def _send(value: Any) -> Send:
    given = {"count": value} if not isinstance(value, dict) else dict(value)
    if "key" in given:
        given["key"] = str(given["key"])
    if given.get("partition") == _EACH:
        del given["partition"]
        given["each_partition"] = True
    return Send(**given)


def _copy(value: dict[str, Any]) -> Copy:
    return Copy(**{**value, "abort": tuple(value.get("abort", ()))})


def _assign(value: Any) -> Assign:
    if isinstance(value, list):
        return Assign(dict.fromkeys(value, ()))
    return Assign({topic: () if given == "all" else tuple(given) for topic, given in value.items()})


def _poll(value: Any) -> Poll:
    given = {"records": value} if not isinstance(value, dict) else dict(value)
    return Poll(to_end=given.pop("until", None) == "end", **given)


def _repeat(value: dict[str, Any]) -> Repeat:
    return Repeat(times=value["times"], every_ms=value.get("every_ms", 0), steps=parse_script(value["steps"]))


class _ActKind:
    """An action of a rule."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Check by the grammar of rules."""
        try:
            rule = parse_rule({"name": "step", "act": value})
        except RuleError as error:
            complain((*path, *error.path[1:]), error.problem)
            return
        if not rule.act.on_cluster:
            complain(path, f"{rule.act.name} acts on a request: expected an action on the cluster, such as kill")

    def schema(self) -> dict[str, Any]:
        """The grammar's schema."""
        act: dict[str, Any] = RULE_SCHEMA["properties"]["act"]
        return act


class _EventKind:
    """An event of the journal, as the gates of rules name it."""

    def check(self, value: object, path: KeyPath, complain: Complain) -> None:
        """Check by the grammar of rules."""
        try:
            _EVENT.parse(value, ())
        except RuleError as error:
            complain((*path, *error.path), error.problem)

    def schema(self) -> dict[str, Any]:
        """The grammar's schema."""
        return dict(_EVENT.schema)


_EVENT: Final = Event("an event of the journal")
_PARTITIONS: Final = ListOf(value=Whole(at_least=0, at_most=9_999))
_EACH: Final = "each"
_TOPIC: Final = Key(Text(), "the topic, the first one of the file when not given", "orders")
_TIMEOUT: Final = Key(_TIME, "how long the step may take, in milliseconds", 5_000)
_POSITION: Final = Choice(
    kinds=((_is(int), Whole(at_least=0, at_most=2**63 - 1)),), otherwise=Text(one_of=("beginning", "end", "committed"))
)

STEPS: Final[Mapping[str, StepForm]] = {
    "send": StepForm(
        kind=_short(
            _HOW_MANY,
            Keys(
                keys={
                    "topic": _TOPIC,
                    "partition": Key(
                        Choice(kinds=((_is(str), Text(one_of=(_EACH,))),), otherwise=Whole(at_least=0, at_most=9_999)),
                        "the partition, the partitioner's choice when not given; `each` sends `count` records to each "
                        "partition in turn",
                        0,
                    ),
                    "key": Key(
                        Choice(kinds=((_is(int), Whole(at_least=0, at_most=2**63 - 1)),), otherwise=Text()),
                        "the key of the records, none when not given",
                        "customer-7",
                    ),
                    "count": Key(_HOW_MANY, "how many records, 1 when not given", 3),
                    "size_bytes": Key(
                        Whole(at_least=VALUE_BYTES_MIN, at_most=16_777_216), "the size of each value, in bytes", 100
                    ),
                    "timestamp_ms": Key(
                        Whole(at_least=0, at_most=2**63 - 1),
                        "the timestamp of the records, the time of the send when not given",
                        1_700_000_000_000,
                    ),
                    "headers": Key(Named(value=Text(), what="headers"), "headers by name", {"source": "test"}),
                    "every_ms": Key(_TIME, "the time between two records, in milliseconds", 10),
                    "wait": Key(Flag(), "whether to wait for the outcome of each record before the next", True),
                    "on_delivery": Key(
                        Text(one_of=_IN_CALLBACKS),
                        "what the application calls in the delivery callback of each record",
                        "flush",
                    ),
                }
            ),
        ),
        meaning="give the producer records; a number alone is how many",
        example={"topic": "orders", "partition": 0, "count": 3},
        make=_send,
        needs="producer",
    ),
    "flush": StepForm(
        kind=Keys(keys={"timeout_ms": _TIMEOUT}),
        meaning="wait until every accepted record has an outcome",
        example={"timeout_ms": 5_000},
        make=_keyed(Flush),
        needs="producer",
        optional_value=True,
    ),
    "close": StepForm(
        kind=Keys(keys={"timeout_ms": _TIMEOUT}),
        meaning="close the client in order; with timeout_ms: 0 what is not sent fails, and what waits for metadata",
        example={"timeout_ms": 0},
        make=_keyed(Close),
        optional_value=True,
    ),
    "exit": _bare(Exit, "end the program without flush or close"),
    "crash": _bare(Crash, "kill the process"),
    "restart": StepForm(
        kind=Keys(
            keys={
                "outbox": Key(Flag(), "whether records without an acknowledgement are sent again first", True),
                "producer": Key(
                    Config(),
                    "producer configurations that differ from now on",
                    {"acks": "all"},
                ),
            }
        ),
        meaning="start a new process of this client",
        example={"outbox": True},
        make=_restart,
        optional_value=True,
    ),
    "resend": StepForm(
        kind=Text(one_of=_RESENT),
        meaning="the application sends records again: those that failed, whose outcome is unknown, or both",
        example="unconfirmed",
        make=Resend,
        needs="producer",
    ),
    "wait": StepForm(
        kind=_short(
            _TIME,
            Keys(
                keys={
                    "ms": Key(_TIME, "a time, in milliseconds", 500),
                    "rule": Key(Text(), "a rule that must have fired", "crash"),
                    "fired": Key(_HOW_MANY, "how often the rule must have fired, 1 when not given", 2),
                    "acked": Key(_HOW_MANY, "how many records of the run must be acknowledged", 100),
                    "event": Key(
                        _EventKind(),
                        "an event of the journal: its kind, and the values of its fields",
                        {"kind": "LeaderElected", "topic": "orders"},
                    ),
                    "client": Key(Text(), "a client whose script must have ended", "writer"),
                    "healed": Key(
                        Flag(),
                        "true: each rule that acts on the cluster or has an `until` is over, every broker runs and "
                        "every replica is in sync",
                        True,
                    ),
                    "timeout_ms": Key(_TIME, "how long to wait at most, in milliseconds", 60_000),
                }
            ),
        ),
        meaning="wait for all that is given; a number alone is a time in milliseconds",
        example={"rule": "crash"},
        make=_wait,
    ),
    "init": _bare(Init, "InitTransactions: fence older producers with this transactional.id", needs="producer"),
    "begin": _bare(Begin, "begin a transaction", needs="producer"),
    "commit": StepForm(
        kind=Keys(keys={"or_abort": Key(Flag(), "whether an abort follows a commit that fails", True)}),
        meaning="commit the transaction",
        example={"or_abort": True},
        make=_keyed(Commit),
        needs="producer",
        optional_value=True,
    ),
    "abort": _bare(Abort, "abort the transaction", needs="producer"),
    "send_offsets": StepForm(
        kind=Keys(keys={"by_group_id": Key(Flag(), "whether to name the group alone, not its member", True)}),
        meaning="send the consumer's positions to the transaction",
        example={"by_group_id": True},
        make=_keyed(SendOffsets),
        needs="consumer",
        optional_value=True,
    ),
    "assign": StepForm(
        kind=Choice(
            kinds=((_is(list), ListOf(value=Text())),),
            otherwise=Named(
                value=Choice(kinds=((_is(list), _PARTITIONS),), otherwise=Text(one_of=("all",))), what="topics"
            ),
        ),
        meaning="read these partitions, by topic; a list of topics alone is all their partitions",
        example={"orders": [0, 1]},
        make=_assign,
        needs="consumer",
    ),
    "subscribe": StepForm(
        kind=ListOf(value=Text()),
        meaning="have the group assign partitions of these topics",
        example=["orders"],
        make=lambda value: Subscribe(tuple(value)),
        needs="consumer",
    ),
    "unsubscribe": _bare(Unsubscribe, "give up all partitions and leave the group", needs="consumer"),
    "seek": StepForm(
        kind=Named(value=_POSITION, what="partitions"),
        meaning="go on at other offsets, by partition",
        example={"orders-0": "beginning"},
        make=Seek,
        needs="consumer",
    ),
    "poll": StepForm(
        kind=_short(
            _HOW_MANY,
            Keys(
                keys={
                    "records": Key(_HOW_MANY, "poll until so many records have come", 10),
                    "until": Key(Text(one_of=("end",)), "poll up to the end of the log as it is now", "end"),
                    "timeout_ms": Key(
                        _TIME,
                        "how long to poll at most, in milliseconds (default 10000); the script then goes on",
                        5_000,
                    ),
                    "work_ms": Key(_TIME, "how long the application works on what a poll has brought", 100),
                }
            ),
        ),
        meaning="poll records; a number alone is how many must come",
        example={"until": "end"},
        make=_poll,
        needs="consumer",
    ),
    "commit_offsets": StepForm(
        kind=Keys(keys={"asynchronous": Key(Flag(), "whether not to wait for the response", True)}),
        meaning="commit the consumer's positions",
        example={"asynchronous": True},
        make=_keyed(CommitOffsets),
        needs="consumer",
        optional_value=True,
    ),
    "copy": StepForm(
        kind=Keys(
            keys={
                "to": Key(Text(), "the topic to write to", "out"),
                "records": Key(_HOW_MANY, "how many records to copy", 20),
                "at_most": Key(_HOW_MANY, "the most records of one transaction", 5),
                "work_ms": Key(_TIME, "the time between the records of a transaction and its end", 100),
                "abort": Key(ListOf(value=_HOW_MANY), "the transactions that the application aborts, from 1", [2]),
                "rewind": Key(
                    Flag(),
                    "whether an abort takes the consumer back to its committed offsets, or the next records follow",
                    False,
                ),
                "by_group_id": Key(Flag(), "whether to name the group alone, not its member", True),
                "offsets": Key(
                    Text(one_of=("transaction", "consumer")),
                    "whether offsets are committed in the transaction, or by the consumer after it",
                    "consumer",
                ),
                "timeout_ms": Key(_TIME, "how long the step may take, in milliseconds", 60_000),
            },
            required=("to", "records"),
        ),
        meaning="consume, transform and produce in transactions",
        example={"to": "out", "records": 20},
        make=_copy,
        needs="producer",
    ),
    "act": StepForm(
        kind=_ActKind(),
        meaning="do to the cluster what a rule's act does, now",
        example={"kill": "leader of orders-0"},
        make=Act,
    ),
    "repeat": StepForm(
        kind=Keys(
            keys={
                "times": Key(_HOW_MANY, "how often", 3),
                "steps": Key(SCRIPT, "what is repeated", [{"send": 1}, "flush"]),
                "every_ms": Key(_TIME, "the time between two beginnings at least, in milliseconds", 100),
            },
            required=("times", "steps"),
        ),
        meaning="play steps several times",
        example={"times": 3, "steps": [{"send": 1}, "flush"]},
        make=_repeat,
    ),
}
"""Every step by its word."""
