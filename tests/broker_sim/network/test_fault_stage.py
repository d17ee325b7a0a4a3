from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.faults.interception import Edit, Interception, Outcome, Phase
from protocol_specs.error_codes import ErrorCode
from protocol_specs.fuzzing import Mutation

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(params=["classic", "pipelined"])
def bench(make_bench: Callable[..., Any], request: pytest.FixtureRequest) -> Any:
    return make_bench(thread_model=request.param)


def fire(bench: Any, phase: Phase, interception: Interception) -> Any:
    return bench.rules.fire(phase, interception)


@pytest.mark.parametrize("phase", [Phase.BEFORE_PARSE, Phase.BEFORE_RESPONSE])
def test_a_held_request_goes_on_when_it_is_released(bench: Any, client: Any, phase: Phase) -> None:
    gate: Deferred[None] = Deferred()
    fire(bench, phase, Interception(wait=gate))
    other = bench.connect()
    client.exchange(1, 2)
    bench.run(50)
    other.exchange(3)
    bench.run()
    assert (client.correlation_ids, other.correlation_ids) == ([], [3])
    gate.callback(None)
    bench.run()
    assert client.correlation_ids == [1, 2]


def test_a_request_held_before_it_is_parsed_occupies_no_handler(bench: Any, client: Any) -> None:
    fire(bench, Phase.BEFORE_PARSE, Interception(wait=Deferred()))
    client.exchange(1)
    bench.run()
    assert (bench.apis.contexts, bench.server.handler_pool.busy) == ([], 0)


@pytest.mark.parametrize("phase", [Phase.BEFORE_PARSE, Phase.BEFORE_RESPONSE])
def test_after_a_lost_response_the_connection_is_silent(bench: Any, client: Any, phase: Phase) -> None:
    fire(bench, phase, Interception(outcome=Outcome.DROP_RESPONSE))
    client.exchange(1, 2)
    bench.run()
    client.exchange(3)
    bench.run()
    assert (client.correlation_ids, client.closed) == ([], False)
    assert [context.correlation_id for context in bench.apis.contexts][-2:] == [2, 3]


def test_responses_before_a_lost_one_arrive(bench: Any, client: Any) -> None:
    client.exchange(1)
    bench.run()
    fire(bench, Phase.BEFORE_RESPONSE, Interception(outcome=Outcome.DROP_RESPONSE))
    client.exchange(2, 3)
    bench.run()
    assert client.correlation_ids == [1]


@pytest.mark.parametrize("phase", [Phase.BEFORE_PARSE, Phase.BEFORE_RESPONSE, Phase.MID_RESPONSE])
def test_a_disconnect_closes_before_the_response_is_whole(bench: Any, client: Any, phase: Phase) -> None:
    fire(bench, phase, Interception(outcome=Outcome.DISCONNECT))
    client.exchange(1, 2)
    bench.run()
    assert client.closed
    assert len(bench.apis.contexts) == (0 if phase is Phase.BEFORE_PARSE else 1)
    sent = len(client.received)
    assert (sent > 0) is (phase is Phase.MID_RESPONSE)


