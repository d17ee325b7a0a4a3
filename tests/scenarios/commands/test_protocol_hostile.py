from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from protocol_specs.fuzzing import oracle

if TYPE_CHECKING:
    from collections.abc import Sequence


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> list[str]:
    assert main(["protocol", "hostile", *arguments]) == code
    return capsys.readouterr().out.splitlines()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["protocol", "hostile", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.strip()


def test_a_campaign_prints_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--frames", "1000", "--seed", "4")
    assert lines[0].startswith("1,000 frames of seed 4 over ")
    assert lines[-1] == "no findings"
    assert any("a frame of up to 100" in line for line in lines)
    assert any("the limit is 10 ms" in line for line in lines)


def test_processes_share_the_frames(capsys: pytest.CaptureFixture[str]) -> None:
    def counts(lines: Sequence[str]) -> list[str]:
        return [line for line in lines if "second" not in line and "slowest" not in line and "memory" not in line]

    alone = counts(printed(capsys, "--frames", "700"))
    assert counts(printed(capsys, "--frames", "700", "--jobs", "2")) == alone


def test_the_time_limit_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--frames", "100000000", "--seconds", "0.05")
    assert "  ended before 100,000,000 frames: the limit --seconds 0.05 was reached" in lines


def test_one_frame_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--frame", "130")
    assert lines[0].startswith("  frame 130: ")
    assert lines[1].startswith("  mutations: ")
    assert lines[-1] == "no findings"


def planted(data: object) -> None:
    if bytes(data)[:1]:  # type: ignore[call-overload]
        raise struct.error("planted")


def test_a_finding_is_printed_with_the_command_that_repeats_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle, "RECORD_SET_READERS", (planted,))
    lines = printed(capsys, "--frames", "6400", code=1)
    first = lines.index("FINDING: an exception that is not the codec's own")
    assert "  struct.error: planted" in lines[first + 1 : first + 3] or "planted" in lines[first + 1]
    assert lines[-1].endswith(" findings")
    repeat = next(line for line in lines if line.startswith("  repeat: ")).split()[3:]
    assert repeat[:3] == ["hostile", "--seed", "1"]
    assert main(["protocol", *repeat]) == 1
    assert "FINDING" in capsys.readouterr().out


@pytest.mark.parametrize("bad", [("--frames", "0"), ("--jobs", "65"), ("--seconds", "-1"), ("--seed", "-1")])
def test_a_number_out_of_range_is_named(capsys: pytest.CaptureFixture[str], bad: tuple[str, str]) -> None:
    assert refused(capsys, *bad).startswith(f"{bad[0]} {bad[1]}")
    assert refused(capsys, "--frame", "-5").startswith("--frame -5")
