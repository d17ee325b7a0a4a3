# ruff: noqa: N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory

from sim_runtime.stepped_world import SteppedFlow, SteppedWorld
from sim_runtime.virtual_flow import SegmentKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.python.failure import Failure

    from sim_runtime.stepped_reactor import Lane


class Side(Protocol):
    """One end: it notes what happens."""

    def __init__(self, name: str, log: list[str], sends: Sequence[bytes]) -> None:
        self._name = name
        self._log = log
        self._sends = sends

    def connectionMade(self) -> None:
        assert self.transport is not None
        for data in self._sends:
            self.transport.write(data)

    def dataReceived(self, data: bytes) -> None:
        self._log.append(f"{self._name} got {data.decode()}")

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._log.append(f"{self._name} lost: {reason.type.__name__ if reason.type else ''}")


class Stepwise:
    """Delivers in order until a message has the text `last`; keeps that lane."""

    def __init__(self, last: bytes) -> None:
        self._last = last
        self.lane: SteppedFlow | None = None

    def next_step(self, ready: Sequence[Lane]) -> Callable[[], object] | None:
        for lane in ready:
            if isinstance(lane, SteppedFlow) and lane.head == (SegmentKind.DATA, self._last):
                self.lane = lane
                return None
        return ready[0].deliver if ready else None

    def time_moves(self, now_us: int) -> None:
        """Do nothing."""


def connected(log: list[str], sends: Sequence[bytes]) -> SteppedWorld:
    world = SteppedWorld()
    server = ServerFactory.forProtocol(lambda: Side("server", log, ()))  # type: ignore[arg-type]
    client = ClientFactory.forProtocol(lambda: Side("client", log, sends))  # type: ignore[arg-type]
    world.network.host("there").listenTCP(80, server)
    world.network.host("here").connectTCP("there", 80, client)
    return world


def test_each_write_is_a_message_of_its_own() -> None:
    log: list[str] = []
    world = connected(log, [b"one", b"two"])
    scheduler = world.stepped.scheduler = Stepwise(b"two")
    world.run_for(ms=1)
    assert log == ["server got one"]
    lane = scheduler.lane
    assert lane is not None
    assert (lane.name, lane.source, lane.target) == ("here:32768 -> there:80", "here", "there")
    assert lane.is_from_client
    assert lane.can_be_lost


def test_what_was_written_arrives_although_its_process_has_died_at_the_same_time() -> None:
    log: list[str] = []
    world = connected(log, [b"one", b"two"])
    world.stepped.scheduler = Stepwise(b"two")
    world.run_for(ms=1)
    world.network.host("here").crash()
    world.stepped.scheduler = Stepwise(b"")
    world.run_for(ms=1)
    assert log == ["server got one", "client lost: ConnectionLost", "server got two", "server lost: ConnectionLost"]


def test_a_lost_message_breaks_the_connection_at_both_ends() -> None:
    log: list[str] = []
    world = connected(log, [b"one", b"two"])
    scheduler = world.stepped.scheduler = Stepwise(b"two")
    world.run_for(ms=1)
    assert scheduler.lane is not None
    scheduler.lane.lose()
    world.stepped.scheduler = Stepwise(b"")
    world.run_for(ms=1)
    assert log == ["server got one", "client lost: ConnectionLost", "server lost: ConnectionLost"]


def test_a_held_link_keeps_its_messages() -> None:
    log: list[str] = []
    world = connected(log, [b"one"])
    link = world.network.link("here", "there")
    world.stepped.scheduler = Stepwise(b"one")
    world.run_for(ms=1)
    link.hold()
    world.stepped.scheduler = Stepwise(b"")
    world.run_for(ms=1)
    assert log == []
    link.release()
    world.run_for(ms=1)
    assert log == ["server got one"]
