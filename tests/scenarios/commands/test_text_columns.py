from __future__ import annotations

from broker_scenarios.commands.text_columns import columns, paragraph


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    assert columns([("a", "bb", "c"), ("aaa", "b", "")], indent="  ") == ["  a    bb  c", "  aaa  b"]


def test_the_last_column_wraps_below_itself() -> None:
    assert columns([("name", "one two three four five six")], width=30) == [
        "name  one two three four five",
        "      six",
    ]


def test_no_word_is_broken() -> None:
    assert columns([("name", "x" * 30)], width=20) == [f"name  {'x' * 30}"]


def test_a_row_goes_on_below_a_cell_that_leaves_too_little_for_the_last() -> None:
    rows = [("a", "t" * 40, "0+", "some notes"), ("b", "int8", "1+", "others")]
    assert columns(rows, width=40) == [
        f"a  {'t' * 40}",
        f"{'':24}  0+  some notes",
        "b  int8                   1+  others",
    ]


def test_no_rows_are_no_lines() -> None:
    assert columns([]) == []


def test_a_paragraph_breaks_at_spaces_alone() -> None:
    assert paragraph("a well-known text", width=8, indent=" ") == [" a", " well-known", " text"]
