from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.client_action import ClientAction
from broker_sim.faults.rule import RuleError
from tests.broker_sim.faults.firings import Scheduled

if TYPE_CHECKING:
    from broker_sim.faults.action_context import ClientTarget


class Clients:
    client_names = ("app", "audit")

    def __init__(self) -> None:
        self.calls: list[str] = []


@dataclass(frozen=True, slots=True)
class Freeze(ClientAction):
    def begin(self, clients: ClientTarget) -> object:
        target: Any = clients
        return target.calls.append(f"freeze {self.client}")


@dataclass(frozen=True, slots=True)
class FreezeForATime(Freeze):
    def end(self, clients: ClientTarget) -> object:
        target: Any = clients
        return target.calls.append(f"thaw {self.client}")


@pytest.mark.parametrize(("action", "undone"), [(Freeze, []), (FreezeForATime, ["thaw app"])])
def test_it_begins_later_and_is_undone_at_the_end(action: type[Freeze], undone: list[str]) -> None:
    clients = Clients()
    scheduled = Scheduled(ends=True, clients=clients)
    action("app").fire(scheduled.firing)
    assert clients.calls == []
    scheduled.soon.pop()()
    assert clients.calls == ["freeze app"]
    scheduled.at_end.pop()()
    assert clients.calls == ["freeze app", *undone]
    assert (scheduled.soon, scheduled.at_end) == ([], [])


def test_without_an_until_it_stays() -> None:
    scheduled = Scheduled(ends=False, clients=Clients())
    FreezeForATime("app").fire(scheduled.firing)
    assert (len(scheduled.soon), scheduled.at_end) == (1, [])


def test_an_unknown_client_is_named() -> None:
    scheduled = Scheduled(ends=True, clients=Clients())
    with pytest.raises(RuleError, match="there is no client 'ap': they are app, audit"):
        Freeze("ap").fire(scheduled.firing)
    assert (scheduled.soon, scheduled.at_end) == ([], [])
