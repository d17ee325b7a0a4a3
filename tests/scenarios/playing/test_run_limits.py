"""A run that would grow without bound ends, and reports the limit by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.playing import cast, run_limits
from broker_scenarios.playing.run_limits import RunLimitExceeded, RunLimits
from tests.scenarios.playing.runs import Played, play, scenario_of

if TYPE_CHECKING:
    from pathlib import Path

ONE = """
title: t
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
expect: {verdict: any}
deadline_s: 5
"""


def problems_of(played: Played) -> str:
    return " | ".join(played.evidence.problems)


def test_final_polls_end_when_their_topic_is_deleted(tmp_path: Path) -> None:
    client = (
        "clients: {app: {producer: {}, consumer: {}, script: [{act: {delete_topic: orders}}], final_polls: true}}\n"
    )
    played = play(tmp_path, ONE + client)
    assert [each for each in played.operations("poll") if each.facts.get("final")] == []
    assert problems_of(played) == ""


def test_final_polls_wait_after_an_error(tmp_path: Path) -> None:
    """Each poll fails at once with a topic that the client is not authorized to read."""
    client = "clients: {app: {consumer: {}, final_polls: true}}\n"
    rule = "rules: {r: {act: {error: TOPIC_AUTHORIZATION_FAILED}, select: {api: ListOffsets}, optional: true}}\n"
    played = play(tmp_path, ONE + client + rule)
    assert 0 < len(played.operations("poll")) < 100


@pytest.mark.parametrize(
    ("limit", "steps"),
    [
        ("STEPS_MAX", "{repeat: {times: 1000000, steps: [{repeat: {times: 1000000, steps: [exit]}}]}}"),
        ("STEPS_MAX", "{send: 1000000}"),
        ("STEPS_MAX", "{assign: [orders]}, {poll: {timeout_ms: 500000}}"),
        ("PROCESSES_MAX", "{repeat: {times: 1000000, steps: [restart]}}"),
        ("POLLED_RECORDS_MAX", "{send: 9}, flush, {assign: [orders]}, {seek: {orders-0: beginning}}, {poll: 9}"),
        ("OPEN_SENDS_MAX", "{send: 9}"),
        ("OPEN_BYTES_MAX", "{send: {count: 5, size_bytes: 10000}}"),
        ("STORED_BYTES_MAX", "{repeat: {times: 5, steps: [{send: {size_bytes: 10000}}, flush]}}"),
    ],
)
def test_a_script_stops_at_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, steps: str) -> None:
    value = 40_000 if limit.endswith("BYTES_MAX") else 8 if limit.endswith(("SENDS_MAX", "RECORDS_MAX")) else 20
    monkeypatch.setattr(run_limits, limit, value)
    text = ONE + f"clients: {{app: {{producer: {{linger.ms: 0}}, consumer: {{}}, script: [{steps}]}}}}\n"
    assert f"client app: RunLimitExceeded: the run exceeds {limit}={value}: " in problems_of(play(tmp_path, text))


def test_a_load_stops_at_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "OPEN_SENDS_MAX", 50)
    played = play(tmp_path, ONE + "load: {records: 100, producers: 1, rate_per_second: 1000000}\n")
    assert "client producer-0: the run exceeds OPEN_SENDS_MAX=50: send more slowly" in problems_of(played)
    assert len(played.evidence.truth.stored) == 50


def test_sends_with_an_outcome_are_not_open() -> None:
    limits = RunLimits(keeps_values=False)
    for _ in range(3):
        limits.begin_send(run_limits.OPEN_BYTES_MAX)
        limits.end_send(run_limits.OPEN_BYTES_MAX)
    with pytest.raises(RunLimitExceeded, match="OPEN_BYTES_MAX"):
        limits.begin_send(run_limits.OPEN_BYTES_MAX + 1)


def test_a_load_too_large_for_one_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cast, "LOAD_RECORDS_MAX", 99)
    with pytest.raises(RunLimitExceeded, match=r"LOAD_RECORDS_MAX=99: the loads have 100 records; .* --spark"):
        play(tmp_path, ONE + "load: {records: 100, producers: 1, rate_per_second: 1000}\n")


def test_a_run_that_spins_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "CALLS_MAX", 500)
    monkeypatch.setattr(run_limits, "CALLS_PER_UNIT", 0)
    client = "clients: {app: {producer: {}, script: [{wait: 4000}]}}\n"
    rule = "rules: {r: {act: {jump_clock: {broker: 1, ms: 1}}, every_ms: 1}}\n"
    played = play(tmp_path, ONE + client + rule)
    [problem] = played.evidence.problems
    assert problem.startswith("the run exceeds CALLS_MAX=500: ")
    assert played.run.judgement.misses == (problem,)


def test_a_client_that_runs_is_killed_before_it_starts_again(tmp_path: Path) -> None:
    """Scripts of earlier processes would go on beside the new one, more of them with each restart."""
    client = "clients: {app: {producer: {}, consumer: {}, script: [{assign: [orders]}, {poll: {timeout_ms: 900}}]}}\n"
    rule = "rules: {r: {act: {restart_client: app}, every_ms: 20, times: 20}}\n"
    played = play(tmp_path, ONE + client + rule)
    assert played.run.judgement.met
    polls = played.operations("poll")
    assert max(polls.count(each) for each in polls) == 1
    assert len(polls) < 40


def test_effects_that_last_do_not_pile_up_without_end(tmp_path: Path) -> None:
    client = "clients: {app: {producer: {linger.ms: 0}, script: [{repeat: {times: 300, steps: [{send: 1}, flush]}}]}}\n"
    rule = "rules: {slow: {act: {toxic: {type: latency}}, phase: before_append}}\n"
    played = play(tmp_path, ONE + client + rule)
    [miss] = played.run.judgement.misses
    assert miss == "rule 'slow' more than 100 effects last: limit the rule by `times` or `until`"
    assert len(played.evidence.truth.stored) == 300


def test_a_topic_grows_up_to_a_limit(tmp_path: Path) -> None:
    client = "clients: {app: {producer: {}, script: [{wait: 50}]}}\n"
    rule = "rules: {grow: {act: {add_partitions: {topic: orders, count: 10000}}}}\n"
    [miss] = play(tmp_path, ONE + client + rule).run.judgement.misses
    assert miss == "rule 'grow' topic 'orders': 10001 partitions exceed PARTITIONS_MAX=10000"


def test_the_replicas_of_all_topics_are_limited(tmp_path: Path) -> None:
    client = "clients: {app: {producer: {}, script: [{wait: 50}]}}\n"
    text = (ONE + client).replace("brokers: 1", "brokers: 11")
    with pytest.raises(Exception, match="topics: 110000 replicas of all topics exceed REPLICAS_MAX=100000"):
        scenario_of(
            tmp_path, text.replace("partitions: 1, replication_factor: 1", "partitions: 10000, replication_factor: 11")
        )
    rule = "rules: {new: {act: {create_topic: {topic: bills, partitions: 10000, replication_factor: 11}}}}\n"
    [miss] = play(tmp_path, text + rule).run.judgement.misses
    assert miss == "rule 'new' 110001 replicas of all topics exceed REPLICAS_MAX=100000"


def test_copies_of_a_response_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker_sim.faults.interception.COPIES_BYTES_MAX", 1_000)
    client = "clients: {app: {producer: {linger.ms: 0}, script: [{send: 1}, flush]}}\n"
    rule = "rules: {r: {act: {duplicate_response: 1000}, select: {api: Produce}}}\n"
    [miss] = play(tmp_path, ONE + client + rule).run.judgement.misses
    assert "copies of a response of" in miss
    assert "exceed COPIES_BYTES_MAX=1000" in miss


def test_a_damaged_batch_is_a_caveat_and_its_records_are_lost(tmp_path: Path) -> None:
    """A bit of a record changes on the leader's disk: no consumer can read the batch."""
    client = "clients: {app: {producer: {linger.ms: 0}, script: [{send: 3}, flush, STEPS]}}\n"
    rot = "{act: {bit_rot: {broker: 1, topic: orders, place: 0.999, bit: 7}}}"
    # A broker that is stopped in order does not check its logs when it starts.
    steps = f"{{act: {{stop: 1}}}}, {{wait: 500}}, {rot}, {{act: {{restart: 1}}}}, {{wait: 500}}"
    text = ONE.replace("brokers: 1", "brokers: 1, disk: virtual") + client.replace("STEPS", steps)
    run = play(tmp_path, text).run
    assert run.verdict.counts.lost == 3
    assert any(reason.startswith("orders-0: the batch at offset 0 is damaged: ") for reason in run.verdict.reasons)


