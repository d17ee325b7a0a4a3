"""Pytest's fixtures for the verdict on a client under test, and scenarios as tests.

`kafka_ledger(cluster, "orders")` makes a Ledger of a cluster's topics: hand in what the client sent and consumed, or
wrap the client, and end the test with `ledger.check()`. A ledger that a test has not checked fails the test. The report
of a failed test has the command that judges its history again.

The marker `kafka_scenario("lost.yaml", seeds=20)` runs a scenario on virtual time before the body of its test, once per
seed: the fixture `kafka_scenario_result` is the result. Files named `*.scenario.yaml` are collected as tests;
`--kafka-seeds N` runs N seeds of each, and `--kafka-seed` gives the first.

An `async def test(virtual_cluster)` runs on virtual time, with the application that it starts: the marker
`virtual_cluster(seeds=range(50))` makes one test per seed, and the failed test's id has the seed.

`--kafka-strict`, or the marker `kafka_strict(allow=[...])`, fails a test whose clients do something wrong or out of
date.
"""

from __future__ import annotations

import inspect
import re
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from contextlib import AbstractContextManager

    from broker_scenarios.ledger import Ledger
    from broker_scenarios.pytest_scenarios import ScenarioFile
    from broker_scenarios.strict_clients import StrictClients
    from broker_scenarios.sweeps.seed_run import SeedResult
    from broker_sim import ThreadedCluster
    from broker_sim.virtual_cluster import VirtualCluster

__all__ = [
    "LedgerFactory",
    "kafka_ledger",
    "kafka_scenario_result",
    "pytest_addoption",
    "pytest_collect_file",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_kafka_cluster_problems",
    "pytest_kafka_cluster_started",
    "pytest_pyfunc_call",
    "pytest_runtest_call",
    "pytest_runtest_makereport",
    "virtual_cluster",
]

MARKER: Final = "kafka_scenario(file, seeds, first_seed, records): the scenario file that this test runs, per seed"
STRICT_MARKER: Final = "kafka_strict(allow): fail the test if a client does something wrong or out of date"
STRICT: Final = "--kafka-strict"
RECORD: Final = "--kafka-record"
VIRTUAL: Final = "virtual_cluster"
VIRTUAL_MARKER: Final = (
    "virtual_cluster(seeds, packages, deadline_s, brokers, topics, ...): the seeds of this test, the packages of its "
    "application, its virtual time at most, and the shape of its cluster"
)
OF_THE_TEST: Final = ("seeds", "packages", "deadline_s")
"""The arguments of the marker that are not those of a cluster."""
RESULT: Final = "kafka_scenario_result"
ENDING: Final = ".scenario.yaml"
SEEDS: Final = "--kafka-seeds"

