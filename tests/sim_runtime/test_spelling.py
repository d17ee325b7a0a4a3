from __future__ import annotations

from sim_runtime.spelling import nearest


def test_the_nearest_name_is_offered_and_none_that_is_far() -> None:
    assert nearest("num.partitons", ["num.partitions", "num.io.threads"]) == "; did you mean 'num.partitions'?"
    assert nearest("acks", ["linger.ms"]) == ""
