"""The action `mutate`: its written form, and the response that a client receives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.handler_result import NoResponse
from broker_sim.faults.actions.requests.mutate import Mutate
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import Phase
from broker_sim.faults.rule import RuleError
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.fuzzing import Mutation
from protocol_specs.messages.api_versions import ApiVersionsRequest

if TYPE_CHECKING:
    from collections.abc import Callable


def mutate(**written: Any) -> dict[str, Any]:
    return {"name": "mutation", "act": {"mutate": written}}


@pytest.mark.parametrize(
    ("written", "mutation"),
    [
        ({"path": "a", "value": None}, Mutation.set("a", None, reframe=True)),
        ({"path": "a", "value": [1, 2], "reframe": False}, Mutation.set("a", [1, 2], reframe=False)),
        ({"path": "a", "lengthen": 3}, Mutation.lengthen("a", by=3, reframe=True)),
        ({"path": "a", "shorten": 3}, Mutation.shorten("a", by=3, reframe=True)),
        ({"path": "a", "duplicate": 2}, Mutation.duplicate("a", times=2, reframe=True)),
        ({"path": "a", "delete": True}, Mutation.delete("a", reframe=True)),
    ],
)
def test_every_change_has_a_written_form(written: dict[str, Any], mutation: Mutation) -> None:
    rule = parse_rule(mutate(**written))
    assert (rule.act, rule.phase) == (Mutate(mutation), Phase.BEFORE_RESPONSE)


@pytest.mark.parametrize(
    ("written", "path", "problem"),
    [
        ({"value": 1}, ("act", "mutate", "path"), "missing"),
        ({"path": "a"}, ("act", "mutate"), "one of value, lengthen, shorten, duplicate, delete, not none"),
        ({"path": "a", "value": 1, "delete": True}, ("act", "mutate"), "not value and delete"),
        ({"path": "a", "lengthen": 0}, ("act", "mutate", "lengthen"), "at least 1"),
        ({"path": "a", "delete": False}, ("act", "mutate", "delete"), "expected true"),
        ({"path": "a", "valeu": 1}, ("act", "mutate", "valeu"), "did you mean 'value'?"),
        ({"path": "a", "value": 1, "reframe": 1}, ("act", "mutate", "reframe"), "true or false"),
    ],
)
def test_a_mistake_is_named_with_its_path(written: dict[str, Any], path: tuple[str, ...], problem: str) -> None:
    with pytest.raises(RuleError) as raised:
        parse_rule(mutate(**written))
    assert raised.value.path == path
    assert problem in raised.value.problem


def test_only_a_whole_response_is_mutated() -> None:
    with pytest.raises(RuleError, match="phase: mutate fires in before_response, not in mid_response"):
        parse_rule(mutate(path="a", value=1) | {"phase": "mid_response"})


def test_messages_between_brokers_are_not_mutated() -> None:
    with pytest.raises(RuleError, match=r"select\.replica: mutate changes the bytes that clients receive"):
        parse_rule(mutate(path="a", value=1) | {"select": {"api": "Fetch", "replica": 2}})


def call(replicas: Any, version: int = 0) -> Any:
    """Return the result of an ApiVersions request by reference."""
    request = PlainCalls(replicas.cluster.broker(1)).call(ApiVersionsRequest(), version)
    return replicas.world.run_until(request, deadline_ms=5_000)


def test_a_response_by_reference_has_the_mutated_field(replicas: Callable[..., Any]) -> None:
    cluster = replicas()
    cluster.cluster.faults.add(parse_rule(mutate(path="error_code", value=42)))
    assert call(cluster).error_code == 42
    assert call(cluster).api_keys
    (report,) = cluster.cluster.faults.reports()
    assert report.problem is None


def test_a_receiver_that_cannot_decode_the_response_closes_the_connection(replicas: Callable[..., Any]) -> None:
    cluster = replicas()
    cluster.cluster.faults.add(parse_rule(mutate(path="api_keys.count", value=1_000_000)))
    assert call(cluster) is NoResponse.CLOSE_CONNECTION


def test_an_unknown_path_is_the_problem_of_the_rule(replicas: Callable[..., Any]) -> None:
    cluster = replicas()
    cluster.cluster.faults.add(parse_rule(mutate(path="eror_code", value=42)))
    assert call(cluster).error_code == 0
    (report,) = cluster.cluster.faults.reports()
    assert report.problem == "eror_code: ApiVersionsResponse v0 has no field 'eror_code': did you mean error_code?"
