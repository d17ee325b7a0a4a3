from __future__ import annotations

import asyncio
from typing import Any

from sim_runtime.asyncio_reactor import AsyncioReactor

SECONDS_MAX = 10


class Receiver:
    """Notes what it hears of a name; `complete` is set at the end."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.complete = asyncio.Event()

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        self.heard.append(f"{resolution.name} began")

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        self.heard.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802
        self.complete.set()


def test_of_a_name_that_is_cancelled_nothing_more_is_heard() -> None:
    async def ask() -> tuple[Receiver, Receiver]:
        resolver = AsyncioReactor(asyncio.get_running_loop()).nameResolver
        cancelled, asked = Receiver(), Receiver()
        resolution: Any = resolver.resolveHostName(cancelled, "127.0.0.1")  # type: ignore[arg-type]
        resolver.resolveHostName(asked, "127.0.0.2")  # type: ignore[arg-type]
        resolution.cancel()
        await asyncio.wait_for(asked.complete.wait(), SECONDS_MAX)
        return cancelled, asked

    cancelled, asked = asyncio.run(ask())
    assert cancelled.heard == ["127.0.0.1 began"]
    assert not cancelled.complete.is_set()
    assert asked.heard == ["127.0.0.2 began", "127.0.0.2"]
