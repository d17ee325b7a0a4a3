"""The order of the members of a classic group; that of java.util.HashMap and scala.collection.mutable.HashMap."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.classic.member_table import MemberTable

IDS = [f"member-{number}-{number * 7919}" for number in range(13)]
JAVA = {
    11: [6, 3, 1, 5, 10, 4, 7, 9, 8, 0, 2],
    12: [6, 3, 11, 1, 5, 10, 4, 7, 9, 8, 0, 2],
    13: [6, 12, 4, 9, 2, 3, 11, 1, 5, 10, 7, 8, 0],
}
SCALA = {
    11: [6, 3, 1, 10, 5, 7, 4, 9, 8, 0, 2],
    12: [6, 4, 9, 2, 11, 3, 1, 10, 5, 7, 8, 0],
    13: [6, 12, 4, 9, 2, 11, 3, 1, 10, 5, 7, 8, 0],
}


def table(count, *, of_scala):
    found = MemberTable(of_scala=of_scala)
    for number in range(count):
        found[IDS[number]] = number
    return found


@pytest.mark.parametrize(("of_scala", "orders"), [(False, JAVA), (True, SCALA)])
def test_members_are_in_the_order_of_the_table(of_scala, orders):
    for count, order in orders.items():
        assert list(table(count, of_scala=of_scala).values()) == order


@pytest.mark.parametrize(("of_scala", "orders"), [(False, JAVA), (True, SCALA)])
def test_the_table_does_not_shrink(of_scala, orders):
    found = table(13, of_scala=of_scala)
    left = found.pop(IDS[12])
    assert list(found.values()) == [number for number in orders[13] if number != left]
    assert (len(found), IDS[12] in found, found.get(IDS[12]), found.get(IDS[0])) == (12, False, None, 0)
