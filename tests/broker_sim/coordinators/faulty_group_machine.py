"""The part that the state machines of groups on a faulty cluster have in common: members, brokers, epochs, rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.broker_sim.coordinators.faulty_cluster import BROKERS

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.modern.epoch_group import EpochGroup

PLACES_MAX: Final = 5

places = st.integers(0, PLACES_MAX - 1)
waits = st.sampled_from([250, 0, 30, 600, 1_500])


class FaultyClient(Protocol):
    """A member on virtual time."""

    alive: bool
    paused: bool

    def crash(self) -> None:
        """Stop without a request."""

    def leave(self) -> None:
        """Leave the group, if its coordinator can be reached."""

    def pause(self) -> None:
        """Send and receive nothing until `resume`."""

    def resume(self) -> None:
        """Go on where the pause began."""


C = TypeVar("C", bound=FaultyClient)


class FaultyGroupMachine(RuleBasedStateMachine, Generic[C]):
    """Members that crash, leave and pause, and brokers that crash and start again; epochs only grow.

    Subclasses make `cluster`, start members and other faults, and check that the group comes to rest.
    """

    group_type: ClassVar[type[EpochGroup[Any, Any]]]
    group_id: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.clients: list[C] = []
        self.cluster: Any = None
        self.group_epoch = 0
        self.member_epochs: dict[str, int] = {}

    @property
    def living(self) -> list[C]:
        """The members that have neither crashed nor left."""
        return [client for client in self.clients if client.alive]

    def chosen(self, place: int) -> C | None:
        """Return a member that acts now."""
        living = [client for client in self.living if not client.paused]
        return living[place % len(living)] if living else None

    # Members.

    @rule(place=places, ms=waits)
    def member_crashes(self, place: int, ms: int) -> None:
        client = self.chosen(place)
        if client is not None:
            client.crash()
        self.cluster.run(ms)

    @rule(place=places, ms=waits)
    def member_leaves(self, place: int, ms: int) -> None:
        client = self.chosen(place)
        if client is not None:
            client.leave()
        self.cluster.run(ms)

    def pause(self, place: int, ms: int) -> None:
        """Have a member pause for a time, which is not awaited."""
        client = self.chosen(place)
        if client is not None:
            client.pause()
            self.cluster.reactor.callLater(ms / 1000, client.resume)

    # Brokers.

    @precondition(lambda self: self.cluster.in_sync)
    @rule(broker_id=st.sampled_from(BROKERS), ms=waits)
    def broker_is_killed(self, broker_id: int, ms: int) -> None:
        self.cluster.kill(broker_id)
        self.broker_died(broker_id)
        self.cluster.run(ms)

    def broker_died(self, broker_id: int) -> None:
        """The members lose a broker that was killed."""

    @precondition(lambda self: len(self.cluster.running) < len(BROKERS))
    @rule(ms=waits)
    def broker_starts(self, ms: int) -> None:
        self.cluster.start_brokers()
        self.cluster.run(ms)

    # At all times.

    @invariant()
    def epochs_only_grow(self) -> None:
        epochs = None if self.cluster is None else self.cluster.group_epochs(self.group_type, self.group_id)
        if epochs is None:
            return
        group_epoch, members = epochs
        assert group_epoch >= self.group_epoch
        self.group_epoch = group_epoch
        for member_id, epoch in members.items():
            assert self.member_epochs.get(member_id, 0) <= epoch <= group_epoch
            self.member_epochs[member_id] = epoch

    # At rest.

    def teardown(self) -> None:
        """Start all brokers, and have the group come to rest."""
        if self.cluster is None:
            return
        try:
            if len(self.cluster.running) < len(BROKERS):
                self.cluster.start_brokers()
            self.come_to_rest()
            self.epochs_only_grow()
        finally:
            self.cluster.close()

    def come_to_rest(self) -> None:
        """Wait until the group rests, and check it."""
        raise NotImplementedError
