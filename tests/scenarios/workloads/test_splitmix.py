import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from broker_scenarios.workloads.splitmix import CounterStream, mix64


@given(st.integers(0, 2**63 - 1), st.integers(0, 10), st.lists(st.integers(0, 2**62), min_size=1, max_size=5))
def test_arrow_and_python_give_the_same_numbers(seed, stream, counters):
    numbers = CounterStream(seed, stream)
    assert numbers.at_all(pa.array(counters, pa.int64())).to_pylist() == [numbers.at(each) for each in counters]


def test_the_numbers_are_those_of_splitmix64():
    # The first outputs of the published generator for seed 0.
    gamma = 0x9E3779B97F4A7C15
    assert [mix64(gamma * turn % 2**64) for turn in (1, 2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_a_bounded_draw_stays_below_its_limit_and_reaches_every_value():
    drawn, rest = CounterStream(3, 1).below_all(pa.array(range(1_000)), 7)
    assert sorted(set(drawn.to_pylist())) == list(range(7))
    assert 0 <= min(rest.to_pylist()) <= max(rest.to_pylist()) < 2**32
