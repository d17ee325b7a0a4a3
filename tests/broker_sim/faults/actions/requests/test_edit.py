"""The action `edit`: its written form, and the response that a client receives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.handler_result import NoResponse
from broker_sim.faults.actions.requests.edit import Edit
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import Phase
from broker_sim.faults.rule import RuleError
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.fuzzing import Mutation
from protocol_specs.messages.api_versions import ApiVersionsRequest

if TYPE_CHECKING:
    from collections.abc import Callable


def edit(*edits: Any, **rule: Any) -> dict[str, Any]:
    return {"name": "edit", "act": {"edit": list(edits)}, **rule}


@pytest.mark.parametrize(
    ("written", "mutation"),
    [
        ({"set": "a", "to": None}, Mutation.set("a", None, reframe=True)),
        ({"set": "a", "to": [1, 2], "reframe": False}, Mutation.set("a", [1, 2], reframe=False)),
        ({"lengthen": "a", "by": 3}, Mutation.lengthen("a", by=3, reframe=True)),
        ({"shorten": "a"}, Mutation.shorten("a", by=1, reframe=True)),
        ({"duplicate": "a", "times": 2}, Mutation.duplicate("a", times=2, reframe=True)),
        ({"append": "a", "value": {"b": 1}}, Mutation.append("a", {"b": 1}, reframe=True)),
        ({"reverse": "a"}, Mutation.reverse("a", reframe=True)),
        ({"delete": "a"}, Mutation.delete("a", reframe=True)),
    ],
)
def test_every_change_has_a_written_form(written: dict[str, Any], mutation: Mutation) -> None:
    rule = parse_rule({"act": {"edit": written}})
    assert (rule.act, rule.phase) == (Edit((mutation,)), Phase.BEFORE_RESPONSE)


@pytest.mark.parametrize(
    ("written", "path", "problem"),
    [
        ({"to": 1}, ("act", "edit"), "one of set, delete, duplicate, append, reverse, lengthen, shorten, not none"),
        ({"set": "a", "to": 1, "delete": "b"}, ("act", "edit"), "not set and delete"),
        ({"set": "a"}, ("act", "edit", "to"), "missing"),
        ({"delete": "a", "to": 1}, ("act", "edit", "to"), "delete does not have it"),
        ({"lengthen": "a", "by": 0}, ("act", "edit", "by"), "at least 1"),
        ({"sett": "a"}, ("act", "edit", "sett"), "did you mean 'set'?"),
        ({"set": "a", "to": 1, "reframe": 1}, ("act", "edit", "reframe"), "true or false"),
    ],
)
def test_a_mistake_is_named_with_its_path(written: dict[str, Any], path: tuple[str, ...], problem: str) -> None:
    with pytest.raises(RuleError) as raised:
        parse_rule({"act": {"edit": written}})
    assert raised.value.path == path
    assert problem in raised.value.problem


def test_only_whole_requests_and_responses_are_edited() -> None:
    with pytest.raises(RuleError, match="phase: edit fires in before_response, before_parse, not in mid_response"):
        parse_rule(edit({"set": "a", "to": 1}, phase="mid_response"))


def test_messages_between_brokers_are_edited(replicas: Callable[..., Any]) -> None:
    made = replicas()
    select = {"api": "Fetch", "replica": 2}
    error = {"set": "responses[*].partitions[*].error_code", "to": 6}
    made.cluster.faults.add(parse_rule(edit(error, select=select, times=1)))
    made.produce(1)
    made.settle()
    (report,) = made.cluster.faults.reports()
    assert (report.fired, report.problem) == (1, None)
    assert made.values(2) == [1]

    wrong = {"set": "topics[0].partitions[0].fetch_ofset", "to": 6}
    made.cluster.faults.add(parse_rule({**edit(wrong, select=select, phase="before_parse"), "name": "wrong"}))
    made.produce(2)
    made.settle()
    assert "did you mean fetch_offset?" in made.cluster.faults.reports()[1].problem


def call(replicas: Any, version: int = 0) -> Any:
    """Return the result of an ApiVersions request by reference."""
    request = PlainCalls(replicas.cluster.broker(1)).call(ApiVersionsRequest(), version)
    return replicas.world.run_until(request, deadline_ms=5_000)


def test_a_response_by_reference_has_the_mutated_field(replicas: Callable[..., Any]) -> None:
    cluster = replicas()
    cluster.cluster.faults.add(parse_rule(edit({"set": "error_code", "to": 42})))
    assert call(cluster).error_code == 42
    assert call(cluster).api_keys
    (report,) = cluster.cluster.faults.reports()
    assert report.problem is None


def test_a_receiver_that_cannot_decode_the_response_closes_the_connection(replicas: Callable[..., Any]) -> None:
    cluster = replicas()
    cluster.cluster.faults.add(parse_rule(edit({"set": "api_keys.count", "to": 1_000_000})))
    assert call(cluster) is NoResponse.CLOSE_CONNECTION


def test_an_unknown_path_is_the_problem_of_the_rule(replicas: Callable[..., Any]) -> None:
    cluster = replicas()
    cluster.cluster.faults.add(parse_rule(edit({"set": "eror_code", "to": 42})))
    assert call(cluster).error_code == 0
    (report,) = cluster.cluster.faults.reports()
    assert report.problem == "eror_code: ApiVersionsResponse v0 has no field 'eror_code': did you mean error_code?"
