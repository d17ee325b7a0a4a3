"""The configurations that are set on a resource."""

from __future__ import annotations

from typing import Any


def config_of(made: Any, kind: str, name: str) -> dict[str, str]:
    found: list[dict[str, str]] = []
    made.cluster.admin.config_of(kind, name).addCallback(found.append)
    return found[0]
