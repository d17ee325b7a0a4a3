"""The benchmark of the Spark drive, with few records."""

from __future__ import annotations

import pytest

from benchmarks.spark_drive import main
from tests.interop.kafka_release import java_tool

pytestmark = pytest.mark.interop


def test_the_drive_is_measured_part_by_part(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    java_tool("java")
    # The warm-up is for the JVM's compiler, which this test does not measure.
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    assert main(["--records", "20000", "--warm-up", "100", "--without-connector"]) == 0
    out = capsys.readouterr().out
    for part in ("drive with history", "logs", "checks", "drive without history"):
        assert f"  {part}: " in out
    assert "verification beyond sending" in out
