"""The benchmark of many connections and topics, with few of them: it runs, and its memory is within the target."""

from __future__ import annotations

from benchmarks.scale import run


def test_it_measures_a_server_and_an_idle_hour() -> None:
    results = run(connections=20, topics=20)
    assert [result.unit.strip() for result in results] == ["s", "s", "ms", "ms", "ms", "MB", "s", "ms", "s"]
    assert all(result.figure >= 0 for result in results)
    (memory,) = (result for result in results if "memory" in result.name)
    assert memory.reached
