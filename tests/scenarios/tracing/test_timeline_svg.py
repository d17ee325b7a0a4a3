from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from broker_scenarios.cli import main
from broker_scenarios.tracing.timeline import Moment, Stage, Timeline
from broker_scenarios.tracing.timeline_svg import STYLE, render_svg

CAPTURES = Path(__file__).parents[3] / "docs" / "how-to" / "captures"
SVG = "{http://www.w3.org/2000/svg}"


def timeline(*stages: Stage, moments: tuple[Moment, ...] = ()) -> Timeline:
    return Timeline(
        name="t", title="<title> & more", source="s", took_us=1_000, unended="-", stages=list(stages),
        moments=list(moments),
    )  # fmt: skip


def drawn(line: Timeline) -> ET.Element:
    return ET.fromstring(render_svg(line))


def texts(line: Timeline) -> list[str | None]:
    return [text.text for text in drawn(line).iter(f"{SVG}text")]


def test_names_are_text_in_the_drawing() -> None:
    line = timeline(
        Stage(lane="<lane>", name="<stage>", start_us=0, duration_us=5), moments=(Moment(at_us=1, text="<m>"),)
    )
    assert {"<title> & more", "<lane>", "<stage>"} <= set(texts(line))


@pytest.mark.parametrize(
    ("whole_us", "ticks"),
    [
        (1, ["0 ms", "0.001 ms"]),
        (1_000, ["0 ms", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1 ms"]),
        (7_300_000, ["0 ms", "2,000 ms", "4,000 ms", "6,000 ms"]),
    ],
)
def test_the_axis_is_cut_at_round_times(whole_us: int, ticks: list[str]) -> None:
    line = timeline(Stage(name="x", start_us=0, duration_us=whole_us))
    assert [text for text in texts(line) if text and re.fullmatch(r"[\d.,]+ ms", text)][: len(ticks)] == ticks


def test_nothing_leaves_the_drawing_and_long_names_are_cut() -> None:
    stages = [
        Stage(lane="l" * 300 + "-0 LSO", name=f"stage {step}" * 3, start_us=step * 10, duration_us=10)
        for step in range(12)
    ]
    line = timeline(*stages)
    line.lane_notes["l" * 300 + "-0 LSO"] = "n" * 300
    root = drawn(line)
    width = int(root.attrib["viewBox"].split()[2]) - 16
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class", "").startswith("stage")]
    assert len(bars) == 12
    assert all(0 <= int(bar.attrib["x"]) <= int(bar.attrib["x"]) + int(bar.attrib["width"]) <= width for bar in bars)
    assert "l" * 19 + "…" + "l" * 14 + "-0 LSO" in texts(line)
    assert max(int(text.attrib["y"]) for text in root.iter(f"{SVG}text")) <= int(root.attrib["viewBox"].split()[3])


def test_the_lines_of_the_axis_do_not_cross_a_note() -> None:
    line = timeline(Stage(lane="group", name="Stable", start_us=0, duration_us=10))
    line.lane_notes["group"] = "its session has ended"
    [note] = [text for text in drawn(line).iter(f"{SVG}text") if text.text == "its session has ended"]
    assert "note" in note.attrib["class"].split()
    assert re.search(r"svg \.note {[^}]*paint-order: stroke;[^}]*stroke: var\(--card\);", STYLE)


def test_the_documented_drawing_is_what_is_drawn_today(tmp_path: Path) -> None:
    """`broker-sim trace ... --svg` draws it again; its colours may be those of another day."""
    files = [str(CAPTURES / f"crash-{side}.jsonl") for side in ("producers", "brokers")]
    assert main(["trace", *files, "--record", "orders-0@12", "--svg", str(tmp_path / "record.svg")]) == 0
    today, shown = (
        (folder / name).read_text() for folder, name in ((tmp_path, "record.svg"), (CAPTURES, "crash-record.svg"))
    )
    assert without_style(today) == without_style(shown)


def without_style(svg: str) -> str:
    return re.sub(r"<style>.*</style>", "", svg, flags=re.DOTALL)
