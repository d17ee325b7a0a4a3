"""The jars of an Apache Kafka release, broker and clients, resolved by Maven once into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

RELEASES = ("3.7.2", "4.3.1")
RESOLVE_SECONDS_MAX = 900

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>broker-sim</groupId><artifactId>kafka-{release}</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies></project>
"""
DEPENDENCY = (
    "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
)


class ToolMissingError(Exception):
    """A tool that only interop tests need is not on this machine; the message says which."""


def java_tool(name: str) -> str:
    """The path of `java` or `javac`: in JAVA_HOME, else on PATH. Raise ToolMissingError."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=f"{home}/bin" if home else None)
    if found is None:
        raise ToolMissingError(f"no {name} in {'JAVA_HOME' if home else 'PATH'}: install openjdk-17-jdk-headless")
    return found


def classpath(release: str) -> str:
    """A Java class path with the release's broker, tools and clients. Raise ToolMissingError without Maven."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "broker-sim"
    folder = cache / f"kafka-{release}"
    if not folder.exists():
        _resolve(release, folder)
    return f"{folder}/*"


def _resolve(release: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise ToolMissingError(f"no mvn in PATH to fetch Kafka {release} from Maven Central: install maven")
    wanted = [("org.apache.kafka", artifact, release) for artifact in ("kafka_2.13", "kafka-tools")]
    if not release.startswith("3."):
        wanted.append(("org.slf4j", "slf4j-simple", "1.7.36"))  # 3.x brings a logger of its own
    dependencies = "".join(DEPENDENCY.format(group=g, artifact=a, version=v) for g, a, v in wanted)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A run that is interrupted, or two at once, leave no half-filled folder: the last step is one rename.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        (Path(scratch) / "pom.xml").write_text(POM.format(release=release, dependencies=dependencies))
        subprocess.run(
            [maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"],
            cwd=scratch,
            check=True,
            timeout=RESOLVE_SECONDS_MAX,
        )
        try:
            (Path(scratch) / "lib").rename(folder)
        except OSError:
            if not folder.exists():
                raise
