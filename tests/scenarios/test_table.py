import io

import pytest
from rich.console import Console

from broker_scenarios.expectations import Judgement
from broker_scenarios.journal_view import JournalView
from broker_scenarios.measurements import measure
from broker_scenarios.promises import Promises
from broker_scenarios.run_record import RunRecord
from broker_scenarios.table import load_progress, print_table
from broker_scenarios.verdict import check_run
from broker_sim.control.events import ProduceCompleted
from broker_sim.quotas.quota_managers import Throttles


def printed(runs):
    out = Console(file=io.StringIO(), width=130)
    print_table(runs, out)
    return out.file.getvalue()


def run_of(story, *misses):
    verdict = check_run(
        history=story.history(),
        stored=story.stored(),
        truncated=story.truncations(),
        promises=Promises(acks=1, replication_factor=3),
    )
    return RunRecord(name="leader-crash", verdict=verdict, judgement=Judgement(misses=misses))


def test_one_row_a_run_under_the_names_of_the_counts(story):
    story.acked(1, 2, 3).log(1, 1).truncated(2, 3, first_offset=1).send(4).fail(4).send(5).info(5)
    lines = printed([run_of(story)]).splitlines()
    names, cells = lines[1].split(), lines[3].split()
    assert dict(zip(names, cells, strict=True)) == {
        "scenario": "leader-crash",
        "acked": "3",
        "stored": "1",
        "lost": "2",
        "duplicated": "1",
        "reordered": "0",
        "failed": "1",
        "unknown": "1",
        "verdict": "broken",
        "expected?": "yes",
    }


def test_a_loss_is_explained_below_the_table(story):
    story.acked(1, 2).log(1).truncated(2, first_offset=1)
    assert "leader-crash: 1 lost in orders-0: broker 1 truncated offset 1 at leader epoch 4" in printed([run_of(story)])


def test_a_finding_that_is_permitted_is_explained_below_the_table(story):
    story.acked(1, 2).log(1, 2, 1)
    verdict = check_run(
        history=story.history(), stored=story.stored(), truncated=[], promises=Promises(enable_idempotence=False)
    )
    assert str(verdict.validity) == "valid"
    text = printed([RunRecord(name="run", verdict=verdict, judgement=Judgement())])
    assert "run: duplicate 1 in orders-0: at offsets 0, 2" in text
    assert "(permitted: enable.idempotence=false" in text


def test_a_missed_expectation_is_named(story):
    text = printed([run_of(story.acked(1).log(1), "lost 0, expected at least 1")])
    assert "leader-crash: not as expected: lost 0, expected at least 1" in text
    assert " NO" in text


def test_a_run_that_misses_its_expectations_shows_how_often_its_rules_have_fired(story):
    missed, met = run_of(story.acked(1).log(1), "lost 0, expected at least 1"), run_of(story)
    for run in (missed, met):
        run.fired = {"late": 1, "crash": 0}
    assert "leader-crash: rules: late fired 1 time, crash fired 0 times" in printed([missed])
    assert "rules:" not in printed([met])


def test_the_command_that_reproduces_a_missed_expectation_is_printed(story):
    missed, met = run_of(story.acked(1).log(1), "lost 0, expected at least 1"), run_of(story)
    for run in (missed, met):
        run.reproduce = "broker-sim run x.yaml --virtual --seed 1 --records 500"
    assert "leader-crash: reproduce: broker-sim run x.yaml --virtual --seed 1 --records 500" in printed([missed])
    assert "reproduce" not in printed([met])


def test_errors_latency_and_pauses_are_listed_below_the_table(story):
    story.send(1, 2).ok(1, 0).log(1).wait(us=3_000_000).fail(2)
    run = run_of(story)
    story_events = [ProduceCompleted(
        time_us=1, broker_id=1, topic="orders", partition=0, error_code=19, base_offset=0, required_offset=0,
        high_watermark=0, leader_epoch=0, isr=(), acks=-1,
    )]  # fmt: skip
    run.measurements = measure(
        run.verdict.records,
        JournalView.of(story_events),
        end_us=run.verdict.end_us,
        throttles={"app": Throttles(2, 2500)},
    )
    text = printed([run])
    assert "leader-crash: client 'app' was throttled: 2 requests over a quota, 2.500 s of throttle time" in text
    assert "leader-crash: acknowledgement latency: p50 2.0 ms, p99 2.0 ms, max 2.0 ms" in text
    assert "leader-crash: 1 failed in orders-0 with NOT_ENOUGH_REPLICAS, 3.003 s to 3.003 s" in text
    assert "leader-crash: brokers refused 1 batch for orders-0 with NOT_ENOUGH_REPLICAS" in text
    assert "leader-crash: orders-0 acknowledged nothing for 3.001 s, from 0.002 s on" in text


def test_the_bar_shows_how_far_the_load_is():
    out = Console(file=io.StringIO(), width=130, force_terminal=True)
    with load_progress("leader-crash", 200, out) as progress:
        progress.update(50, "broker 1 killed")
        progress.update(200)
    assert "200/200" in out.file.getvalue()


@pytest.mark.parametrize(("total", "shown"), [(4, "75% 3/4"), (None, " 3/?")])
def test_a_run_with_scripts_has_no_share_of_its_records(total, shown):
    console = Console(file=io.StringIO(), width=100)
    with load_progress("run", total, console) as progress:
        progress.update(3)
    drawn = console.file.getvalue()
    assert shown in drawn
    assert ("%" in drawn) is (total is not None)
