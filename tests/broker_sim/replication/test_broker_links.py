from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from twisted.internet.defer import Deferred

from broker_sim.control.events import LinkChanged, RequestReceived, ResponseSent
from broker_sim.control.journal import Journal
from broker_sim.faults.interception import FaultPoint, Interception, Outcome, Phase
from broker_sim.replication.broker_links import BrokerLinks, LinkFailure
from sim_runtime.virtual_reactor import VirtualReactor


@dataclass
class Ask:
    NAME: ClassVar[str] = "Ask"
    API_KEY: ClassVar[int] = 99
    number: int


class Answerer:
    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.resets: list[int] = []
        self.waiting: Deferred[Any] | None = None

    def handle_link_request(self, request: Ask, source: int) -> Any:
        self.asked.append((source, request.number))
        return request.number * 10 if self.waiting is None else self.waiting

    def peer_reset(self, node_id: int) -> None:
        self.resets.append(node_id)

    def replica_fetcher(self, leader_id: int) -> None:  # noqa: ARG002
        return None


class OneFault:
    """Strikes every request in one phase."""

    active = True

    def __init__(self, phase: Phase, interception: Interception) -> None:
        self.phase = phase
        self.interception = interception
        self.points: list[FaultPoint] = []

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        self.points.append(point)
        return self.interception if phase is self.phase else None


class NoRules:
    active = False

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:  # noqa: ARG002
        raise AssertionError("nobody asks an idle engine")


class Links:
    def __init__(self, delay_ms: float = 0.0) -> None:
        self.reactor = VirtualReactor()
        self.journal = Journal(lambda: self.reactor.now_us)
        self.links = BrokerLinks(reactor=self.reactor, journal=self.journal, faults=NoRules(), delay_ms=delay_ms)
        self.nodes = {node: Answerer() for node in (1, 2, 3)}
        for node_id, node in self.nodes.items():
            self.links.attach(node_id, node)
        self.results: list[Any] = []

    def ask(self, number: int, source: int = 1, target: int = 2, **options: Any) -> None:
        answer = self.links.send(source, target, Ask(number), **options)
        answer.addCallbacks(self.results.append, lambda failure: self.results.append(failure.value))


@pytest.fixture
def links() -> Links:
    return Links()


def test_an_open_link_without_delay_answers_within_the_call(links: Links) -> None:
    links.ask(7)
    assert links.results == [70]
    assert links.nodes[2].asked == [(1, 7)]


def test_both_ways_take_their_delay_and_keep_their_order() -> None:
    links = Links(delay_ms=5)
    links.ask(1)
    links.links.link(1, 2).set_delay(1)
    links.ask(2)
    links.reactor.run_for(ms=4.9)
    assert links.nodes[2].asked == []
    links.reactor.run_for(ms=0.1)
    assert links.nodes[2].asked == [(1, 1), (1, 2)]
    links.reactor.run_for(ms=5)
    assert links.results == [10, 20]


def test_a_held_link_delivers_everything_in_order_when_it_is_released(links: Links) -> None:
    links.links.link(1, 2).hold()
    links.ask(1)
    links.ask(2)
    links.reactor.run_for(ms=60_000)
    assert links.results == []
    links.links.link(1, 2).release()
    links.reactor.run_for(ms=0)
    assert links.results == [10, 20]


def test_a_held_way_back_keeps_the_answer_though_the_request_has_arrived(links: Links) -> None:
    links.links.link(2, 1).hold()
    links.ask(1)
    assert links.nodes[2].asked == [(1, 1)]
    assert links.results == []
    links.links.link(2, 1).release()
    links.reactor.run_for(ms=0)
    assert links.results == [10]


def test_a_cut_link_fails_the_call_after_its_time_out(links: Links) -> None:
    links.links.link(1, 2).cut()
    links.ask(1, timeout_ms=500)
    links.reactor.run_for(ms=499)
    assert links.results == []
    links.reactor.run_for(ms=1)
    assert isinstance(links.results[0], LinkFailure)
    assert str(links.results[0]) == "Ask from 1 to 2: request timed out"


