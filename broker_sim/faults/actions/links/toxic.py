"""The action `toxic`: a toxic of Toxiproxy by its own names, on the connections of clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from broker_sim.faults.forms import Anything, Choice, Fields, Number
from broker_sim.faults.link_action import BROKERS, CLIENTS, ENDS, LinkAction, WireFault, drawn_stream, resolve_ends
from broker_sim.faults.rule import RuleError
from sim_runtime.toxics import DOWN, STREAMS, TOXICS, ToxicError, toxic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.link_action import End, Ends
    from sim_runtime.wire_shaping import Impairment


@dataclass(frozen=True, slots=True, kw_only=True)
class Toxic(LinkAction):
    """Poison the connections of clients (`from`) to brokers (`to`), by default all, each with a probability.

    The stream `upstream` is what clients send. `down` refuses new connections and closes those that are open.
    """

    for_clients: ClassVar = True
    form: ClassVar = Fields(
        ENDS,
        required=("type",),
        type=Choice("the type of the toxic", (*TOXICS, DOWN)),
        stream=Choice("the direction, by default downstream", STREAMS),
        toxicity=Number("the probability that a connection is poisoned", 0.5, at_least=0, at_most=1, drawable=False),
        attributes=Anything("the attributes of the type, as in Toxiproxy", {"latency": 100, "jitter": 10}),
    )
    sources: tuple[End, ...] = (CLIENTS,)
    targets: tuple[End, ...] = (BROKERS,)
    type: str
    stream: str = "downstream"
    toxicity: float = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, value: object, path: tuple[str, ...]) -> Self:
        """Return the action for its written value. Raises RuleError."""
        action = super(Toxic, cls).parse(value, path)
        at = (*path, "attributes")
        if not isinstance(action.attributes, dict):
            raise RuleError(at, f"expected a mapping, not {action.attributes!r}")
        if action.type == DOWN:
            if action.attributes:
                raise RuleError(at, "down has no attributes")
            return action
        try:
            toxic(action.type, action.attributes)
        except ToxicError as error:
            raise RuleError(at if error.attribute is None else (*at, error.attribute), str(error)) from None
        return action

    def impairments(self, firing: Firing) -> tuple[Impairment, ...]:  # noqa: ARG002
        """Return the impairment of the type; `down` has none."""
        return () if self.type == DOWN else (toxic(self.type, self.attributes),)

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration."""
        clients = resolve_ends(firing, self.sources, "from")
        brokers = resolve_ends(firing, self.targets, "to")
        if self.type == DOWN:
            firing.soon(lambda: self._bring_down(firing, clients, brokers))
            return
        upstream = self.stream == STREAMS[0]
        fault = WireFault(
            sources=clients if upstream else brokers,
            targets=brokers if upstream else clients,
            impairments=self.impairments(firing),
            random=drawn_stream(firing),
            share=self.toxicity,
        )
        firing.soon(lambda: firing.at_end(firing.cluster.wire.begin(fault)))

    @staticmethod
    def _bring_down(firing: Firing, clients: Ends, brokers: Ends) -> None:
        wire = firing.cluster.wire
        firing.at_end(wire.refuse(brokers.nodes))
        for pattern in clients.clients:
            wire.close_connections(brokers.nodes, pattern)
