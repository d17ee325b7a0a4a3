"""The states of a classic group. Mirrors ClassicGroupState.

| state | leaves to | when |
|---|---|---|
| EMPTY | PREPARING_REBALANCE | a member joins |
| PREPARING_REBALANCE | COMPLETING_REBALANCE | the join phase ends, and the group has members |
| | EMPTY | the join phase ends, and the group has none |
| COMPLETING_REBALANCE | STABLE | the leader's assignment is committed |
| | PREPARING_REBALANCE | a member joins, changes its protocols, leaves or expires; the assignment cannot be written |
| STABLE | PREPARING_REBALANCE | a member joins, changes its protocols, leaves or expires; the leader joins again |
| any | DEAD | the group is deleted, or its shard ends |
"""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["ClassicGroupState", "may_become"]


class ClassicGroupState(Enum):
    """The state of one classic group; the value is its name in ListGroups and DescribeGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_PREVIOUS: Final = {
    ClassicGroupState.EMPTY: (ClassicGroupState.PREPARING_REBALANCE,),
    ClassicGroupState.PREPARING_REBALANCE: (
        ClassicGroupState.STABLE,
        ClassicGroupState.COMPLETING_REBALANCE,
        ClassicGroupState.EMPTY,
    ),
    ClassicGroupState.COMPLETING_REBALANCE: (ClassicGroupState.PREPARING_REBALANCE,),
    ClassicGroupState.STABLE: (ClassicGroupState.COMPLETING_REBALANCE,),
    ClassicGroupState.DEAD: tuple(ClassicGroupState),
}


def may_become(state: ClassicGroupState, following: ClassicGroupState) -> bool:
    """Return True if a group can go from one state to the other."""
    return state in _PREVIOUS[following]
