"""The outcome of a broker's settings in Java's KafkaConfig: one JVM reads all of them.

python -m tests.interop.java_broker_config      writes what `make test` compares with anew
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.broker_sim.config.start_config_cases import RECORDED, RELEASES, TOGETHER, Settings
from tests.interop.kafka_release import java_tool
from tests.interop.prepared_release import java_command

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM: Final = Path(__file__).parent / "java" / "BrokerConfigs.java"
RUN_SECONDS_MAX: Final = 240


def run_java(release: str, questions: Sequence[Settings]) -> list[str]:
    """Why a broker of the release would not start with each of these settings; empty where it would."""
    java_tool("javac")  # a runtime alone cannot launch a source file
    lines = ["\x1f".join(f"{name}={value}" for name, value in settings.items()) for settings in questions]
    run = subprocess.run(
        [*java_command(release, "-Xmx256m"), str(PROGRAM)],
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stderr.decode()
    results = run.stdout.decode().split("\n")[:-1]
    assert len(results) == len(questions)
    return results


def as_text(texts: dict[str, list[str]]) -> str:
    """As the file of recordings has it."""
    return json.dumps(texts, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the recordings."""
    RECORDED.write_text(as_text({release: run_java(release, TOGETHER) for release in RELEASES}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
