from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_runtime.backoff import ExponentialBackoff


def test_the_pause_doubles_up_to_its_maximum():
    backoff = ExponentialBackoff(100, 1000, 2, 0, random.Random(1))
    assert [backoff.backoff_ms(attempts) for attempts in range(6)] == [100, 200, 400, 800, 1000, 1000]


def test_a_maximum_below_the_start_is_a_constant_pause_without_jitter():
    backoff = ExponentialBackoff(100, 50, 2, 0.2, random.Random(1))
    assert [backoff.backoff_ms(attempts) for attempts in (0, 1, 9)] == [50, 50, 50]


@given(st.integers(0, 1000), st.integers(1, 10**6))
def test_jitter_stays_within_its_share_and_below_the_maximum(attempts, seed):
    pause = ExponentialBackoff(50, 1000, 2, 0.2, random.Random(seed)).backoff_ms(attempts)
    term = min(50 * 2 ** min(attempts, 20), 1000)
    assert int(term * 0.8) <= pause <= min(term * 1.2, 1000)


def test_the_same_stream_gives_the_same_pauses():
    first, second = (ExponentialBackoff(50, 1000, 2, 0.2, random.Random(3)) for _ in range(2))
    assert [first.backoff_ms(n) for n in range(8)] == [second.backoff_ms(n) for n in range(8)]


@pytest.mark.parametrize("jitter", [-0.1, 1.1])
def test_a_jitter_that_is_no_share_is_refused(jitter):
    with pytest.raises(ValueError, match="jitter"):
        ExponentialBackoff(50, 1000, 2, jitter, random.Random(1))
