"""The names that `import broker_sim` offers, and its help."""

from __future__ import annotations

import pydoc
import subprocess
import sys
from importlib.metadata import version

import pytest

import broker_sim


def test_every_name_of_the_front_door_is_there_and_in_its_help() -> None:
    text = pydoc.render_doc(broker_sim)
    for name in broker_sim.__all__:
        assert getattr(broker_sim, name) is not None
        assert name in text or name == "__version__", name
    assert broker_sim.__version__ in text


def test_the_version_is_that_of_the_distribution() -> None:
    assert broker_sim.__version__ == version("broker-sim")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Clutser'"):
        broker_sim.Clutser  # noqa: B018


def test_the_import_loads_no_broker() -> None:
    code = "import sys, broker_sim; print([name for name in ('twisted', 'protocol_specs') if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"
