"""docs/design/architecture.md against the code: the files that it names exist, and three traced runs enter them."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from twisted.internet.protocol import ClientFactory, Protocol

from broker_client.core.producer.producer_core import ProducerCore
from broker_client.producer_config import ProducerConfig
from broker_scenarios import cli
from broker_sim.cluster import Cluster
from broker_sim.control.events import Detail
from broker_sim.metrics.request_metrics import TIMED_ALL
from broker_sim.topic_spec import TopicSpec
from protocol_specs.framing import encode_request
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.record_batch import RecordBatchBuilder
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

ROOT = Path(__file__).parents[2]
DESIGN = sorted((ROOT / "docs" / "design").glob("*.md"))
ARCHITECTURE = ROOT / "docs" / "design" / "architecture.md"
PATH = re.compile(
    r"`((?:broker_sim|client|protocol_specs|scenarios|sim_runtime|tests|benchmarks|docs|tools)/[\w./-]+)`"
)
MADE = re.compile(r"```python file=(\S+)$", re.MULTILINE)
WALK = re.compile(r"<!-- walk: (\w+) -->\n((?:\|.*\n)+)")
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)

PRODUCE_FILES_MAX: Final = 15
"""How many files one Produce request enters at most. The target is 15: the number goes down, never up."""

TIMESTAMP_MS: Final = 1_767_225_600_000


def walk(name: str) -> list[str]:
    """The files of one table of the page, in order."""
    tables: dict[str, str] = dict(WALK.findall(ARCHITECTURE.read_text()))
    return ROW.findall(tables[name])


def entered(folder: str, run: Callable[[], object]) -> list[str]:
    """The files of a folder in which `run` calls a function, in the order of their first call."""
    codes: dict[CodeType, None] = {}

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes.setdefault(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    prefix = str(ROOT / folder)
    files = (code.co_filename for code in codes if code.co_filename.startswith(prefix))
    return list(dict.fromkeys(str(Path(file).relative_to(ROOT)) for file in files))


class Connection(Protocol):
    """A client's connection that counts the bytes of responses."""

    received = 0

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.received += len(data)


class Served:
    """One broker with topic `t` on a virtual network, with the journal of `broker-sim serve`."""

    def __init__(self) -> None:
        self.world = World(1)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=1,
            topics=[TopicSpec.parse("t:1:1")],
            journal_detail=Detail.CLUSTER,
            host="b1",
            broker_reactor=lambda broker_id: self.world.network.host(f"b{broker_id}"),
        )
        self.cluster.start()
        self.world.run_for(ms=100)

    def connect(self) -> Connection:
        connection = Connection()
        factory = ClientFactory.forProtocol(lambda: connection)
        factory.noisy = False
        host, port = self.cluster.bootstrap_servers.split(":")
        self.world.network.host("client").connectTCP(host, int(port), factory)
        self.world.run_for(ms=20)
        return connection


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.world.run_until(served.cluster.close())


def produce_frame() -> bytes:
    batch = RecordBatchBuilder()
    batch.append(TIMESTAMP_MS, None, b"value")
    partition = PartitionProduceData(index=0, records=batch.build())
    request = ProduceRequest(
        acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(name="t", partition_data=[partition])]
    )
    return encode_request(request, 9, correlation_id=1, client_id="test")


def test_a_produce_request_enters_the_files_of_the_page(served: Served) -> None:
    connection = served.connect()

    def produce() -> None:
        before = connection.received
        connection.transport.write(produce_frame())
        served.world.run_until(lambda: connection.received > before)

    # The first requests fill caches and are timed; later one of TIMED_ONE_OF is.
    for _ in range(TIMED_ALL + 1):
        produce()
    files = entered("broker_sim", produce)
    assert files == walk("produce"), "docs/design/architecture.md, walk 1"
    assert len(files) <= PRODUCE_FILES_MAX


def is_subsequence(wanted: list[str], files: list[str]) -> list[str]:
    """The wanted files that are missing, or that come in another order."""
    rest = iter(files)
    return [file for file in wanted if file not in rest]


def test_a_send_enters_the_files_of_the_page_in_order(served: Served) -> None:
    settings = {
        "bootstrap.servers": served.cluster.bootstrap_servers,
        "acks": "1",
        "enable.idempotence": "false",
        "linger.ms": "5",
    }
    core = ProducerCore(ProducerConfig(settings), served.world.network.host("client"), served.world.streams.stream("p"))
    outcomes: list[Any] = []

    def send() -> None:
        before = len(outcomes)
        core.send("t", b"value", b"key", on_delivery=lambda metadata, error: outcomes.append((metadata, error)))
        served.world.run_until(lambda: len(outcomes) > before)

    send()
    served.world.run_for(ms=100)
    files = entered("client", send)
    assert is_subsequence(walk("send"), files) == [], f"docs/design/architecture.md, walk 2; entered: {files}"
    served.world.run_until(core.close(1_000))


def test_a_scenario_run_enters_the_files_of_the_page_in_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    scenario = "scenarios/catalog/leader-crash-acks-1.yaml"

    def run() -> None:
        cli.main(["run", scenario, "--virtual", "--seed", "7", "--records", "300"])

    run()  # imports modules: class bodies are calls, too
    files = entered("scenarios", run)
    assert "leader-crash-acks-1" in capsys.readouterr().out
    assert is_subsequence(walk("scenario"), files) == [], f"docs/design/architecture.md, walk 3; entered: {files}"


def test_the_folders_of_the_page_are_in_the_order_of_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("containers") == ["broker_sim"])
    layers = [re.split(r" [:|] ", layer) for layer in contract["layers"]]
    (table,) = re.findall(r"<!-- layers: broker_sim -->\n((?:\|.*\n)+)", ARCHITECTURE.read_text())
    names = [Path(row).stem for row in ROW.findall(table)]
    depths = [next(depth for depth, layer in enumerate(layers) if name in layer) for name in names]
    assert depths == sorted(depths)
    folders = [path.name for path in (ROOT / "broker_sim").iterdir() if (path / "__init__.py").exists()]
    assert sorted(set(folders) - set(names)) == []


@pytest.mark.parametrize("page", DESIGN, ids=lambda page: page.name)
def test_every_path_that_a_design_page_names_exists(page: Path) -> None:
    text = page.read_text()
    made_by_the_page = MADE.findall(text)
    assert [path for path in PATH.findall(text) if path not in made_by_the_page and not (ROOT / path).exists()] == []
