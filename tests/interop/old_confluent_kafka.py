"""confluent-kafka 1.9.2 in an environment of its own: its wheel, else compiled against the librdkafka of its time.

It has wheels for Python 3.6 to 3.10. For a later one its source from PyPI is compiled; the librdkafka that it needs is
in the Go client of the same version, as a static library with its header.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from tests.interop.kafka_release import ToolMissingError
from tests.interop.old_pythons import cached_interpreter, find_python, interpreter_with, run_tool

VERSION = "1.9.2"
REQUIREMENT = f"confluent-kafka=={VERSION}"
WHEEL = f"confluent-kafka-{VERSION}"
COMPILED = f"confluent-kafka-{VERSION}-compiled"
WITH_WHEELS = ("3.10", "3.9", "3.8", "3.7")
GO_MODULE = f"github.com/confluentinc/confluent-kafka-go@v{VERSION}"
LIBRARIES = {("Linux", "x86_64", "glibc"): "librdkafka_glibc_linux.a"}


def confluent_kafka_1_9_2() -> str:
    """The interpreter of an environment with it. Raise ToolMissingError with the reason of each failed install."""
    cached = cached_interpreter(WHEEL) or cached_interpreter(COMPILED)
    if cached is not None:
        return cached
    try:
        return interpreter_with(WHEEL, [REQUIREMENT], find_python(*WITH_WHEELS))
    except ToolMissingError as no_wheel:
        try:
            return compiled()
        except ToolMissingError as not_compiled:
            raise ToolMissingError(f"{no_wheel}; or, to compile {REQUIREMENT}: {not_compiled}") from None


def compiled(name: str = COMPILED, python: str = sys.executable) -> str:
    """The same, compiled for this Python. Raise ToolMissingError for a compiler, Python's headers or Go."""
    library = LIBRARIES.get((platform.system(), platform.machine(), platform.libc_ver()[0]))
    if library is None:
        raise ToolMissingError(f"there is no librdkafka {VERSION} in Go's module for {platform.platform()}")
    if shutil.which("gcc") is None:
        raise ToolMissingError("no gcc in PATH: install gcc")
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        raise ToolMissingError(f"no Python.h in {headers}: install python3-dev")
    if shutil.which("go") is None:
        raise ToolMissingError("no go in PATH: install golang")
    module = json.loads(run_tool(["go", "mod", "download", "-json", GO_MODULE]))
    vendored = Path(module["Dir"]) / "kafka" / "librdkafka_vendor"
    with tempfile.TemporaryDirectory(prefix="librdkafka-") as folder:
        includes = Path(folder) / "librdkafka"
        includes.mkdir()
        for header in ("rdkafka.h", "rdkafka_mock.h"):
            (includes / header).symlink_to(vendored / header)
        (Path(folder) / "librdkafka.a").symlink_to(vendored / library)
        environment = {
            # The folder comes before those of the system, which may have another librdkafka.
            "CFLAGS": f"-I{folder}",
            # The library brings its own OpenSSL, which is not to be taken for the interpreter's.
            "LDFLAGS": f"-L{folder} -Wl,--exclude-libs,ALL -lm -ldl -lpthread -lrt",
        }
        from_source = ("--no-binary", "confluent-kafka", "--no-cache-dir")
        return interpreter_with(name, [REQUIREMENT], python, pip=from_source, environment=environment)
