"""The Java for Spark: JAVA_HOME, then PATH, then the usual folders; Spark 4 needs Java 17 or later."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["JAVA_VERSION_MIN", "find_java_home"]

JAVA_VERSION_MIN: Final = 17
_JVM_FOLDER: Final = Path("/usr/lib/jvm")
_PATTERNS: Final = ("java-17-*", "java-21-*", "java-*-openjdk-*", "temurin-*", "default-java")


def find_java_home(environment: Mapping[str, str], jvm_folder: Path = _JVM_FOLDER) -> Path:
    """The home of a Java that can run Spark. Raises ScenarioError with the remedy in one line."""
    looked_at: list[str] = []
    for origin, home in _candidates(environment, jvm_folder):
        version = _version_of(home)
        if version is not None and version >= JAVA_VERSION_MIN:
            return home
        looked_at.append(f"{origin} ({'no Java' if version is None else f'Java {version}'})")
    seen = ", ".join(looked_at) or f"JAVA_HOME, PATH and {jvm_folder}"
    raise ScenarioError(
        f"Spark needs Java {JAVA_VERSION_MIN} or later; looked at {seen}: "
        "install openjdk-17-jre-headless, or set JAVA_HOME"
    )


def _candidates(environment: Mapping[str, str], jvm_folder: Path) -> Iterator[tuple[str, Path]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield f"JAVA_HOME={home}", Path(home)
    java = shutil.which("java", path=environment.get("PATH", ""))
    if java is not None:
        yield f"{java} in PATH", Path(java).resolve().parent.parent
    for pattern in _PATTERNS:
        for folder in sorted(jvm_folder.glob(pattern)):
            yield str(folder), folder


def _version_of(home: Path) -> int | None:
    """The major version that a Java's `release` file names; None where there is no Java."""
    if not (home / "bin" / "java").exists():
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(found.group(1)) if found else None
