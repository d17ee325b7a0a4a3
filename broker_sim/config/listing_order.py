"""The order in which DescribeConfigs lists configurations: that of the table which holds the requested ones.

Mirrors ConfigHelper. 2.7 to 4.1 filter the requested ones into a Scala table of their own; 4.2 and later, in Java, and
those before 2.7 list a part in the order of the whole. The whole list of a release shows which of both it does.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from broker_sim.config.definitions import describe_order
from protocol_specs.java_hash import hash_set_order, string_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["listing_order"]


def listing_order(kind: str, release: str, known: Sequence[str], others: Sequence[str]) -> list[str]:
    """Names of a kind as they are listed: `known` in the order of the whole list, `others` in that of their table."""
    names = [*others, *known]
    if _is_filtered_anew(kind, release):
        return [names[place] for place in hash_set_order(map(string_hash, names))]
    return names


@cache
def _is_filtered_anew(kind: str, release: str) -> bool:
    whole = describe_order(kind, release)
    return hash_set_order(map(string_hash, whole)) == list(range(len(whole)))
