"""Errors of Spark as one line: the option that they are about, and the reason without the stacks."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["spark_errors"]

_JVM_STACK: Final = re.compile(r"\n\s+at |\n\s*JVM stacktrace|\n\s*Driver stacktrace|\s+This stopped SparkContext")
_PYTHON_STACK: Final = re.compile(r"An exception was thrown from the Python worker:\nTraceback.*\n", re.DOTALL)
_CALL: Final = re.compile(r"An error occurred while calling \S+\n: ")
_JAVA_CLASS: Final = re.compile(r"\b(?:[a-z]\w*\.)+[A-Z][\w$]*(?:Exception|Error): ")
_TASK: Final = re.compile(r"Lost task \S+ in stage \S+ \(TID \d+\) \([^)]*\): ")


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Turn an error of Spark into a ScenarioError of one line that begins with `what`."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise ScenarioError(f"{what}: {_reason(str(error))}") from error


def _reason(text: str) -> str:
    reason = _JVM_STACK.split(text, 1)[0]
    for noise in (_PYTHON_STACK, _CALL, _TASK, _JAVA_CLASS):
        reason = noise.sub("", reason)
    return " ".join(reason.split())
