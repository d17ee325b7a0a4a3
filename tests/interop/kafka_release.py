"""The jars of an Apache Kafka release, broker and clients, resolved by Maven once into the user's cache."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

RELEASES = ("3.7.2", "4.3.1")
RESOLVE_SECONDS_MAX = 900

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>broker-sim</groupId><artifactId>{name}</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies></project>
"""
PARENT_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>broker-sim</groupId><artifactId>interop</artifactId><version>1</version><packaging>pom</packaging>
<modules>{modules}</modules></project>
"""
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
DEPENDENCY_ALONE = DEPENDENCY.replace(
    "</dependency>",
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>",
)


class ToolMissingError(Exception):
    """A tool that only interop tests need is not on this machine; the message names it."""


def java_tool(name: str) -> str:
    """The path of `java` or `javac`: in JAVA_HOME, else on PATH. Raise ToolMissingError."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=f"{home}/bin" if home else None)
    if found is None:
        raise ToolMissingError(f"no {name} in {'JAVA_HOME' if home else 'PATH'}: install openjdk-17-jdk-headless")
    return found


def classpath(release: str) -> str:
    """A Java class path with the release's broker, tools and clients. Raise ToolMissingError without Maven."""
    folder = cache_folder() / f"kafka-{release}"
    if not folder.exists():
        _resolve(release, folder)
    return f"{folder}/*"


def clients_folder(release: str, *others: str) -> Path:
    """The folder of the jars of a release's clients alone, and what logs for them. Raise ToolMissingError.

    One run of Maven fetches those of other releases too, which the caller needs next.
    """
    folders = {each: cache_folder() / f"kafka-clients-{each}" for each in (release, *others)}
    missing = {folder: _clients_of(each) for each, folder in folders.items() if not folder.exists()}
    if missing:
        _copy_dependencies(missing)
    return folders[release]


def jars(name: str, *artifacts: str) -> str:
    """A Java class path with these jars (`group:artifact:version`) and nothing that they depend on."""
    folder = cache_folder() / name
    if not folder.exists():
        _copy_dependencies({folder: [DEPENDENCY_ALONE.format(*artifact.split(":")) for artifact in artifacts]})
    return f"{folder}/*"


def cache_folder() -> Path:
    """Where what the interop tests fetch is kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "broker-sim"


def _resolve(release: str, folder: Path) -> None:
    wanted = [("org.apache.kafka", artifact, release) for artifact in ("kafka_2.13", "kafka-tools")]
    if not release.startswith("3."):
        wanted.append(("org.slf4j", "slf4j-simple", "1.7.36"))  # 3.x brings a logger of its own
    _copy_dependencies({folder: [DEPENDENCY.format(*each) for each in wanted]})


def _clients_of(release: str) -> list[str]:
    wanted = [("org.apache.kafka", "kafka-clients", release), ("org.slf4j", "slf4j-simple", "1.7.36")]
    return [DEPENDENCY.format(*each) for each in wanted]


def _copy_dependencies(folders: dict[Path, list[str]]) -> None:
    """Fill folders, each with what its dependencies need: they are modules of one project."""
    names = [folder.name for folder in folders]
    maven = shutil.which("mvn")
    if maven is None:
        raise ToolMissingError(f"no mvn in PATH to fetch {', '.join(names)} from Maven Central: install maven")
    cache_folder().mkdir(parents=True, exist_ok=True)
    # A run that is interrupted leaves no half-filled folder: the last step is one rename. One at a time, because two
    # Mavens get in each other's way in the repository of their own that they fill.
    with (
        (cache_folder() / "maven.lock").open("w") as lock,
        tempfile.TemporaryDirectory(dir=cache_folder()) as scratch,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        folders = {folder: each for folder, each in folders.items() if not folder.exists()}
        if not folders:
            return
        modules = "".join(f"<module>{name}</module>" for name in names)
        (Path(scratch) / "pom.xml").write_text(PARENT_POM.format(modules=modules))
        for folder, dependencies in folders.items():
            (Path(scratch) / folder.name).mkdir()
            pom = POM.format(name=folder.name, dependencies="".join(dependencies))
            (Path(scratch) / folder.name / "pom.xml").write_text(pom)
        subprocess.run(
            [maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"],
            cwd=scratch,
            check=True,
            timeout=RESOLVE_SECONDS_MAX,
        )
        for folder in folders:
            (Path(scratch) / folder.name / "lib").rename(folder)
