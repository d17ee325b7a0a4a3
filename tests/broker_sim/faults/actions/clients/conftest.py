"""Clients of a run that record what rules do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


class RecordedClients:
    """One client, `app`."""

    client_names = ("app",)

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def pause_client(self, name: str) -> None:
        self.calls.append(("pause_client", name))

    def resume_client(self, name: str) -> None:
        self.calls.append(("resume_client", name))

    def kill_client(self, name: str) -> None:
        self.calls.append(("kill_client", name))

    def restart_client(self, name: str) -> None:
        self.calls.append(("restart_client", name))


@pytest.fixture
def clients() -> Callable[[Any], RecordedClients]:
    def control(made: Any) -> RecordedClients:
        target = RecordedClients()
        made.cluster.faults.control_clients(target)
        return target

    return control