def test_a_restored_link_fails_at_once_what_it_had_lost_and_then_works(links: Links) -> None:
    links.links.link(2, 1).cut()
    links.ask(1)
    assert links.nodes[2].asked == [(1, 1)]
    links.links.link(2, 1).restore()
    links.reactor.run_for(ms=0)
    assert "connection reset" in str(links.results[0])
    links.ask(2)
    assert links.results[1] == 20


def test_cutting_loses_what_is_on_its_way() -> None:
    links = Links(delay_ms=10)
    links.ask(1, timeout_ms=100)
    links.reactor.run_for(ms=5)
    links.links.link(1, 2).cut()
    links.reactor.run_for(ms=100)
    assert links.nodes[2].asked == []
    assert isinstance(links.results[0], LinkFailure)


def test_a_node_that_is_not_there_refuses(links: Links) -> None:
    links.ask(1, target=9)
    assert "connection refused" in str(links.results[0])


def test_a_dying_node_resets_the_calls_to_it_and_forgets_its_own(links: Links) -> None:
    links.nodes[2].waiting = Deferred()
    links.nodes[3].waiting = Deferred()
    links.ask(1, source=1, target=2)
    links.ask(2, source=2, target=3)
    links.links.detach(2)
    assert len(links.results) == 1
    assert "connection reset" in str(links.results[0])
    assert links.nodes[1].resets == links.nodes[3].resets == [2]
    links.nodes[3].waiting.callback(5)
    assert len(links.results) == 1


def test_nobody_hears_of_a_death_behind_a_cut(links: Links) -> None:
    links.nodes[2].waiting = Deferred()
    links.ask(1, timeout_ms=400)
    links.links.link(2, 1).cut()
    links.links.detach(2)
    assert links.results == []
    assert links.nodes[1].resets == []
    links.reactor.run_for(ms=400)
    assert "timed out" in str(links.results[0])


def test_isolation_cuts_both_ways_to_everybody_and_rejoin_ends_it_for_the_dead_too(links: Links) -> None:
    links.links.isolate(2)
    assert not links.links.link(2, 3).is_open
    assert not links.links.link(1, 2).is_open
    assert links.links.link(1, 3).is_open
    links.links.detach(3)
    links.links.rejoin(2)
    assert links.links.link(2, 3).is_open
    assert links.links.link(3, 2).is_open


def test_the_journal_has_requests_answers_and_what_became_of_links(links: Links) -> None:
    links.ask(7, version=3)
    links.links.link(1, 2).hold()
    received, sent, changed = links.journal.events
    assert isinstance(received, RequestReceived)
    assert (received.api, received.api_version, received.broker_id, received.replica_id) == ("Ask", 3, 2, 1)
    assert isinstance(sent, ResponseSent)
    assert isinstance(changed, LinkChanged)
    assert (changed.broker_id, changed.target, changed.state) == (1, 2, "held")


def test_a_rule_may_delay_a_request(links: Links) -> None:
    wait: Deferred[None] = Deferred()
    links.links.faults = fault = OneFault(Phase.BEFORE_APPEND, Interception(wait=wait))
    links.ask(1)
    assert links.nodes[2].asked == []
    wait.callback(None)
    assert links.results == [10]
    assert {(point.broker_id, point.api_key, point.client_id) for point in fault.points} == {(2, 99, "broker-1")}


@pytest.mark.parametrize("phase", [Phase.BEFORE_APPEND, Phase.BEFORE_RESPONSE])
def test_a_rule_may_drop_the_answer_to_a_request_that_is_served(links: Links, phase: Phase) -> None:
    links.links.faults = OneFault(phase, Interception(outcome=Outcome.DROP_RESPONSE))
    links.ask(1, timeout_ms=50)
    assert links.nodes[2].asked == [(1, 1)]
    links.reactor.run_for(ms=50)
    assert "timed out" in str(links.results[0])


def test_a_rule_may_disconnect_before_the_request_is_served(links: Links) -> None:
    links.links.faults = OneFault(Phase.BEFORE_APPEND, Interception(outcome=Outcome.DISCONNECT))
    links.ask(1)
    assert links.nodes[2].asked == []
    assert isinstance(links.results[0], LinkFailure)
