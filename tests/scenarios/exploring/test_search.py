from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.exploring.explored_run import crash_rules
from broker_scenarios.exploring.search import Counts, Search, replay
from tests.scenarios.exploring.scopes import small_scope

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 1_000
LOST = ("lost 1, expected exactly 0",)


def test_the_whole_space_has_the_loss_with_acks_1_and_its_schedule_is_replayed(tmp_path: Path) -> None:
    scenario = small_scope(tmp_path, "1")
    search = Search(scenario, scenario.seed)
    endings = [*search.endings(runs_max=RUNS)]
    assert search.is_whole
    lost = [ending for ending in endings if ending.misses]
    assert {ending.misses for ending in lost} == {LOST}
    assert 0 < len(lost) < len(endings)
    again = replay(scenario, scenario.seed, lost[0].choices)
    assert (again.misses, again.choices) == (LOST, lost[0].choices)
    assert [step.name for step in again.steps] == [step.name for step in lost[0].steps]
    # The numbers of a search are the same in each process, under any hash seed.
    assert search.counts == Counts(
        runs=41, completed=19, states=55, final_states=9, choice_points=57, asleep=20, known=2, deepest=7
    )


def test_reduction_finds_every_state_that_the_search_of_all_orders_finds(tmp_path: Path) -> None:
    scenario = small_scope(tmp_path, "all")
    reduced, complete = (Search(scenario, scenario.seed, reduced=each) for each in (True, False))
    for search in (reduced, complete):
        assert {ending.misses for ending in search.endings(runs_max=RUNS)} == {()}
        assert search.is_whole
    assert reduced.final_states == complete.final_states
    assert reduced.counts.states == complete.counts.states
    assert 2 * reduced.counts.runs < complete.counts.runs


def test_a_bound_is_no_whole_space(tmp_path: Path) -> None:
    scenario = small_scope(tmp_path, "1")
    shallow = Search(scenario, scenario.seed, depth=1)
    assert len([*shallow.endings(runs_max=RUNS)]) == 2
    assert not shallow.is_whole
    stopped = Search(scenario, scenario.seed)
    assert len([*stopped.endings(runs_max=1)]) == 1
    assert not stopped.is_whole
    assert stopped.counts.runs == 1


def test_a_lost_message_is_a_step(tmp_path: Path) -> None:
    scenario = small_scope(tmp_path, "1", rules="{}")
    whole = Search(scenario, scenario.seed)
    assert [ending.misses for ending in whole.endings(runs_max=RUNS)] == [()] * whole.counts.completed
    lossy = Search(scenario, scenario.seed, losses=1)
    endings = [*lossy.endings(runs_max=RUNS)]
    assert lossy.is_whole
    assert lossy.counts.states > whole.counts.states
    lost = [step.message for ending in endings for step in ending.steps if step.name.startswith("lose ")]
    assert "Produce request lost" in lost
    assert "Fetch response lost" in lost


def test_a_listener_with_tls_is_refused(tmp_path: Path) -> None:
    scenario = small_scope(tmp_path, "1", cluster="certificates: {broker: {}}")
    store = {"ssl.keystore.type": "PEM", "ssl.keystore.key": "${certificates:broker:key}"}
    chain = {"ssl.keystore.certificate.chain": "${certificates:broker:chain}"}
    config = {**scenario.broker_config, **store, **chain, "listeners": "PLAINTEXT://:0,SSL://:0"}
    with pytest.raises(ScenarioError, match="listener SSL is SSL, and the messages of encrypted connections cannot be"):
        [*Search(replace(scenario, broker_config=config), scenario.seed).endings(runs_max=1)]


def test_a_schedule_that_cannot_be_followed_is_refused(tmp_path: Path) -> None:
    scenario = small_scope(tmp_path, "1")
    with pytest.raises(ScenarioError, match=r"choices: number 1, 'nowhere', is no step that is possible there: 'app:"):
        replay(scenario, scenario.seed, ["nowhere"])


def test_a_defect_that_needs_an_order_of_events_is_found(tmp_path: Path) -> None:
    """The second batch must be appended before a follower has the first one."""
    scenario = small_scope(
        tmp_path, "all", rules="{}", cluster="defects: [offset-before-append]", app="count: 2", expect="verdict: valid"
    )
    search = Search(scenario, scenario.seed)
    endings = [*search.endings(runs_max=RUNS)]
    assert search.is_whole
    found = [ending.misses[0] for ending in endings if ending.misses]
    assert 0 < len(found) < len(endings)
    assert all("inconsistent-offsets: 1 of 1 break a promise" in miss for miss in found)


def test_rules_on_processes_at_a_drawn_time_fire_at_any_step(tmp_path: Path) -> None:
    rules = """
  any time: {when: {at_ms: [0, 20]}, act: {stop: 1}}
  at a time: {when: {at_ms: 20}, act: {kill: 1}}
  after another: {when: {after: any time}, act: {restart: 1}}
  at a link: {when: {at_ms: [0, 20]}, act: {cut_link: {from: 1, to: brokers}}}
  at a request: {when: {at_ms: [0, 20]}, select: {api: Fetch}, act: {delay_ms: 1}}
"""
    scenario = small_scope(tmp_path, "1", rules=rules)
    assert [rule.name for rule in crash_rules(scenario)] == ["any time"]
