from __future__ import annotations

import copy
import random

import pytest

from sim_runtime.random_streams import LazyRandom, RandomStreams, RenamedStreams


def test_a_stream_depends_on_seed_and_name_alone():
    first = RandomStreams(7)
    second = RandomStreams(7)
    first.stream("other").random()
    assert [first.stream("network").random() for _ in range(3)] == [second.stream("network").random() for _ in range(3)]


def test_seeds_and_names_give_different_streams():
    draws = [RandomStreams(seed).stream(name).random() for seed in (1, 2, -1) for name in ("a", "b", "")]
    assert len(dict.fromkeys(draws)) == 9


def test_the_first_draw_of_a_known_stream_never_changes():
    assert RandomStreams(4711).stream("broker-1/election").getrandbits(32) == 2641332531


def test_the_same_name_goes_on_with_the_same_stream():
    streams = RandomStreams(1)
    assert streams.stream("a") is streams.stream("a")


def test_the_fingerprint_depends_on_the_number_of_draws():
    first, second = RandomStreams(1), RandomStreams(1)
    for streams in (first, second):
        streams.stream("a")
        streams.stream("b")
    assert first.fingerprint() == second.fingerprint()
    first.stream("b").random()
    assert first.fingerprint() != second.fingerprint()
    second.stream("b").random()
    assert first.fingerprint() == second.fingerprint()


def test_renamed_streams_are_other_streams_of_the_same_run() -> None:
    streams = RandomStreams(1)
    renamed = RenamedStreams(streams, " again")
    assert renamed.stream("a") is streams.stream("a again")
    assert renamed.stream("a").random() != RandomStreams(1).stream("a").random()
    assert renamed.fingerprint() == streams.fingerprint()


def test_a_stream_is_seeded_with_its_first_draw_and_has_the_methods_of_a_random() -> None:
    seeded, lazy = random.Random(7), LazyRandom(7)
    assert lazy.getstate() == seeded.getstate()
    drawn = [(each.random(), each.getrandbits(9), each.choice("abc"), each.randbytes(3)) for each in (seeded, lazy)]
    assert drawn[0] == drawn[1]
    assert lazy.getstate() == seeded.getstate()
    assert copy.deepcopy(lazy).random() == seeded.random()
    with pytest.raises(AttributeError, match="draws"):
        _ = lazy.draws
