"""The action `mutate`: the response is sent with changed bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from broker_sim.faults.action import Action
from broker_sim.faults.forms import Anything, Fields, Text, Truth, Whole, shown
from broker_sim.faults.interception import Edit, Interception, Phase
from broker_sim.faults.rule import RuleError
from protocol_specs.fuzzing import Mutation

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.forms import Path
    from broker_sim.faults.rule import Rule


_MUTATIONS: Final[dict[str, Callable[[str, Any, bool], Mutation]]] = {
    "value": lambda field, value, reframe: Mutation.set(field, value, reframe=reframe),
    "lengthen": lambda field, amount, reframe: Mutation.lengthen(field, by=amount, reframe=reframe),
    "shorten": lambda field, amount, reframe: Mutation.shorten(field, by=amount, reframe=reframe),
    "duplicate": lambda field, amount, reframe: Mutation.duplicate(field, times=amount, reframe=reframe),
    "delete": lambda field, _, reframe: Mutation.delete(field, reframe=reframe),
}


@dataclass(frozen=True, slots=True)
class Mutate(Action):
    """Change one field of the response, by its path (see `protocol_specs.fuzzing`), and send the rest as it is.

    A path that the response does not have leaves the response unchanged and is reported as the problem of the rule.
    """

    phases: ClassVar = (Phase.BEFORE_RESPONSE,)
    form: ClassVar = Fields(
        required=("path",),
        one_of=(tuple(_MUTATIONS),),
        path=Text("a field, such as `responses[0].partition_responses[0].base_offset`", "error_code"),
        value=Anything("the value of the field", 42),
        lengthen=Whole("how many zero bytes to add to the content of the field", 1, at_least=1, drawable=False),
        shorten=Whole("how many bytes to remove from the content of the field", 1, at_least=1, drawable=False),
        duplicate=Whole("how often to repeat the field or element", 1, at_least=1, drawable=False),
        delete=Truth("remove the field or element"),
        reframe=Truth("true (default) to compute the lengths and checksums around it anew"),
    )
    mutation: Mutation

    @classmethod
    def parse(cls, value: object, path: Path) -> Mutate:
        """Return the action for the path of a field and one change."""
        given = cls.form.parse(value, path)
        field, reframe = given.pop("path"), given.pop("reframe", True)
        ((change, amount),) = given.items()
        if change == "delete" and not amount:
            raise RuleError((*path, change), f"expected true, not {shown(amount)}")
        return cls(_MUTATIONS[change](field, amount, reframe))

    def check(self, rule: Rule) -> None:
        """Refuse requests between brokers."""
        Action.check(self, rule)
        if rule.select.replica is not None:
            problem = "mutate changes the bytes that clients receive: brokers exchange messages by reference"
            raise RuleError(("select", "replica"), problem)

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that mutates the response."""
        return Interception(edits=(Edit((self.mutation,), firing.report_problem),))
