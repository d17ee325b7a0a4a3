"""The outcome of settings in Java's ProducerConfig and KafkaProducer: one JVM reads all, its results are kept as data.

python -m tests.interop.java_producer_config      writes what `make test` compares with anew
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.client.config.producer_config_cases import GROUND, RECORDED, Settings, all_settings
from tests.interop.kafka_release import classpath, java_tool

if TYPE_CHECKING:
    from collections.abc import Iterable

PROGRAM: Final = Path(__file__).parent / "java" / "ProducerConfigs.java"
RELEASE: Final = "4.3.1"
RUN_SECONDS_MAX: Final = 240
_INT_MAX: Final = 2**31
# Java's messages are not kept, only what they blame.
_BLAMED: Final = re.compile(r"[a-z][a-z0-9]*(?:\.[a-z0-9]+)+|acks|retries")


def run_java(questions: list[Settings]) -> dict[str, Any]:
    """The table of keys, the values of the ground, and an outcome for each question."""
    java_tool("javac")  # a runtime alone cannot launch a source file
    options = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
    run = subprocess.run(
        [java_tool("java"), *options, "-cp", classpath(RELEASE), str(PROGRAM)],
        input="".join(f"{_line({**GROUND, **settings})}\n" for settings in [{}, *questions]).encode(),
        capture_output=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stderr.decode()
    keys, ground, *results = [json.loads(line) for line in run.stdout.decode().splitlines()]
    assert len(results) == len(questions)
    names = [key["name"] for key in keys]
    return {
        "release": RELEASE,
        "keys": keys,
        "ground": ground,
        "outcomes": [
            {"settings": settings, **_outcome(result, ground, names)}
            for settings, result in zip(questions, results, strict=True)
        ],
    }


def _line(settings: Settings) -> str:
    return "\x1f".join(f"{name}={_typed(value)}" for name, value in settings.items())


def _typed(value: object) -> str:
    if value is None:
        return "n:"
    if isinstance(value, bool):
        return f"b:{str(value).lower()}"
    if isinstance(value, int):
        return f"{'i' if -_INT_MAX <= value < _INT_MAX else 'l'}:{value}"
    if isinstance(value, float):
        return f"d:{value}"
    if isinstance(value, list):
        # No text at all means no element, so that an empty element needs a neighbour.
        return "L:" + ("\x1e".join(value) if value != [""] else "\x1e")
    assert isinstance(value, str)
    return f"s:{value}"


def _outcome(result: dict[str, Any], ground: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    if "error" in result:
        known = set(names)
        blamed = next((name for name in _BLAMED.findall(result["message"]) if name in known), None)
        return {"stage": result["stage"], "error": result["error"], "blamed": blamed}
    return {part: _changed(result[part], ground[part]) for part in ("values", "effective")}


def _changed(values: dict[str, Any], ground: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value != ground[name]}


def as_text(recorded: dict[str, Any]) -> str:
    """One question a line, so that a change of the file can be read."""
    lines = ",\n".join(json.dumps(outcome, sort_keys=True) for outcome in recorded["outcomes"])
    keys = ",\n".join(json.dumps(key, sort_keys=True) for key in recorded["keys"])
    ground = json.dumps(recorded["ground"], sort_keys=True)
    release = json.dumps(recorded["release"])
    return f'{{"release": {release},\n"ground": {ground},\n"keys": [\n{keys}\n],\n"outcomes": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text(as_text(run_java(all_settings())))
    print(f"{RECORDED}: {len(all_settings())} questions", file=sys.stderr)
