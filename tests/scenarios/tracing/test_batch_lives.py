from __future__ import annotations

import re

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.tracing.batch_lives import batch_named, batches_of, lives_of, partition_named, record_named
from broker_scenarios.tracing.broker_side import BrokerSide
from tests.scenarios.tracing.traced_batches import batch, event, journal_of

TWO_PRODUCERS = [
    *batch(0, offset=60),
    *batch(1, at_ms=10, offset=63),
    *batch(0, at_ms=3, offset=5, client_id="q", partition=0),
]


def test_batches_are_identified_by_producer_and_number() -> None:
    lives = lives_of(TWO_PRODUCERS)
    assert [(life.name, life.key, life.base_offset) for life in lives] == [
        ("p:0", "orders-2", 60),
        ("q:0", "orders-0", 5),
        ("p:1", "orders-2", 63),
    ]
    assert {(life.took_us, life.attempts, life.outcome) for life in lives} == {(7_000, 1, "acknowledged")}


def test_a_producer_that_comes_again_under_its_name_is_another() -> None:
    lives = lives_of([*batch(0), *batch(0, at_ms=100), *batch(0, at_ms=200)])
    assert [life.name for life in lives] == ["p:0", "p#2:0", "p#3:0"]
    assert [len(life.events) for life in lives] == [8, 8, 8]


def test_what_began_before_the_trace_has_no_life() -> None:
    assert lives_of(batch(0)[1:]) == []


def test_a_batch_that_has_not_ended_is_open() -> None:
    (life,) = lives_of(batch(0)[:-2])
    assert (life.outcome, life.took_us, life.base_offset) == ("open", -1, -1)


def test_the_journal_has_offsets_that_the_producer_does_not_know() -> None:
    (life,) = lives_of(batch(0), BrokerSide(journal_of()))
    assert (life.base_offset, life.stored_offset) == (60, 60)
    (other,) = lives_of(batch(0, correlation_id=8), BrokerSide(journal_of()))
    assert other.base_offset == -1


def test_of_two_requests_with_one_number_a_batch_has_its_own() -> None:
    late = [(number + 10, each) for number, each in journal_of(at_ms=105.5, offset=90)]
    lives = lives_of([*batch(0), *batch(0, at_ms=100)], BrokerSide([*journal_of(), *late]))
    requests = [BrokerSide([*journal_of(), *late]).request_of(life.events[4]) for life in lives]
    assert [request[0] for request in requests if request is not None] == [1, 11]


def test_a_number_names_a_batch_when_one_producer_has_it() -> None:
    lives = lives_of(TWO_PRODUCERS)
    assert batch_named(lives, "1").name == "p:1"
    assert batch_named(lives, "q:0").name == "q:0"
    assert [life.name for life in batches_of(lives, "q")] == ["q:0"]


def test_a_record_is_found_by_its_offset() -> None:
    life, index = record_named(lives_of(TWO_PRODUCERS), "orders-2@64")
    assert (life.name, index) == ("p:1", 1)


def test_a_record_of_a_split_batch_is_found_in_its_part() -> None:
    whole = [*batch(0)[:-2], event("split", 7, 0, error="MESSAGE_TOO_LARGE")]
    parts = [
        event("created", 7, 1, part_of=0, records=2),
        event("created", 7, 2, part_of=0, first_record=2, records=1),
        event("acknowledged", 9, 1, base_offset=4, records=2),
        event("acknowledged", 9, 2, base_offset=6, records=1),
    ]
    lives = lives_of([*whole, *parts])
    life, index = record_named(lives, "orders-2@6")
    assert (life.number, index) == (2, 0)
    assert life.parent is lives[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0", "--batch 0: 2 producers have a batch 0: expected p:0 or q:0"),
        ("9", "--batch 9: there is no such batch: p has 0 to 1, q has 0 to 0"),
        ("p:9", "--batch p:9: there is no such batch: p has 0 to 1"),
        ("r:9", "no producer is 'r' (--producer) (there are p, q)"),
        ("first", "--batch 'first': expected NUMBER or PRODUCER:NUMBER, as --list prints it"),
    ],
)
def test_a_batch_that_is_not_there_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=f"^{re.escape(problem)}$"):
        batch_named(lives_of(TWO_PRODUCERS), text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "orders-2@99",
            "no batch of orders-2 has offset 99 (--record); nearest are 60 to 62 in batch p:0, 63 to 65 in batch p:1",
        ),
        (
            "orders-2@7",
            "no batch of orders-2 has offset 7 (--record); nearest are 60 to 62 in batch p:0, 63 to 65 in batch p:1",
        ),
        ("order-2@60", "no batch is for 'order-2' (--record); did you mean 'orders-2'? (there are orders-0, orders-2)"),
        ("orders-2", "'orders-2' is no record (--record): expected TOPIC-PARTITION@OFFSET, as in orders-2@61"),
        ("orders-2@x", "'orders-2@x' is no record (--record): expected TOPIC-PARTITION@OFFSET, as in orders-2@61"),
    ],
)
def test_a_record_that_is_not_there_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=f"^{re.escape(problem)}$"):
        record_named(lives_of(TWO_PRODUCERS), text)


def test_an_offset_that_was_given_twice_names_both_batches() -> None:
    with pytest.raises(ScenarioError, match=r"offset 61 of orders-2 was given more than once .*: p:0, p:1$"):
        record_named(lives_of([*batch(0, offset=60), *batch(1, offset=61)]), "orders-2@61")


def test_without_offsets_no_record_can_be_named() -> None:
    with pytest.raises(ScenarioError, match=r"the offsets of orders-2 are not known \(--record\), as with acks=0"):
        record_named(lives_of(batch(0)), "orders-2@61")


def test_a_partition_that_is_not_there_names_some_that_are() -> None:
    many = [each for number in range(12) for each in batch(number, partition=number)]
    with pytest.raises(ScenarioError, match=r"'returns-0' \(--partition\).* \(there are .*, orders-5 and 4 more\)$"):
        partition_named(lives_of(many), "returns-0")
