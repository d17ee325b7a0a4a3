"""Names of Python in the documents: the object that a page uses has them."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from broker_sim.cluster import Cluster
from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME: Final = re.compile(r"`(?:kafka_)?cluster\.([a-z_]\w*(?:\.[a-z_]\w*)*)")
FOLLOWED: Final = {
    "docs/how-to/stream-with-spark.md": "tests/interop/test_spark_streams.py",
    "docs/how-to/verify-a-kafka.md": "tests/interop/test_spark_streams.py",
    "docs/how-to/use-sasl.md": "tests/broker_sim/test_sasl_how_to.py",
    "docs/how-to/use-tls.md": "tests/broker_sim/test_tls_how_to.py",
}
"""Documents whose Python is not a test of its own -> the test that runs it."""


@pytest.fixture(scope="module")
def virtual() -> Iterator[Cluster]:
    world = World(1)
    cluster = Cluster(reactor=world.reactor, streams=world.streams, listen=False)
    cluster.start()
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def threaded() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1) as cluster:
        yield cluster


def used_names(text: str) -> Iterator[tuple[bool, str]]:
    """Each `cluster.name` in prose; True if the Python before it, or else the first after it, is on virtual time."""
    blocks = list(BLOCK.finditer(text))
    for name in NAME.finditer(text):
        before = [block for block in blocks if block.end() <= name.start()]
        if blocks and not any(block.start() < name.start() < block.end() for block in blocks):
            yield "Cluster(" in (before[-1] if before else blocks[0])[1], name[1]


def has(target: Any, path: str) -> bool:
    try:
        reduce(getattr, path.split("."), target)
    except AttributeError:
        return False
    return True


def test_a_cluster_has_each_name_that_a_document_mentions(virtual: Cluster, threaded: ThreadedCluster) -> None:
    used = [
        (str(path.relative_to(ROOT)), name, virtual if is_virtual else threaded)
        for path in DOCUMENTS
        for is_virtual, name in used_names(path.read_text())
    ]
    assert used != []
    assert [(path, name, type(target).__name__) for path, name, target in used if not has(target, name)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_in_a_document_is_a_test(document: Path) -> None:
    if str(document.relative_to(ROOT)) not in FOLLOWED:
        assert [block for block in BLOCK.findall(document.read_text()) if "def test_" not in block] == []
