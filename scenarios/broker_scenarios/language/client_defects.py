"""The documented bugs of a client group, divided between its producers and its consumers."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from broker_client.errors import ConfigError
from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_client.core.client_parts import NetworkParts

__all__ = ["defects_of", "problems_of"]


def defects_of(names: Iterable[str], parts: NetworkParts) -> tuple[str, ...]:
    """The defects that replace a class of these parts; the others are of the other half of the client."""
    if not names:
        return ()
    from broker_client.defects import DEFECTS

    known = {field.name for field in fields(parts)}
    return tuple(name for name in names if known & set(DEFECTS[name].parts))


def problems_of(names: Iterable[str], halves: Iterable[NetworkParts]) -> Iterator[tuple[int, str]]:
    """The place and the problem of each name that no half of the client can have."""
    from broker_client.defects import DEFECTS, applied

    for place, name in enumerate(names):
        if name not in DEFECTS:
            hint = nearest(name, DEFECTS) or f"; expected one of {', '.join(DEFECTS)}"
            yield place, f"unknown client defect {name!r}{hint}"
        elif not any(defects_of([name], half) for half in halves):
            try:
                for half in halves:
                    applied(half, [name])
            except ConfigError as error:
                yield place, str(error)
