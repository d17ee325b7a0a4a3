from __future__ import annotations

from random import Random
from typing import Any

import pytest

from broker_sim.faults.forms import (
    BROKER,
    Anything,
    Choice,
    ErrorCodeForm,
    Fields,
    ListOf,
    Nothing,
    Number,
    Text,
    Truth,
    Whole,
)
from broker_sim.faults.rule import ActiveController, KilledBy, LeaderOf, OneOf, Range, RuleError, Self
from protocol_specs.error_codes import ErrorCode

PAIR = Fields(
    required=("broker",),
    alone="broker",
    any_of=(("broker", "count"),),
    broker=BROKER,
    count=Whole("how many", 3, at_least=1),
)


@pytest.mark.parametrize(
    ("form", "written", "parsed"),
    [
        (Nothing(), None, None),
        (Text("a name", "x"), "orders", "orders"),
        (Truth("or not"), False, False),
        (Number("a number", 1, at_least=0), 0.5, 0.5),
        (Number("a number", 1, at_least=0), [0, 2.5], Range(0, 2.5)),
        (Whole("a number", 1, at_least=0), [0, 2], Range(0, 2, whole=True)),
        (Whole("a number", 1, at_least=0), {"one_of": [1, 5]}, OneOf((1, 5))),
        (Whole("a number", 1, at_least=0), {"uniform": [0, 2]}, Range(0, 2, whole=True)),
        (Choice("a name", ("a", "b")), "b", "b"),
        (ErrorCodeForm(), "not_leader_or_follower", ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCodeForm(), 6, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (Anything("any", 1), {"a": [1]}, {"a": [1]}),
        (BROKER, 2, 2),
        (BROKER, "leader of a.b-c-0", LeaderOf("a.b-c", 0)),
        (BROKER, "killed by crash", KilledBy("crash")),
        (BROKER, "active controller", ActiveController()),
        (BROKER, "self", Self()),
        (ListOf(Text("a name", "x"), "names"), "a", ("a",)),
        (ListOf(Text("a name", "x"), "names"), ["a", "b"], ("a", "b")),
        (PAIR, 2, {"broker": 2}),
        (PAIR, {"broker": 2, "count": 4}, {"broker": 2, "count": 4}),
    ],
)
def test_a_form_parses_what_is_written(form: Any, written: object, parsed: object) -> None:
    assert form.parse(written, ("act",)) == parsed


@pytest.mark.parametrize(
    ("form", "written", "problem"),
    [
        (Nothing(), 3, "act: takes no value, not 3"),
        (Text("a name", "x"), "", "act: expected a text, not ''"),
        (Truth("or not"), 1, "act: expected true or false, not 1"),
        (Number("", 1, at_least=0, at_most=5), 6, "act: expected a number of at least 0 and up to 5, not 6"),
        (Number("", 1, above=0), 0, "act: expected a number above 0, not 0"),
        (Number("", 1), True, "act: expected a number, not True"),
        (Number("", 1), [3, 1], r"act: expected \[low, high\] with low not above high"),
        (Number("", 1), [3], r"act: expected a number or \[low, high\]"),
        (Number("", 1), {"one_off": [1]}, "one_of"),
        (Number("", 1), {"uniform": 3}, r"act\.uniform: expected \[low, high\], not 3"),
        (Number("", 1), {"uniform": [3, 1]}, r"act\.uniform: expected \[low, high\] with low not above high"),
        (PAIR, [], r"act: expected .*, not \[\]; or a mapping with broker, count"),
        (Number("", 1), {"one_of": ["a"]}, r"act\.one_of: expected a number, not 'a'"),
        (Number("", 1, drawable=False), [1, 2], r"act: expected a number, not \[1, 2\]"),
        (Whole("", 1), 1.5, r"act: expected a whole number, not 1\.5"),
        (Choice("", ("hold", "kill")), "hodl", "act: expected one of hold, kill, not 'hodl'; did you mean 'hold'"),
        (ErrorCodeForm(), 9999, "act: expected a Kafka error code by name or number, not 9999"),
        (BROKER, "leader of orders", "'leader of TOPIC-PARTITION'"),
        (ListOf(Text("a name", "x"), "names"), [], "act: expected at least 1, not"),
        (PAIR, {"count": 1}, r"act\.broker: missing; expected a broker id"),
        (PAIR, {"broker": 1, "cuont": 1}, r"act\.cuont: unknown key; did you mean 'count'\?; expected"),
    ],
)
def test_a_form_names_what_is_wrong(form: Any, written: object, problem: str) -> None:
    with pytest.raises(RuleError, match=problem):
        form.parse(written, ("act",))


def test_numbers_are_drawn_from_what_is_written() -> None:
    random = Random(7)
    assert {Range(1, 3, whole=True).drawn(random) for _ in range(50)} == {1, 2, 3}
    assert all(1 <= Range(1, 3).drawn(random) <= 3 for _ in range(50))
    assert {OneOf((1, 5)).drawn(random) for _ in range(50)} == {1, 5}


def test_a_form_has_a_schema_with_a_description_and_an_example() -> None:
    for form in (Text("a", "x"), Truth("b"), Number("c", 1), Whole("d", 1), Choice("e", ("x",)), BROKER, PAIR):
        assert form.schema["description"]
        assert form.schema["examples"]
    assert PAIR.schema["oneOf"][-1]["required"] == ["broker"]
