"""The base of all actions, and the parts of a target that an action can need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final

from broker_sim.faults.forms import Fields, Form, Nothing
from broker_sim.faults.interception import Phase
from broker_sim.faults.rule import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Self

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.interception import Interception
    from broker_sim.faults.rule import BrokerRef, Rule

__all__ = ["ON_REQUESTS", "Action", "Need"]

ON_REQUESTS: Final = tuple(phase for phase in Phase if phase is not Phase.MID_RESPONSE)
"""The phases of a request that most actions can fire in."""


class Need(Enum):
    """A part that a target must have for an action."""

    CLUSTER = "cluster"
    DISK = "disk"
    VIRTUAL_DISK = "virtual_disk"
    VIRTUAL_TIME = "virtual_time"
    WIRE = "wire"
    PROCESS = "process"
    PAUSE = "pause"
    ADMIN = "admin"
    CLIENTS = "clients"

    @property
    def description(self) -> str:
        """The part in words."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS: Final = {
    Need.CLUSTER: "a simulated cluster",
    Need.DISK: "logs on a disk: a data directory, or `disk: virtual` in a scenario",
    Need.VIRTUAL_DISK: "logs on a simulated disk: `disk: virtual` in a scenario",
    Need.VIRTUAL_TIME: "virtual time",
    Need.WIRE: "the bytes between clients and brokers",
    Need.PROCESS: "broker processes that can be killed and started",
    Need.PAUSE: "broker processes that can be paused",
    Need.ADMIN: "the requests of an administrator",
    Need.CLIENTS: "clients that the run starts and ends",
}


class Action(ABC):
    """The action of a rule: one file of `actions/`, whose name is the name of the action.

    `form` is its written value: it parses the value into the keyword arguments of the class (a form without names gives
    the first argument) and describes it for editors and docs. One with `on_cluster` needs no request; the others need a
    request and one of `phases`.
    """

    __slots__ = ()

    name: ClassVar[str] = ""
    form: ClassVar[Form] = Nothing()
    needs: ClassVar[Collection[Need]] = (Need.CLUSTER,)
    on_cluster: ClassVar[bool] = False
    on_controllers: ClassVar[bool] = False
    """True if the broker of the action may be a controller."""
    decides: ClassVar[bool] = False
    """True if the action decides the outcome of a request, which one rule alone can do."""
    phases: ClassVar[tuple[Phase, ...]] = ON_REQUESTS
    """The phases that the action can fire in; the first one is the default, unless they are ON_REQUESTS."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Name the action after its file."""
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__module__.rpartition(".")[2]
        if "needs" not in cls.__dict__ and not cls.on_cluster:
            cls.needs = (Need.WIRE,)

    @classmethod
    def parse(cls, value: object, path: tuple[str, ...]) -> Self:
        """Return the action for its written value. Raises RuleError."""
        parsed: Any = cls.form.parse(value, path)
        make: Callable[..., Self] = cls
        if isinstance(cls.form, Nothing):
            return make()
        return make(**parsed) if isinstance(cls.form, Fields) else make(parsed)

    @property
    def brokers(self) -> Iterable[BrokerRef]:
        """The brokers that the action names."""
        broker: BrokerRef | None = getattr(self, "broker", None)
        return () if broker is None else (broker,)

    def check(self, rule: Rule) -> None:
        """Check that the action fits the other parts of its rule. Raises RuleError."""
        if rule.phase is None:
            if not self.on_cluster:
                msg = f"missing: {self.name} acts on a request; expected a phase such as {self.phases[0].value}"
                raise RuleError(("phase",), msg)
        elif rule.phase not in self.phases:
            known = ", ".join(phase.value for phase in self.phases)
            raise RuleError(("phase",), f"{self.name} fires in {known}, not in {rule.phase.value}")

    @abstractmethod
    def fire(self, firing: Firing) -> Interception | None:
        """Do it. Returns the decision on the request that triggered the rule, None to go on or without a request.

        Raises:
            NoEffect: the action would change nothing, as a kill of a dead broker; the rule does not count as fired.
            RuleError: the action is impossible here; the rule reports it as its problem.
        """
