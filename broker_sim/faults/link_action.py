"""The bases of actions on what travels from one end to another and of actions on listeners, and the forms of ends.

An end is a node of the cluster, or clients by the pattern of their client id. Between nodes an action applies to the
links that carry messages, between a client and a node to its connections.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import BROKER, BROKER_FORMS, Broker, Fields, Form, ListOf, Path, Schema, shown
from broker_sim.faults.rule import AnyBroker, NoEffect, Range, RuleError
from sim_runtime.random_streams import stream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from random import Random
    from typing import Self

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef
    from sim_runtime.wire_shaping import Impairment

__all__ = [
    "BROKERS",
    "CLIENTS",
    "ENDS",
    "NODES",
    "ClientEnd",
    "End",
    "Ends",
    "Group",
    "LinkAction",
    "ListenerAction",
    "WireFault",
    "WireTarget",
    "drawn_stream",
    "resolve_ends",
]


@dataclass(frozen=True, slots=True)
class Ends:
    """One side of a fault."""

    nodes: tuple[int, ...] = ()
    clients: tuple[str, ...] = ()
    """Patterns of client ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFault:
    """Impairments of what `sources` send to `targets`, and with `both_ways` of what they receive.

    A connection is chosen with the probability `share`. Links between nodes have cuts and the impairments of time;
    others, such as slices, change nothing for messages.
    """

    sources: Ends
    targets: Ends
    impairments: tuple[Impairment, ...]
    random: Random
    both_ways: bool = False
    share: float = 1


