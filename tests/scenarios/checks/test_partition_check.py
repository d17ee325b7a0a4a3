import pytest

from broker_scenarios.checks.partition_check import check_all, check_partition
from broker_scenarios.findings import RESULT_SCHEMA


def rows(result, sort):
    return [row for row in result.to_pylist() if row["sort"] == sort]


def test_every_record_gets_a_row_with_its_outcome_and_flags(story):
    story.acked(1, 2).log(1, 2, 1).send(3, 4).info(3).fail(4).send(5).ok(5, 9)
    result = check_all(story.history(), story.logs())
    assert result.schema == RESULT_SCHEMA
    told = {
        row["value_id"]: (row["outcome"], row["copies"], row["lost"], row["duplicated"])
        for row in rows(result, "record")
    }
    assert told == {
        1: ("acked", 2, False, True),
        2: ("acked", 1, False, False),
        3: ("unknown", 0, False, False),
        4: ("failed", 0, False, False),
        5: ("acked", 0, True, False),
    }


def test_a_check_that_crashes_says_so_and_the_others_go_on(story):
    def crashing(analysis):
        raise RuntimeError("no such thing")

    def quiet(analysis):
        return ()

    story.acked(1).log(1)
    result = check_partition("orders", 0, story.history(), story.logs(), {"first": crashing, "second": quiet})
    assert [(row["kind"], row["detail"]) for row in rows(result, "crash")] == [("first", "RuntimeError: no such thing")]
    assert len(rows(result, "record")) == 1


@pytest.mark.parametrize("keep", ["completion", "unknown type"])
def test_a_malformed_history_is_a_crash_of_the_analysis_and_not_of_the_run(story, keep):
    story.acked(1).log(1)
    history = story.history()
    if keep == "completion":
        history = history.slice(1, 1)
    else:
        column = history.column_names.index("type")
        history = history.set_column(column, history.schema.field("type"), [["invoke", "done"]])
    (row,) = check_partition("orders", 0, history, story.logs()).to_pylist()
    assert (row["sort"], row["kind"]) == ("crash", "analysis")


def test_the_order_of_the_events_changes_nothing(story):
    story.acked(1, 2).log(1, 2, 1).send(3).info(3).send(4).fail(4)
    history = story.history()
    backwards = history.take(list(range(history.num_rows))[::-1])
    names = [(name, "ascending") for name in ("sort", "partition", "value_id", "kind")]
    ordered = [check_all(told, story.logs()).sort_by(names) for told in (history, backwards)]
    assert ordered[0] == ordered[1]


def test_nothing_sent_and_nothing_stored_gives_no_rows(story):
    assert check_all(story.history(), story.logs()).num_rows == 0
