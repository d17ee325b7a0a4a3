from broker_scenarios.workloads.splitmix import CounterStream, mix64


def test_the_numbers_are_those_of_splitmix64():
    # The first outputs of the published generator for seed 0.
    gamma = 0x9E3779B97F4A7C15
    assert [mix64(gamma * step % 2**64) for step in (1, 2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_a_bounded_draw_stays_below_its_limit_and_reaches_every_value():
    drawn = [CounterStream(3, 1).below(counter, 7) for counter in range(1_000)]
    assert sorted({choice for choice, _ in drawn}) == list(range(7))
    assert all(0 <= rest < 2**32 for _, rest in drawn)