@pytest.mark.parametrize("phase", [Phase.BEFORE_PARSE, Phase.BEFORE_RESPONSE])
def test_an_error_takes_the_place_of_the_response(bench: Any, client: Any, phase: Phase) -> None:
    fire(bench, phase, Interception(outcome=Outcome.ERROR, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    client.exchange(1)
    bench.run()
    assert client.frames[0][4:6] == (31).to_bytes(2, "big")


@pytest.mark.parametrize("phase", [Phase.BEFORE_RESPONSE, Phase.MID_RESPONSE])
def test_a_cut_sends_so_many_bytes_and_closes(bench: Any, client: Any, phase: Phase) -> None:
    fire(bench, phase, Interception(outcome=Outcome.CUT, cut_bytes=11))
    client.exchange(1)
    bench.run()
    assert (len(client.received), client.closed) == (11, True)


def test_a_client_receives_the_mutated_frame(bench: Any, client: Any) -> None:
    mutations = (Mutation.set("error_code", 42), Mutation.set("header.correlation_id", 9))
    fire(bench, Phase.BEFORE_RESPONSE, Interception(edits=(Edit(mutations, pytest.fail),)))
    client.exchange(1, 2)
    bench.run()
    assert client.correlation_ids == [9, 2]
    assert client.frames[0][4:] == (42).to_bytes(2, "big") + client.frames[1][6:]


def test_a_request_is_served_as_it_was_edited(bench: Any, client: Any) -> None:
    mutations = (Mutation.set("header.correlation_id", 77), Mutation.lengthen("header.client_id", by=3, fill=b"x"))
    fire(bench, Phase.BEFORE_PARSE, Interception(edits=(Edit(mutations, pytest.fail),)))
    client.exchange(1, 2)
    bench.run()
    assert client.correlation_ids == [77, 2]
    assert str(bench.apis.contexts[0].client_id).endswith("xxx")


def test_a_request_whose_header_cannot_be_read_any_more_closes_the_connection(bench: Any, client: Any) -> None:
    mutations = (Mutation.set("header.client_id.length", 30_000),)
    fire(bench, Phase.BEFORE_PARSE, Interception(edits=(Edit(mutations, pytest.fail),)))
    client.exchange(1)
    bench.run()
    assert (client.closed, bench.apis.contexts) == (True, [])


def test_the_size_of_a_frame_can_be_absurd(bench: Any, client: Any) -> None:
    edits = (Edit((Mutation.set("frame_size", 2_000_000_000),), pytest.fail),)
    fire(bench, Phase.BEFORE_RESPONSE, Interception(edits=edits))
    client.exchange(1)
    bench.run()
    assert client.received[:4] == (2_000_000_000).to_bytes(4, "big")


def test_an_impossible_mutation_is_reported_and_changes_nothing(bench: Any, client: Any) -> None:
    problems: list[str] = []
    interception = Interception(edits=(Edit((Mutation.set("error", 42),), problems.append),))
    fire(bench, Phase.BEFORE_RESPONSE, interception)
    client.exchange(1, 2)
    bench.run()
    assert client.frames[0][4:] == client.frames[1][4:]
    assert problems == ["error: ApiVersionsResponse v0 has no field 'error': did you mean error_code?"]


def test_a_pause_in_the_middle_of_a_response_sends_the_rest_later(bench: Any, client: Any) -> None:
    gate: Deferred[None] = Deferred()
    fire(bench, Phase.MID_RESPONSE, Interception(wait=gate))
    client.exchange(1, 2)
    bench.run()
    part = len(client.received)
    assert part > 0
    gate.callback(None)
    bench.run()
    assert client.correlation_ids == [1, 2]


def test_the_first_part_is_as_long_as_the_rule_states(bench: Any, client: Any) -> None:
    gate: Deferred[None] = Deferred()
    fire(bench, Phase.MID_RESPONSE, Interception(wait=gate, cut_bytes=7))
    client.exchange(1, 2)
    bench.run()
    assert len(client.received) == 7
    gate.callback(None)
    bench.run()
    assert client.correlation_ids == [1, 2]


def test_a_response_is_sent_twice(bench: Any, client: Any) -> None:
    fire(bench, Phase.MID_RESPONSE, Interception(copies=1))
    client.exchange(1, 2)
    bench.run()
    assert client.correlation_ids == [1, 1, 2]


def test_responses_change_their_order(bench: Any, client: Any) -> None:
    bench.rules.fire(Phase.MID_RESPONSE, Interception(reversed_responses=3), times=3)
    client.exchange(1, 2)
    bench.run()
    assert client.correlation_ids == []
    client.exchange(3, 4)
    bench.run()
    assert client.correlation_ids == [3, 2, 1, 4]


def test_a_response_that_waits_for_others_is_sent_in_the_end(bench: Any, client: Any) -> None:
    gate: Deferred[None] = Deferred()
    fire(bench, Phase.MID_RESPONSE, Interception(reversed_responses=3, wait=gate))
    client.exchange(1)
    bench.run()
    assert client.correlation_ids == []
    gate.callback(None)
    bench.run()
    assert client.correlation_ids == [1]
    client.exchange(2)
    bench.run()
    assert client.correlation_ids == [1, 2]


def test_a_response_that_is_dropped_half_way_leaves_the_connection_open(bench: Any, client: Any) -> None:
    fire(bench, Phase.MID_RESPONSE, Interception(outcome=Outcome.DROP_RESPONSE))
    client.exchange(1, 2)
    bench.run(1000)
    assert not client.closed
    # The pipelined model has handled the next request, whose response waits behind the one that never ends.
    pipelined = bench.broker.config["thread.model"] == "pipelined"
    assert len(bench.apis.contexts) == (2 if pipelined else 1)
    assert 2 not in client.correlation_ids


def test_a_rule_selects_by_client_and_partition(bench: Any, client: Any) -> None:
    rules = fire(bench, Phase.BEFORE_PARSE, Interception())
    client.exchange(1)
    bench.run()
    [point] = rules.points
    assert (point.broker_id, point.api_key, point.topic, point.client_id) == (1, 18, None, None)
    assert point.connection_id == bench.apis.contexts[0].connection_id
    assert point.request_id == bench.apis.contexts[0].request_id


def test_a_connection_that_goes_while_it_is_held_takes_its_request_along(bench: Any, client: Any) -> None:
    gate: Deferred[None] = Deferred()
    fire(bench, Phase.BEFORE_PARSE, Interception(wait=gate))
    client.exchange(1)
    bench.run()
    bench.server.abort()
    gate.callback(None)
    bench.run()
    assert bench.apis.contexts == []


def test_requests_behind_a_held_one_are_waiting_requests(bench: Any, client: Any) -> None:
    gate: Deferred[None] = Deferred()
    fire(bench, Phase.BEFORE_PARSE, Interception(wait=gate))
    client.exchange(1, 2, 3)
    bench.run()
    assert bench.server.waiting_requests == 2
    gate.callback(None)
    bench.run()
    assert bench.server.waiting_requests == 0