def test_faults_without_an_end_end_with_the_run(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        """
title: t
cluster: {brokers: 3, controllers: 3}
topics: {orders: {partitions: 1, replication_factor: 3, config: {min.insync.replicas: 2}}}
clients: {app: {producer: {linger.ms: 0}, load: {records: 60, rate_per_second: 50}}}
rules:
  controller: {when: {acked_records: 20}, act: {kill: active controller}}
  follower: {when: {acked_records: 30}, act: {pause: any follower of orders-0}}
  leader: {when: {acked_records: 40}, act: {stop: leader of orders-0}}
expect: {lost: 0, acked: 60}
""",
    )
    assert played.run.judgement.misses == ()


def test_the_deadline_names_the_step_that_each_client_is_at(tmp_path: Path) -> None:
    clients = """clients:
  waiter: {count: 2, producer: {}, script: [{send: 1}, {repeat: {times: 2, steps: [flush, {wait: {acked: 9}}]}}]}
  sleeper: {producer: {}, script: [{wait: 60000}]}
"""
    (problem,) = play(tmp_path, ONE + clients).evidence.problems
    assert problem == (
        "waiter-0, waiter-1 (step 2, repeat, step 2, wait for 9 acknowledged records), "
        "sleeper (step 1, wait for 60000 ms) had not ended after 5 s, with 0 records without an outcome (deadline_s)"
    )
