from collections import Counter

import pytest

from broker_scenarios.workloads.alias_table import AliasTable, zipf_weights
from broker_scenarios.workloads.splitmix import CounterStream


@pytest.mark.parametrize("weights", [[1], [1, 1, 1], [5, 3, 2], [0, 1, 0, 9]])
def test_choices_come_in_their_shares(weights):
    table, stream = AliasTable(weights), CounterStream(1, 1)
    drawn = Counter(table.draw(stream, counter) for counter in range(20_000))
    for choice, weight in enumerate(weights):
        assert drawn[choice] == pytest.approx(20_000 * weight / sum(weights), rel=0.05)


def test_an_exponent_of_zero_makes_all_ranks_equal():
    assert zipf_weights(3, 0) == [1, 1, 1]
    assert zipf_weights(3, 1) == pytest.approx([1, 1 / 2, 1 / 3])
