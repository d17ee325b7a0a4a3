from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from twisted.internet.defer import Deferred

from broker_sim.control.events import LinkChanged
from broker_sim.control.journal import Journal
from broker_sim.links import node_links
from broker_sim.links.node_links import LinkFailure, NodeLinks
from sim_runtime.paces import LatencyPace, LossPace
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from broker_sim.links.link_call import LinkCall


@dataclass
class Request:
    NAME: ClassVar[str] = "Request"
    API_KEY: ClassVar[int] = 99
    number: int


class Responder:
    def __init__(self) -> None:
        self.received: list[tuple[int, int]] = []
        self.resets: list[int] = []
        self.waiting: Deferred[Any] | None = None

    def receive_call(self, call: LinkCall) -> None:
        self.received.append((call.source, call.request.number))
        if self.waiting is None:
            call.respond(call.request.number * 10)
        else:
            self.waiting.addCallback(call.respond)

    def peer_reset(self, node_id: int) -> None:
        self.resets.append(node_id)


class Links:
    def __init__(self, delay_ms: float = 0.0) -> None:
        self.reactor = VirtualReactor()
        self.journal = Journal(lambda: self.reactor.now_us)
        self.links = NodeLinks(reactor=self.reactor, journal=self.journal, delay_ms=delay_ms)
        self.nodes = {node: Responder() for node in (1, 2, 3)}
        for node_id, node in self.nodes.items():
            self.links.attach(node_id, node)
        self.results: list[Any] = []

    def exchange(self, number: int, source: int = 1, target: int = 2, **options: Any) -> None:
        sent = self.links.send(source, target, Request(number), **options)
        sent.addCallbacks(self.results.append, lambda failure: self.results.append(failure.value))


@pytest.fixture
def links() -> Links:
    return Links()


def test_an_open_link_without_delay_responds_within_the_call(links: Links) -> None:
    links.exchange(7)
    assert links.results == [70]
    assert links.nodes[2].received == [(1, 7)]


def test_both_ways_take_their_delay_and_keep_their_order() -> None:
    links = Links(delay_ms=5)
    links.exchange(1)
    links.links.link(1, 2).set_delay(1)
    links.exchange(2)
    links.reactor.run_for(ms=4.9)
    assert links.nodes[2].received == []
    links.reactor.run_for(ms=0.1)
    assert links.nodes[2].received == [(1, 1), (1, 2)]
    links.reactor.run_for(ms=5)
    assert links.results == [10, 20]


def test_a_held_link_delivers_everything_in_order_when_it_is_released(links: Links) -> None:
    links.links.link(1, 2).hold()
    links.exchange(1)
    links.exchange(2)
    links.reactor.run_for(ms=60_000)
    assert links.results == []
    links.links.link(1, 2).release()
    links.reactor.run_for(ms=0)
    assert links.results == [10, 20]


def test_a_held_way_back_keeps_the_response_though_the_request_has_arrived(links: Links) -> None:
    links.links.link(2, 1).hold()
    links.exchange(1)
    assert links.nodes[2].received == [(1, 1)]
    assert links.results == []
    links.links.link(2, 1).release()
    links.reactor.run_for(ms=0)
    assert links.results == [10]


def test_a_cut_link_fails_the_call_after_its_time_out(links: Links) -> None:
    links.links.link(1, 2).cut()
    links.exchange(1, timeout_ms=500)
    links.reactor.run_for(ms=499)
    assert links.results == []
    links.reactor.run_for(ms=1)
    assert isinstance(links.results[0], LinkFailure)
    assert str(links.results[0]) == "Request from 1 to 2: request timed out"


def test_a_restored_link_fails_at_once_what_it_had_lost_and_then_works(links: Links) -> None:
    links.links.link(2, 1).cut()
    links.exchange(1)
    assert links.nodes[2].received == [(1, 1)]
    links.links.link(2, 1).restore()
    links.reactor.run_for(ms=0)
    assert "connection reset" in str(links.results[0])
    links.exchange(2)
    assert links.results[1] == 20


