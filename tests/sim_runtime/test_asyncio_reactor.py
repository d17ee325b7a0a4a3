from __future__ import annotations

import asyncio
from typing import Any

from sim_runtime.asyncio_reactor import AsyncioReactor

SECONDS_MAX = 10


class Receiver:
    """Records the resolution of a name; `complete` is set at the end."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self.complete = asyncio.Event()

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        self.received.append(f"{resolution.name} began")

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        self.received.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802
        self.complete.set()


def test_a_cancelled_resolution_reports_nothing_more() -> None:
    async def resolve() -> tuple[Receiver, Receiver]:
        resolver = AsyncioReactor(asyncio.get_running_loop()).nameResolver
        cancelled, resolved = Receiver(), Receiver()
        resolution: Any = resolver.resolveHostName(cancelled, "127.0.0.1")  # type: ignore[arg-type]
        resolver.resolveHostName(resolved, "127.0.0.2")  # type: ignore[arg-type]
        resolution.cancel()
        await asyncio.wait_for(resolved.complete.wait(), SECONDS_MAX)
        return cancelled, resolved

    cancelled, resolved = asyncio.run(resolve())
    assert cancelled.received == ["127.0.0.1 began"]
    assert not cancelled.complete.is_set()
    assert resolved.received == ["127.0.0.2 began", "127.0.0.2"]
