from dataclasses import replace

import pytest

from broker_scenarios.checks.partition_check import check_all, check_partition
from broker_scenarios.findings import CheckCrash, CheckResult


def test_every_record_gets_a_result_with_its_outcome_and_flags(story):
    story.acked(1, 2).log(1, 2, 1).send(3, 4).info(3).fail(4).send(5).ok(5, 9)
    result = check_all(story.history(), story.logs())
    assert {each.value_id: (each.outcome, each.copies, each.lost, each.duplicated) for each in result.records} == {
        1: ("acked", 2, False, True),
        2: ("acked", 1, False, False),
        3: ("unknown", 0, False, False),
        4: ("failed", 0, False, False),
        5: ("acked", 0, True, False),
    }
    first, *_, failed, _ = result.records
    assert (first.invoke_us, first.complete_us, first.error) == (1_000, 2_000, None)
    assert (failed.error_code, failed.error) == (19, "NOT_ENOUGH_REPLICAS")


def test_a_check_that_crashes_is_reported_and_the_others_continue(story):
    def crashing(analysis):
        raise RuntimeError("no such thing")

    def quiet(analysis):
        return ()

    story.acked(1).log(1)
    result = check_partition("orders", 0, story.history(), story.logs(), {"first": crashing, "second": quiet})
    assert result.crashes == [
        CheckCrash(topic="orders", partition=0, kind="first", detail="RuntimeError: no such thing")
    ]
    assert len(result.records) == 1


@pytest.mark.parametrize("keep", ["completion", "unknown type"])
def test_a_malformed_history_is_a_crash_of_the_analysis_and_not_of_the_run(story, keep):
    story.acked(1).log(1)
    invoke, completion = story.history()
    history = [completion] if keep == "completion" else [invoke, replace(completion, type="done")]
    result = check_partition("orders", 0, history, story.logs())
    assert [crash.kind for crash in result.crashes] == ["analysis"]
    assert result.records == []


def test_the_order_of_the_events_changes_nothing(story):
    story.acked(1, 2).log(1, 2, 1).send(3).info(3).send(4).fail(4)
    forwards, backwards = (check_all(history, story.logs()) for history in (story.history(), story.history()[::-1]))
    assert forwards == backwards


def test_an_empty_history_and_empty_logs_give_no_results(story):
    assert check_all(story.history(), story.logs()) == CheckResult()


@pytest.mark.parametrize("first", ["fail", "info", "ok"])
@pytest.mark.parametrize("second", ["fail", "info", "ok"])
def test_the_best_send_of_a_value_decides_about_it(story, first, second):
    getattr(story.send(1), first)(1)
    getattr(story.send(1, process=2), second)(1)
    [record] = check_all(story.history(), story.logs()).records
    best = next(each for each in ("ok", "info", "fail") if each in (first, second))
    assert record.outcome == {"ok": "acked", "info": "unknown", "fail": "failed"}[best]
    # Of equal outcomes the first decides, and the last of failures.
    assert record.process == (2 if first != best or first == second == "fail" else 1)


def test_the_records_that_are_out_of_order_are_marked(story):
    story.acked(1, 2, 3).log(1, 3, 2)
    result = check_all(story.history(), story.logs())
    assert len([each for each in result.records if each.reordered]) == 1
    assert [each.value_id for each in result.records if each.reordered] == [2]
