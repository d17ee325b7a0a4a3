from __future__ import annotations

import pytest

from broker_sim.quotas.rate import LONG_MAX, UNBOUNDED, Rate, TokenBucket


def rate(bound: float = 10, samples: int = 11) -> Rate:
    return Rate(bound=bound, samples=samples, window_ms=1000)


def test_a_rate_that_has_just_begun_is_measured_over_all_windows_but_one() -> None:
    each = rate()
    each.record(100, 0)
    assert each.measure(0) == 10
    assert each.throttle_ms(0) == 0
    each.record(50, 0)
    assert each.throttle_ms(0) == 5000


def test_a_rate_falls_as_time_passes_without_events() -> None:
    each = rate()
    each.record(200, 0)
    assert each.measure(0) == 20
    assert each.measure(10_500) == pytest.approx(200 / 10.5)
    assert each.measure(11_000) == 0


def test_old_windows_leave_a_rate_one_by_one() -> None:
    each = rate()
    for second in range(20):
        each.record(10, second * 1000)
    assert each.measure(19_000) == pytest.approx(11 * 10 / 10)


def test_what_is_taken_back_was_never_counted() -> None:
    each = rate()
    each.record(500, 0)
    each.record(-500, 0)
    assert each.measure(0) == 0


def test_no_bound_never_throttles_and_a_bound_of_0_always_does() -> None:
    free, closed = rate(UNBOUNDED), rate(0)
    for each in (free, closed):
        each.record(1e12, 0)
    assert (free.throttle_ms(0), closed.throttle_ms(0)) == (0, LONG_MAX)


def test_a_bucket_begins_full_and_lets_one_request_go_below_none() -> None:
    bucket = TokenBucket(bound=1, samples=11, window_ms=1000)
    assert bucket.measure(0) == 11
    bucket.record(11, 0)
    assert bucket.throttle_ms(0) == 0
    bucket.record(5, 0)
    assert bucket.throttle_ms(0) == 5000
    assert bucket.throttle_ms(2000) == 3000
    assert bucket.throttle_ms(5000) == 0
    assert bucket.measure(60_000) == 11


def test_a_bucket_without_bound_is_never_empty() -> None:
    bucket = TokenBucket(bound=UNBOUNDED, samples=11, window_ms=1000)
    bucket.record(1e9, 0)
    assert bucket.throttle_ms(0) == 0
    bucket.bound = 1
    assert bucket.measure(0) == 11


def test_a_bucket_below_zero_is_full_after_a_moment_without_bound() -> None:
    bucket = TokenBucket(bound=1, samples=11, window_ms=1000)
    bucket.record(100, 0)
    bucket.bound = UNBOUNDED
    bucket.bound = 1
    assert bucket.throttle_ms(1000) == 88_000
    bucket.bound = UNBOUNDED
    bucket.record(5, 1001)
    bucket.bound = 1
    assert bucket.measure(1001) == 11
