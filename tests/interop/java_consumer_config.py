"""Which settings Java's KafkaConsumer accepts, kept as data: one JVM reads all.

python -m tests.interop.java_consumer_config      writes what `make test` compares with anew
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.client.config.consumer_config_cases import GROUND, RECORDED, Settings, all_settings
from tests.interop.kafka_release import classpath, java_tool

PROGRAM: Final = Path(__file__).parent / "java" / "ConsumerConfigs.java"
RELEASE: Final = "4.3.1"
RUN_SECONDS_MAX: Final = 240
ACCEPTED: Final = "accepted"


def run_java(questions: list[Settings]) -> list[dict[str, Any]]:
    """Return the settings of each question, and whether a consumer accepts them; Java's messages are not kept."""
    java_tool("javac")  # a runtime alone cannot launch a source file
    options = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
    lines = ["\x1f".join(f"{name}={value}" for name, value in {**GROUND, **one}.items()) for one in questions]
    run = subprocess.run(
        [java_tool("java"), *options, "-cp", classpath(RELEASE), str(PROGRAM)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stderr
    results = run.stdout.splitlines()
    return [
        {"settings": dict(settings), "accepted": result == ACCEPTED}
        for settings, result in zip(questions, results, strict=True)
    ]


if __name__ == "__main__":
    recorded = run_java(all_settings())
    RECORDED.write_text("[\n" + ",\n".join(map(json.dumps, recorded)) + "\n]\n")
    print(RECORDED, file=sys.stderr)
