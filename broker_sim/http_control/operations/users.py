"""Calls on the users of SCRAM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.http_control.operation import CLUSTER, Operation

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS"]

USER: Final = f"{CLUSTER}/scram-users/{{user}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """The password of a user; `mechanism` is `SCRAM-SHA-256` or `SCRAM-SHA-512`."""

    password: str
    mechanism: str = "SCRAM-SHA-256"
    iterations: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismQuery:
    """The mechanism whose password is deleted."""

    mechanism: str = "SCRAM-SHA-256"


def created(call: Call) -> Deferred[None]:
    """Set the password of a user."""
    given = call.body
    return call.cluster.admin.create_scram_user(
        call.path["user"], given.password, mechanism=given.mechanism, iterations=given.iterations
    )


def deleted(call: Call) -> Deferred[None]:
    """Delete the password of a user."""
    return call.cluster.admin.delete_scram_user(call.path["user"], mechanism=call.query.mechanism)


OPERATIONS = (
    Operation(
        method="PUT",
        path=USER,
        name="putScramUser",
        summary="Set the password of a user for SCRAM; responds when every running broker has it.",
        handle=created,
        body=Credential,
        status=204,
    ),
    Operation(
        method="DELETE",
        path=USER,
        name="deleteScramUser",
        summary="Delete the password of a user for a mechanism.",
        handle=deleted,
        query=MechanismQuery,
        status=204,
    ),
)
