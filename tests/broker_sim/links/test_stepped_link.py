from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.control.journal import Journal
from broker_sim.links.node_links import NodeLinks
from broker_sim.links.stepped_link import SteppedLink
from protocol_specs.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from sim_runtime.stepped_reactor import SteppedReactor
from sim_runtime.stepped_world import SteppedWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.links.link_call import LinkCall
    from sim_runtime.stepped_reactor import Lane


class Node:
    """Responds at once."""

    def receive_call(self, call: LinkCall) -> None:
        call.respond(ApiVersionsResponse())

    def peer_reset(self, node_id: int) -> None:
        """Do nothing."""


class Nothing:
    """Takes no step, and keeps the ready lanes."""

    def __init__(self) -> None:
        self.ready: list[Lane] = []

    def next_step(self, ready: Sequence[Lane]) -> Callable[[], object] | None:
        self.ready = [*ready]
        return None

    def time_moves(self, now_us: int) -> None:
        """Do nothing."""


def links_of(world: SteppedWorld) -> NodeLinks:
    links = NodeLinks(reactor=world.reactor, journal=Journal(lambda: 0))
    links.attach_to_network(lambda source, target: world.network.link(str(source), str(target)), SteppedLink)
    links.attach(1, Node())
    links.attach(2, Node())
    return links


def call(links: NodeLinks, log: list[Any]) -> None:
    links.call(
        1, 2, ApiVersionsRequest(), lambda response, _: log.append(response), lambda failure, _: log.append(failure)
    )


def test_messages_are_delivered_one_at_a_time() -> None:
    world = SteppedWorld()
    log: list[Any] = []
    links = links_of(world)
    call(links, log)
    call(links, log)
    nothing = world.stepped.scheduler = Nothing()
    world.run_for(ms=1)
    (lane,) = nothing.ready
    assert isinstance(lane, SteppedLink)
    assert (lane.name, lane.can_be_lost, lane.in_flight) == ("1 -> 2", True, 2)
    lane.deliver()
    assert lane.in_flight == 1
    world.run_for(ms=1)
    assert [each.name for each in nothing.ready] == ["1 -> 2", "2 -> 1"]
    nothing.ready[1].deliver()
    assert log == [ApiVersionsResponse()]
    assert isinstance(world.reactor, SteppedReactor)


def test_a_call_whose_message_is_lost_fails_at_its_source() -> None:
    world = SteppedWorld()
    log: list[Any] = []
    links = links_of(world)
    call(links, log)
    link = links.link(1, 2)
    assert isinstance(link, SteppedLink)
    link.lose()
    assert [str(each) for each in log] == ["ApiVersions from 1 to 2: connection reset"]
    assert not link.is_ready
