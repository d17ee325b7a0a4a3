"""Calls on the links between nodes. Clients are not affected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_sim.errors import BrokerSimError
from broker_sim.http_control.operation import CLUSTER, Operation, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.http_control.operation import Call
    from broker_sim.links.link import Link

__all__ = ["OPERATIONS"]

LINK: Final = f"{CLUSTER}/links/{{source}}/{{target}}"


def link_of(call: Call) -> Link:
    """Return the link in the path. Raises UnknownName."""
    source, target = call.number("source"), call.number("target")
    try:
        return call.cluster.link(source, target)
    except BrokerSimError as error:
        raise UnknownName(str(error)) from None


VERBS: Final[Mapping[str, tuple[str, Callable[[Link], Any]]]] = {
    "hold": ("Keep every message from one node to another until `release`.", lambda link: link.hold()),
    "release": ("Deliver the messages that the link holds, in order.", lambda link: link.release()),
    "cut": ("Lose every message from one node to another until `restore`.", lambda link: link.cut()),
    "restore": ("Deliver messages again after `cut`.", lambda link: link.restore()),
}


@dataclass(frozen=True, slots=True)
class LinkDelay:
    """The delay of each message in milliseconds; 0 ends it."""

    delay_ms: float


def slowed(call: Call) -> None:
    """Set the delay of a link."""
    if call.body.delay_ms < 0:
        raise BrokerSimError(f"delay_ms: {call.body.delay_ms:g} is below 0")
    link_of(call).set_delay(call.body.delay_ms)


def _verb(name: str) -> Operation:
    summary, act = VERBS[name]

    def handle(call: Call) -> None:
        act(link_of(call))

    return Operation(
        method="POST", path=f"{LINK}/{name}", name=f"{name}Link", summary=summary, handle=handle, status=204
    )


OPERATIONS = (
    *map(_verb, VERBS),
    Operation(
        method="POST",
        path=f"{LINK}/delay",
        name="slowLink",
        summary="Delay each message from one node to another from now on.",
        handle=slowed,
        body=LinkDelay,
        status=204,
    ),
)