def test_cutting_loses_what_is_on_its_way() -> None:
    links = Links(delay_ms=10)
    links.exchange(1, timeout_ms=100)
    links.reactor.run_for(ms=5)
    links.links.link(1, 2).cut()
    links.reactor.run_for(ms=100)
    assert links.nodes[2].received == []
    assert isinstance(links.results[0], LinkFailure)


def test_a_node_that_is_not_there_refuses(links: Links) -> None:
    links.exchange(1, target=9)
    assert "connection refused" in str(links.results[0])


def test_a_dying_node_resets_the_calls_to_it_and_forgets_its_own(links: Links) -> None:
    links.nodes[2].waiting = Deferred()
    links.nodes[3].waiting = Deferred()
    links.exchange(1, source=1, target=2)
    links.exchange(2, source=2, target=3)
    links.links.detach(2)
    assert len(links.results) == 1
    assert "connection reset" in str(links.results[0])
    assert links.nodes[1].resets == links.nodes[3].resets == [2]
    links.nodes[3].waiting.callback(5)
    assert len(links.results) == 1


def test_a_cut_hides_the_death_of_a_node(links: Links) -> None:
    links.nodes[2].waiting = Deferred()
    links.exchange(1, timeout_ms=400)
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


def test_the_journal_has_the_changes_of_links(links: Links) -> None:
    links.links.link(1, 2).hold()
    (changed,) = links.journal.events
    assert isinstance(changed, LinkChanged)
    assert (changed.broker_id, changed.target, changed.state) == (1, 2, "held")


def test_an_error_in_the_handler_of_a_response_is_logged_and_does_not_reach_the_responding_node(
    links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[dict[str, Any]] = []
    monkeypatch.setattr(node_links._log, "failure", lambda text, **values: logged.append({"text": text, **values}))

    def broken(_response: Any, _number: int) -> None:
        raise RuntimeError("as the test wants it")

    links.links.call(1, 2, Request(1), broken, broken)
    links.exchange(2)
    assert links.nodes[2].received == [(1, 1), (1, 2)]
    assert links.results == [20]
    assert [(each["request"], each["source"], each["target"]) for each in logged] == [("Request", 1, 2)]


def test_a_call_reports_its_failure_once(links: Links) -> None:
    responses: list[Any] = []
    failures: list[tuple[Exception, int]] = []
    links.links.link(2, 1).cut()
    links.links.call(
        1,
        2,
        Request(1),
        lambda response, number: responses.append((response, number)),
        lambda failure, number: failures.append((failure, number)),
        number=7,
        timeout_ms=500,
    )
    links.reactor.run_for(ms=499)
    assert failures == []
    links.reactor.run_for(ms=60_000)
    assert [(str(failure), number) for failure, number in failures] == [("Request from 1 to 2: request timed out", 7)]
    assert responses == []


def test_each_cause_of_a_cut_ends_by_itself(links: Links) -> None:
    link = links.links.link(1, 2)
    link.cut("one rule")
    link.cut("another")
    link.restore("one rule")
    assert link.cut_off
    link.restore("another")
    assert not link.cut_off


def test_each_cause_of_a_hold_ends_by_itself(links: Links) -> None:
    link = links.links.link(1, 2)
    link.hold("one rule")
    link.hold()
    links.exchange(1)
    link.release()
    links.reactor.run_for(ms=1)
    assert links.results == []
    link.release("one rule")
    links.reactor.run_for(ms=1)
    assert links.results == [10]


def test_shapes_add_up_and_end_by_themselves(links: Links) -> None:
    link = links.links.link(1, 2)
    link.shape("slow", [LatencyPace(5_000, 5_000, Random(1))])
    link.shape("lossy", [LossPace(0.999, Random(4))])
    links.exchange(1)
    links.reactor.run_for(ms=204)
    assert links.results == []
    links.reactor.run_for(ms=1_000_000)
    assert links.results == [10]
    link.unshape("lossy")
    links.exchange(2)
    links.reactor.run_for(ms=4.9)
    assert links.results == [10]
    links.reactor.run_for(ms=0.2)
    assert links.results == [10, 20]
    link.unshape("slow")
    links.exchange(3)
    assert links.results == [10, 20, 30]