class WireTarget(Protocol):
    """The network of a cluster."""

    @property
    def controllers(self) -> tuple[int, ...]:
        """The nodes under which links reach the controllers; with ZooKeeper they are the brokers and ZooKeeper."""

    def begin(self, fault: WireFault) -> Callable[[], None]:
        """Begin a fault; returns the function that ends it."""

    def refuse(self, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Refuse new connections to nodes; returns the function that ends it."""

    def close_accepted(self, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Close new connections to nodes at once; returns the function that ends it."""

    def hold_accepts(self, nodes: tuple[int, ...], size: int, accept_every_ms: float | None) -> Callable[[], None]:
        """Leave new connections in a queue of `size`; returns the function that ends it."""

    def close_connections(self, nodes: tuple[int, ...], client: str) -> int:
        """Close the open connections to nodes of the clients that fit a pattern; returns their number."""


_CLIENT: Final = "client "
_SEEDS: Final = Range(0, (1 << 53) - 1, whole=True)


@dataclass(frozen=True, slots=True)
class ClientEnd:
    """The clients whose id fits a pattern."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Group:
    """Several ends by one name."""

    name: str


End: TypeAlias = "BrokerRef | ClientEnd | Group"

ALL: Final = Group("all")
BROKERS: Final = Group("brokers")
CLIENTS: Final = Group("clients")
CONTROLLERS: Final = Group("controllers")


@dataclass(frozen=True, slots=True)
class EndForm:
    """A node, or clients, or a group of ends."""

    groups: tuple[Group, ...]
    example: object
    with_clients: bool = True

    def parse(self, value: object, path: Path) -> End:
        """Return the end."""
        for group in self.groups:
            if value == group.name:
                return group
        if self.with_clients and isinstance(value, str) and value.startswith(_CLIENT):
            return ClientEnd(value.removeprefix(_CLIENT))
        try:
            return BROKER.parse(value, path)
        except RuleError:
            raise RuleError(path, f"expected {self._forms}, not {shown(value)}") from None

    @property
    def _forms(self) -> str:
        names = ", ".join(f"'{group.name}'" for group in self.groups)
        client = ", 'client PATTERN'" if self.with_clients else ""
        return f"{names}{client}, {BROKER_FORMS}"

    @property
    def schema(self) -> Schema:
        """A number or a text."""
        broker = Broker().schema
        number, role = broker["oneOf"]
        names = "|".join(group.name for group in self.groups)
        client = "|client .+" if self.with_clients else ""
        pattern = f"^({names}{client}|{role['pattern'].removeprefix('^(')}"
        groups = ", ".join(f"`{group.name}`" for group in self.groups)
        clients = "`client PATTERN` (by client id), " if self.with_clients else ""
        return {
            "oneOf": [number, {"type": "string", "pattern": pattern}],
            "description": f"{groups}, {clients}or {broker['description']}",
            "examples": [self.example],
        }


_NAMES: Final = "`client PATTERN`, `clients`, `brokers`, `controllers`, `all`, or a broker or controller"
_GROUPS: Final = (ALL, BROKERS, CONTROLLERS, CLIENTS)
ENDS: Final = {
    "from": ListOf(EndForm(_GROUPS, "client app"), f"the sender, or a list: {_NAMES}"),
    "to": ListOf(EndForm(_GROUPS, 2), f"the receiver, or a list: {_NAMES}"),
}
NODES: Final = ListOf(EndForm((BROKERS,), 2, with_clients=False), "one broker, or a list")


def resolve_ends(firing: Firing, ends: Sequence[End], name: str, others: Sequence[int] = ()) -> Ends:
    """Return the nodes and clients behind ends; a broker that is drawn is none of `others`. Raises RuleError."""
    wire = firing.cluster.wire
    brokers = tuple(firing.cluster.broker_ids)
    nodes: dict[int, None] = {}
    clients: dict[str, None] = {}
    for end in ends:
        if isinstance(end, ClientEnd):
            clients[end.pattern] = None
        elif isinstance(end, Group):
            nodes |= dict.fromkeys(brokers if end in (ALL, BROKERS) else ())
            nodes |= dict.fromkeys(wire.controllers if end in (ALL, CONTROLLERS) else ())
            clients |= dict.fromkeys(["*"] if end in (ALL, CLIENTS) else ())
        elif isinstance(end, AnyBroker):
            candidates = [broker for broker in brokers if broker not in others]
            nodes[firing.draw_broker(candidates, name, "other broker" if others else "broker")] = None
        else:
            nodes[firing.resolve(end, name)] = None
    return Ends(tuple(nodes), tuple(clients))


def drawn_stream(firing: Firing) -> Random:
    """Return a stream of one firing, for what is drawn while bytes pass; its seed is a draw of the rule."""
    return stream_of(int(firing.draw("seed", _SEEDS)))


def _brokers_of(ends: Iterable[End]) -> list[BrokerRef]:
    return [end for end in ends if not isinstance(end, ClientEnd | Group)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAction(Action):
    """Impairs what `sources` send to `targets`, from the firing until the rule closes."""

    needs: ClassVar = (Need.WIRE,)
    on_cluster: ClassVar = True
    on_controllers: ClassVar = True
    for_clients: ClassVar[bool] = False
    """True if it means nothing for messages between nodes: one end must be clients."""
    draws: ClassVar[bool] = False
    """True if it draws while bytes pass."""
    sources: tuple[End, ...]
    targets: tuple[End, ...]
    both_ways: bool = False
    """True if what `targets` send back suffers the same; a key of the actions whose form has it."""

    @classmethod
    def ends_and(cls, *, any_of: Sequence[Sequence[str]] = (), **more: Form) -> Fields:
        """Return the form of `from`, `to` and the values of the action."""
        return Fields({**ENDS, **more}, required=("from", "to"), any_of=any_of)

    @classmethod
    def parse(cls, value: object, path: tuple[str, ...]) -> Self:
        """Return the action for its written value. Raises RuleError."""
        given: dict[str, Any] = cls.form.parse(value, path)
        for key, name in (("from", "sources"), ("to", "targets")):
            if key in given:
                given[name] = given.pop(key)
        make: Callable[..., Self] = cls
        action = make(**given)
        both = (*action.sources, *action.targets)
        if cls.for_clients and not any(isinstance(end, ClientEnd) or end in (ALL, CLIENTS) for end in both):
            problem = "acts on the connections of clients: expected 'clients' or 'client PATTERN' in from or to"
            raise RuleError(path, problem)
        return action

    @property
    def brokers(self) -> Iterable[BrokerRef]:
        """The brokers at both ends."""
        return _brokers_of((*self.sources, *self.targets))

    @abstractmethod
    def impairments(self, firing: Firing) -> tuple[Impairment, ...]:
        """Return what happens to the direction; draws its numbers."""

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration. Raises NoEffect when both ends are the same node alone."""
        sources = resolve_ends(firing, self.sources, "from")
        targets = resolve_ends(firing, self.targets, "to", sources.nodes)
        if sources == targets and len(sources.nodes) == 1 and not sources.clients:
            raise NoEffect(f"node {sources.nodes[0]} is at both ends")
        fault = WireFault(
            sources=sources,
            targets=targets,
            impairments=self.impairments(firing),
            both_ways=self.both_ways,
            random=drawn_stream(firing) if self.draws else stream_of(0),
        )
        firing.soon(lambda: firing.at_end(firing.cluster.wire.begin(fault)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerAction(Action):
    """Changes how the listeners of brokers accept connections, from the firing until the rule closes."""

    needs: ClassVar = (Need.WIRE,)
    on_cluster: ClassVar = True
    form: ClassVar[Form] = Fields(alone="at", required=("at",), at=NODES)
    at: tuple[End, ...]

    @property
    def brokers(self) -> Iterable[BrokerRef]:
        """The brokers that it names."""
        return _brokers_of(self.at)

    @abstractmethod
    def begin(self, firing: Firing, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Begin at nodes; return the function that ends it."""

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration."""
        nodes = resolve_ends(firing, self.at, "at").nodes
        firing.soon(lambda: firing.at_end(self.begin(firing, nodes)))
