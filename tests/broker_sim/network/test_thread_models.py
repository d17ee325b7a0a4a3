"""The claims of the benchmark of both thread models, as directions; virtual time gives the same figures each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.thread_models import LOADS, Load, Measured, Run, compare, main

REQUESTS = 400
BY_NAME = {load.name: load for load in LOADS}


def both(name: str) -> tuple[Measured, Measured]:
    return compare(BY_NAME[name], REQUESTS)


@pytest.mark.parametrize("name", ["1 connection, 5 in flight", "32 connections, 5 in flight"])
def test_the_pipelined_model_serves_more_in_less_time_by_fewer_writes(name: str) -> None:
    classic, pipelined = both(name)
    assert pipelined.throughput > 2 * classic.throughput
    assert pipelined.percentile(50) < classic.percentile(50) / 2
    assert pipelined.percentile(99) < classic.percentile(99) / 2
    assert pipelined.writes < classic.writes / 2


def test_near_the_classic_models_limit_the_pipelined_one_still_responds_at_once() -> None:
    classic, pipelined = compare(BY_NAME["32 connections, 3,500 requests/s"], 2_000)
    assert pipelined.percentile(99) < classic.percentile(99) / 2


def test_under_a_light_load_waiting_for_the_next_write_costs_the_median() -> None:
    classic, pipelined = both("32 connections, 1,000 requests/s")
    assert classic.percentile(50) < pipelined.percentile(50) < 2 * classic.percentile(50)


def test_two_busy_connections_on_one_handler_get_half_of_what_two_handlers_give() -> None:
    _, apart = both("2 busy connections, two handlers")
    _, together = both("2 busy connections, one handler")
    assert 0.4 < together.throughput / apart.throughput < 0.6
    assert together.percentile(50) > 1.5 * apart.percentile(50)


def test_with_nothing_to_persist_a_shared_handler_makes_the_pipelined_model_the_slower_one() -> None:
    classic, pipelined = both("the same, nothing to persist")
    assert pipelined.throughput < 0.6 * classic.throughput


def test_a_run_is_a_function_of_its_seed() -> None:
    load = Load(name="any", connections=3)
    first, second = (Run("pipelined", load, 50).measure() for _ in range(2))
    assert first == second


def test_the_document_shows_what_the_benchmark_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["thread_models.py"])
    main()
    assert capsys.readouterr().out in (Path(__file__).parents[3] / "docs" / "how-to" / "measure.md").read_text()
