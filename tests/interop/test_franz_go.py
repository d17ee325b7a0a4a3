"""franz-go, the newest release and the last for old compilers, every codec, every kind of acknowledgement."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs import releases
from tests.interop.kafka_release import ToolMissingError
from tests.interop.servers import serving

FOLDER = Path(__file__).parent / "franz_go"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ACKS = ("0", "1", "all", "idempotent")
TOPIC = "go"
PARTITIONS = 3
BUILD_SECONDS_MAX = 220
RUN_SECONDS_MAX = 200
# From 1.21 on, `go` fetches the toolchain that a go.mod names; an older one cannot.
FETCHES_TOOLCHAINS = (1, 21)


def go_tool() -> str:
    """The path of `go`. Raise ToolMissingError."""
    found = shutil.which("go")
    if found is None:
        raise ToolMissingError("no go in PATH: install golang")
    return found


def go_version() -> tuple[int, int]:
    """The installed compiler's version, (major, minor)."""
    text = subprocess.run([go_tool(), "version"], capture_output=True, text=True, check=True, timeout=30).stdout
    found = re.search(r"go(\d+)\.(\d+)", text)
    assert found is not None, text
    return int(found[1]), int(found[2])


@pytest.fixture(scope="module", params=["go.mod", "go1.19.mod"], ids=["newest", "go-1.19"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "go.mod" and go_version() < FETCHES_TOOLCHAINS:
        raise ToolMissingError("the newest franz-go needs Go 1.21 or later: the Go in PATH is older")
    binary = tmp_path_factory.mktemp("franz_go") / "produce-and-consume"
    build = subprocess.run(
        [go_tool(), "build", "-modfile", request.param, "-o", str(binary), "."],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
        timeout=BUILD_SECONDS_MAX,
    )
    assert build.returncode == 0, build.stderr
    return binary


@pytest.fixture(scope="module", params=["broker-sim", "kafka-4.3.1"])
def outcomes(request: pytest.FixtureRequest, program: Path) -> dict[tuple[str, str], str]:
    """The outcome of each combination of codec and acks: one process tries them all."""
    with serving(request.param, TOPIC, PARTITIONS) as bootstrap_servers:
        run = subprocess.run(
            [str(program), bootstrap_servers, TOPIC, str(PARTITIONS)],
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_SECONDS_MAX,
        )
    assert run.returncode == 0, run.stdout + run.stderr
    lines = [line.split(" ", 2) for line in run.stdout.splitlines()]
    return {(codec, acks): outcome for codec, acks, outcome in lines}


@pytest.mark.parametrize("acks", ACKS)
@pytest.mark.parametrize("codec", CODECS)
def test_franz_go_reads_back_what_it_produced(outcomes: dict[tuple[str, str], str], codec: str, acks: str) -> None:
    assert outcomes[codec, acks] == "ok"


def kversion(release: str) -> str:
    """How franz-go names a release: by three numbers in 0.x, else by two."""
    version = releases.get(release).version
    return "v" + ".".join(str(part) for part in version[: 3 if version[0] == 0 else 2])


@pytest.mark.parametrize("program", ["go.mod"], indirect=True)
@pytest.mark.parametrize("release", releases.names())
def test_franz_go_speaks_the_versions_of_each_release(program: Path, release: str) -> None:
    behaviour = behaviour_of(release)
    codecs = [codec for codec in CODECS[: behaviour.newest_codec + 1] if codec != "lz4" or behaviour.newest_magic]
    acks = ACKS if behaviour.newest_magic == 2 else ACKS[:-1]
    with ThreadedCluster(brokers=3, release=release, topics=[f"{TOPIC}:{PARTITIONS}:3"]) as cluster:
        run = subprocess.run(
            [str(program), cluster.bootstrap_servers, TOPIC, str(PARTITIONS), kversion(release)],
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_SECONDS_MAX,
        )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines() == [f"{codec} {acknowledged} ok" for codec in codecs for acknowledged in acks]