HISTORIES: Final = "broker-sim-ledgers"
NAME_MAX: Final = 100
LEDGERS: Final[pytest.StashKey[list[Ledger]]] = pytest.StashKey()
FAILED: Final = pytest.StashKey[bool]()
WATCHED: Final[pytest.StashKey[dict[ThreadedCluster, StrictClients]]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option, for the command line and the ini file."""
    group = parser.getgroup("broker-sim")
    text = f"run so many seeds of each collected *{ENDING} (default: the seed of the file)"
    group.addoption(SEEDS, metavar="N", default=None, help=text)
    parser.addini("kafka_seeds", text, default=None)
    text = "record the one test with `virtual_cluster` to this file, for `broker-sim determinism`"
    group.addoption(RECORD, metavar="FILE", default=None, help=text)
    text = "fail each test whose clients do something wrong or out of date, as the marker kafka_strict does"
    group.addoption(STRICT, action="store_true", help=text)
    parser.addini("kafka_strict", text, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and check the option."""
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", STRICT_MARKER)
    config.addinivalue_line("markers", VIRTUAL_MARKER)
    config.stash[WATCHED] = {}
    _number(config, SEEDS, at_least=1)


class LedgerFactory(Protocol):
    """Makes ledgers: the type of the fixture `kafka_ledger`."""

    def __call__(
        self,
        cluster: ThreadedCluster,
        *topics: str,
        promises: Mapping[str, Any] | None = None,
        other_producers: bool = False,
    ) -> Ledger:
        """Make a ledger of some topics. Raises ScenarioError without a topic, or for an unknown promise."""


@pytest.fixture
def kafka_ledger(request: pytest.FixtureRequest) -> Iterator[LedgerFactory]:
    """Makes ledgers of a cluster's topics for one test, which calls `check` on each."""
    # Imported here, so that pytest starts as fast as without this plugin.
    from broker_scenarios.ledger import Ledger

    ledgers = request.node.stash.setdefault(LEDGERS, [])

    def make(cluster: ThreadedCluster, *topics: str, **options: Any) -> Ledger:
        __tracebackhide__ = True
        ledger = Ledger(cluster, *topics, **options)
        ledgers.append(ledger)
        return ledger

    yield make
    unchecked = [ledger for ledger in ledgers if not ledger.checked]
    if unchecked and not request.node.stash.get(FAILED, False):
        names = ", ".join(map(repr, unchecked))
        pytest.fail(f"never checked: {names}; end the test with ledger.check()", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test the command that judges each of its ledgers again."""
    report = yield
    if report.failed and report.when == "call":
        item.stash[FAILED] = True
        ledgers: list[Ledger] = item.stash.setdefault(LEDGERS, [])
        for number, ledger in enumerate(ledgers, 1):
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", item.nodeid)[-NAME_MAX:]
            folder = _folder(item.config) / f"{name}-ledger-{number}"
            report.sections.append(("kafka ledger", _written(ledger, folder)))
    return report


def _written(ledger: Ledger, folder: Path) -> str:
    try:
        return f"{ledger!r}: {ledger.verdict().write(folder)}"
    except Exception as error:  # noqa: BLE001 - the failure of the test matters more than its report
        return f"{ledger!r}: no history: {error}"


def _folder(config: pytest.Config) -> Path:
    """The directory of journals (`--kafka-journal`), else one for temporary files."""
    given = config.getoption("--kafka-journal", None) or config.getini("kafka_journal")
    return Path(given) if given else Path(tempfile.gettempdir()) / HISTORIES


# Scenarios


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect the scenario files that are named as tests."""
    if not file_path.name.endswith(ENDING):
        return None
    # Imported here, so that pytest starts as fast as without this plugin.
    from broker_scenarios.pytest_scenarios import ScenarioFile

    found: ScenarioFile = ScenarioFile.from_parent(parent, path=file_path)
    found.seeds = _number(parent.config, SEEDS, at_least=1)
    found.first_seed = _number(parent.config, "--kafka-seed", at_least=0)
    return found


def _number(config: pytest.Config, option: str, *, at_least: int) -> int | None:
    text = config.getoption(option) or config.getini(option.removeprefix("--").replace("-", "_"))
    if not text:
        return None
    if not text.isdecimal() or int(text) < at_least:
        raise pytest.UsageError(f"{option} {text!r}: expected a whole number from {at_least}")
    return int(text)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per seed of a marker."""
    seeds = _arguments(metafunc.definition).get("seeds")
    if seeds is not None and VIRTUAL in metafunc.fixturenames:
        metafunc.parametrize(VIRTUAL, seeds, indirect=True, ids=[f"seed-{seed}" for seed in seeds])
    marker = metafunc.definition.get_closest_marker("kafka_scenario")
    if marker is None:
        return
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.pytest_scenarios import of_marker

    try:
        runs = of_marker(marker, metafunc.definition.path.parent)
    except ScenarioError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    if RESULT not in metafunc.fixturenames:
        # A test whose claims are all in the file need not name the fixture.
        metafunc.fixturenames.append(RESULT)
    metafunc.parametrize(RESULT, runs, indirect=True, ids=[run.id for run in runs])


@pytest.fixture
def kafka_scenario_result(request: pytest.FixtureRequest) -> SeedResult:
    """The result of the scenario of the marker `kafka_scenario`, for one seed: counts, misses, digest."""
    from broker_scenarios.errors import ScenarioError

    if not hasattr(request, "param"):
        pytest.fail(f"{RESULT} needs the marker kafka_scenario('FILE', seeds=N)", pytrace=False)
    try:
        result: SeedResult = request.param.run()
    except ScenarioError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Fail a test whose scenario did not end as its file expects, before its body."""
    result: SeedResult | None = getattr(item, "funcargs", {}).get(RESULT)
    if result is not None and result.misses:
        from broker_scenarios.pytest_scenarios import failure_text

        pytest.fail(failure_text(result), pytrace=False)


# Applications on virtual time


def _arguments(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    """Return the arguments of the nearest marker `virtual_cluster`."""
    marker = node.get_closest_marker(VIRTUAL)
    if marker is None:
        return {}
    if marker.args:
        raise pytest.fail.Exception(f"{VIRTUAL}{marker.args!r}: expected names, such as seeds=range(50)", pytrace=False)
    return dict(marker.kwargs)


@pytest.fixture
def virtual_cluster(request: pytest.FixtureRequest) -> Iterator[VirtualCluster]:
    """Three brokers on virtual time for a test that is a coroutine; a marker of the same name changes the shape."""
    __tracebackhide__ = True
    # Imported here, so that pytest starts as fast as without this plugin.
    from broker_sim.errors import BrokerSimError, nearest
    from broker_sim.pytest_plugin import OPEN, close_cluster, seed_of
    from broker_sim.virtual_cluster import VirtualCluster

    shape = {"quick_failover": True, "quick_groups": True, **_arguments(request.node)}
    for name in OF_THE_TEST:
        shape.pop(name, None)
    known = inspect.signature(VirtualCluster).parameters
    for name, value in shape.items():
        if name not in known:
            problem = f"{VIRTUAL}({name}={value!r}): unknown{nearest(name, (*known, *OF_THE_TEST))}"
            pytest.fail(problem, pytrace=False)
    if "seed" in shape:
        pytest.fail(f"{VIRTUAL}(seed={shape['seed']!r}): expected seeds=[{shape['seed']!r}]", pytrace=False)
    seed = getattr(request, "param", None)
    try:
        cluster = VirtualCluster(seed=(seed_of(request.config) or 0) if seed is None else seed, **shape)
    except (BrokerSimError, TypeError) as error:
        raise pytest.fail.Exception(f"{VIRTUAL}: {error}", pytrace=False) from None
    request.config.stash[OPEN].clusters[cluster] = None
    request.config.hook.pytest_kafka_cluster_started(cluster=cluster, node=request.node)
    with _recorded(cluster, request.config.getoption(RECORD)):
        yield cluster
    problems = close_cluster(cluster, request)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def _recorded(cluster: VirtualCluster, record: str | None) -> AbstractContextManager[None]:
    if record is None:
        return nullcontext()
    from broker_scenarios.run_comparison import recorded

    if Path(record).exists():
        raise pytest.UsageError(f"{RECORD} {record}: there is such a file; it records one test")
    return recorded(Path(record), cluster.world, cluster.cluster.journal)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test with the fixture `virtual_cluster` on virtual time."""
    __tracebackhide__ = True
    cluster: Any = pyfuncitem.funcargs.get(VIRTUAL)
    test = pyfuncitem.obj
    if pyfuncitem.get_closest_marker("asyncio") is not None:
        # pytest-asyncio has replaced it by a function that runs it on an event loop of the machine.
        test = getattr(test, "__wrapped__", test)
    if cluster is None or not inspect.iscoroutinefunction(test):
        return None
    from broker_scenarios.virtual_clients.application import run_application

    program = test(**{name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters})
    given = _arguments(pyfuncitem)
    limit = {"deadline_s": given["deadline_s"]} if "deadline_s" in given else {}
    run_application(cluster, program, test.__module__, *given.get("packages", ()), **limit)
    return True


# Strict mode


@pytest.hookimpl(optionalhook=True)
def pytest_kafka_cluster_started(cluster: ThreadedCluster, node: pytest.Item | pytest.Collector) -> None:
    """Follow the clients of a cluster in strict mode."""
    if _is_strict(node):
        from broker_scenarios.strict_clients import StrictClients

        node.config.stash[WATCHED][cluster] = StrictClients(cluster, _allowed(node))


@pytest.hookimpl(optionalhook=True)
def pytest_kafka_cluster_problems(cluster: ThreadedCluster, node: pytest.Item | pytest.Collector) -> list[str]:
    """Return the findings about the clients of a cluster in strict mode."""
    strict = node.config.stash[WATCHED].pop(cluster, None)
    return [] if strict is None else strict.problems()


def _is_strict(node: pytest.Item | pytest.Collector) -> bool:
    option: bool = node.config.getoption(STRICT) or node.config.getini("kafka_strict")
    return option or node.get_closest_marker("kafka_strict") is not None


def _allowed(node: pytest.Item | pytest.Collector) -> list[str]:
    """Return the checks that markers allow; other arguments fail the test."""
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.strict_clients import check_allowed

    allowed: list[str] = []
    for marker in node.iter_markers("kafka_strict"):
        names = marker.kwargs.get("allow", [])
        if marker.args or marker.kwargs.keys() - {"allow"} or not isinstance(names, list | tuple):
            given = ", ".join([*map(repr, marker.args), *(f"{name}={it!r}" for name, it in marker.kwargs.items())])
            problem = f"kafka_strict({given}): expected a list of checks, such as allow=['wire-rate']"
            raise pytest.fail.Exception(problem, pytrace=False)
        allowed += names
    try:
        check_allowed(allowed)
    except ScenarioError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    return allowed
