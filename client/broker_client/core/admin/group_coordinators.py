"""The route to the coordinators of groups, and how their codes are read. Mirrors CoordinatorStrategy."""

from __future__ import annotations

from typing import Any, Final

from broker_client.core.admin.coordinators import OF_GROUPS, CoordinatorRoute

__all__ = ["by_group", "of_group", "take_code"]

take_code: Final = OF_GROUPS.take_code
"""Record the result of an item by the code of its group's coordinator."""


def by_group() -> CoordinatorRoute[str]:
    """Return the route of a call whose items are group ids."""
    return CoordinatorRoute(OF_GROUPS, lambda group_id: group_id)


def of_group(group_id: str) -> CoordinatorRoute[Any]:
    """Return the route of a call whose items belong to one group."""
    return CoordinatorRoute(OF_GROUPS, lambda _: group_id)
