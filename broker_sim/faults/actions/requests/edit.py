"""The action `edit`: a request is served, or a response is sent, with changed fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from broker_sim.faults.action import Action
from broker_sim.faults.forms import Anything, Fields, ListOf, Text, Truth, Whole
from broker_sim.faults.interception import Edit as EditOfMessage
from broker_sim.faults.interception import Interception, Phase
from broker_sim.faults.rule import RuleError
from protocol_specs.fuzzing import Mutation

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.forms import Path, Schema

_CHANGES: Final = ("set", "delete", "duplicate", "append", "reverse", "lengthen", "shorten")
_VALUE_OF: Final = {"set": "to", "append": "value"}
"""The key that a change needs for its value."""
_FIELD: Final = "responses[0].partition_responses[0].base_offset"


@dataclass(frozen=True, slots=True)
class _OneEdit:
    """One change of one field, or of every field that fits a path with `[*]`."""

    fields: Fields

    def parse(self, value: object, path: Path) -> Mutation:
        """Return the mutation. Raises RuleError for a key that the change does not have."""
        given: dict[str, Any] = self.fields.parse(value, path)
        (change,) = (name for name in _CHANGES if name in given)
        field, reframe = given.pop(change), given.pop("reframe", True)
        needed = _VALUE_OF.get(change)
        allowed = {needed} if needed else {"by"} if change in {"lengthen", "shorten"} else set()
        allowed |= {"times"} if change == "duplicate" else set()
        for name in given:
            if name not in allowed:
                raise RuleError((*path, name), f"{change} does not have it")
        if needed is not None and needed not in given:
            raise RuleError((*path, needed), f"missing; expected the value of {change}")
        return _mutation(change, field, given, reframe=reframe)

    @property
    def schema(self) -> Schema:
        """An object."""
        return self.fields.schema | {"examples": [{"set": _FIELD, "to": 0}]}


def _mutation(change: str, field: str, given: dict[str, Any], *, reframe: bool) -> Mutation:
    if change == "set":
        return Mutation.set(field, given["to"], reframe=reframe)
    if change == "append":
        return Mutation.append(field, given["value"], reframe=reframe)
    if change == "duplicate":
        return Mutation.duplicate(field, times=given.get("times", 1), reframe=reframe)
    if change == "lengthen":
        return Mutation.lengthen(field, by=given.get("by", 1), reframe=reframe)
    if change == "shorten":
        return Mutation.shorten(field, by=given.get("by", 1), reframe=reframe)
    return Mutation.reverse(field, reframe=reframe) if change == "reverse" else Mutation.delete(field, reframe=reframe)


_EDIT: Final = _OneEdit(
    Fields(
        one_of=(_CHANGES,),
        set=Text("the path of a field to write; `[*]` is every element of a list", _FIELD),
        to=Anything("the value that `set` writes", 0),
        delete=Text("the path of a field or element to remove", "responses[0]"),
        duplicate=Text("the path of a field or element to repeat", "responses[0]"),
        times=Whole("how often `duplicate` repeats it, by default once", 2, at_least=1, at_most=1_000, drawable=False),
        append=Text("the path of a list that gets one more element", "responses[0].partitions[0].aborted_transactions"),
        value=Anything("the element that `append` adds", {"producer_id": 7, "first_offset": 0}),
        reverse=Text("the path of a list whose elements change their order", "responses"),
        lengthen=Text("the path of a text or of bytes that get more zero bytes", "header.client_id"),
        shorten=Text("the path of a text or of bytes that lose bytes at their end", "header.client_id"),
        by=Whole(
            "the number of bytes of `lengthen` and `shorten`, by default 1",
            1,
            at_least=1,
            at_most=1 << 20,
            drawable=False,
        ),
        reframe=Truth("true (default) to compute the lengths and checksums around it anew"),
    )
)


@dataclass(frozen=True, slots=True)
class Edit(Action):
    """Change fields of a response (`phase: before_response`, the default) or of a request (`before_parse`) by path.

    `frame_size` and `header.correlation_id` are paths of a whole frame. A message between brokers has no bytes: its
    fields, elements and lists change. A path that a message does not have leaves it unchanged and is reported as the
    problem of the rule.
    """

    phases: ClassVar = (Phase.BEFORE_RESPONSE, Phase.BEFORE_PARSE)
    form: ClassVar = ListOf(_EDIT, "one change, or a list of changes in their order")
    mutations: tuple[Mutation, ...]

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that changes the message."""
        return Interception(edits=(EditOfMessage(self.mutations, firing.report_problem),))
