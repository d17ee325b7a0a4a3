"""The requests of clients that a journal holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.control.events import RequestReceived

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.control.journal import Journal

__all__ = ["client_requests"]


def client_requests(
    journal: Journal, api: str | None = None, client_id: str | None = None
) -> Iterator[tuple[int, RequestReceived]]:
    """Return the requests of clients with their sequence numbers, of one API and of one client id or of all."""
    for sequence, event in journal.numbered():
        if (
            isinstance(event, RequestReceived)
            and event.replica_id < 0
            and api in (None, event.api)
            and client_id in (None, event.client_id)
        ):
            yield sequence, event
