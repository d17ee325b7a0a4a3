"""Fixtures for tests of Kafka clients: clusters for a test, a module or a session, and factories of clusters.

`kafka_cluster` is a cluster of three brokers on TCP, fresh for each test; the marker `kafka_cluster(brokers=...,
topics=..., config=..., release=...)` gives it another shape. `kafka_cluster_module` and `kafka_cluster_session` live
longer and keep their addresses: after each test that has used one it is reset, and its fault rules are checked.
`kafka_cluster_factory(brokers=..., ...)` makes as many as a test needs; `kafka_cluster_module_factory` and
`kafka_cluster_session_factory` are for fixtures of these scopes, which share what they make.

`--kafka-release`, `--kafka-seed` and `--kafka-journal`, or `kafka_release` and so on in the ini file, hold for all
clusters that do not state their own. All make ThreadedCluster objects with `quick_failover` and `quick_groups`, close
them, and fail a test whose fault rules have a problem. The report of a failed test has a section on each cluster that
is open; its journal is written to a file.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from typing import Unpack

    from broker_sim.threaded_cluster import ClusterShape, ThreadedCluster

__all__ = [
    "OPEN",
    "ClusterFactory",
    "close_cluster",
    "kafka_cluster",
    "kafka_cluster_factory",
    "kafka_cluster_module",
    "kafka_cluster_module_factory",
    "kafka_cluster_session",
    "kafka_cluster_session_factory",
    "pytest_addhooks",
    "pytest_addoption",
    "pytest_configure",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "seed_of",
]

MARKER: Final = "kafka_cluster(brokers, topics, config, release): the shape of this test's kafka_cluster"
JOURNALS: Final = "broker-sim-journals"
NAME_MAX: Final = 100


class ClusterFactory(Protocol):
    """Makes running clusters, which are closed at the end of the factory's scope: the type of the factory fixtures."""

    def __call__(self, **shape: Unpack[ClusterShape]) -> ThreadedCluster:
        """Start a cluster. Raises BrokerSimError or ConfigError for a shape that no cluster has."""


class ClusterHooks:
    """Hooks for plugins that observe the clusters of fixtures. `node` is the test, module or session of a fixture."""

    def pytest_kafka_cluster_started(self, cluster: ThreadedCluster, node: pytest.Item | pytest.Collector) -> None:
        """Observe a cluster that has been started, and before each test one that several tests use."""

    def pytest_kafka_cluster_problems(
        self, cluster: ThreadedCluster, node: pytest.Item | pytest.Collector
    ) -> list[str] | None:
        """Return the problems of a cluster at the end of a test: each fails the test."""


class OpenClusters:
    """The clusters of a test session that run now, and the report on those that a failed test had."""

    def __init__(self) -> None:
        self.clusters: dict[ThreadedCluster, None] = {}
        self.kept: dict[str, ThreadedCluster] = {}
        """The clusters that outlive a test, by the names of their fixtures."""
        self.closed_with_problem: list[str] = []

    def sections(self, folder: Path, test: str) -> list[str]:
        """Return the report on each open cluster and write its journal; then those kept at the end of a fixture."""
        reports = [_report(cluster, folder, test, number) for number, cluster in enumerate(self.clusters, 1)]
        reports += self.closed_with_problem
        self.closed_with_problem = []
        return reports


OPEN: Final = pytest.StashKey[OpenClusters]()


class Option(NamedTuple):
    """An option of the command line, and of the ini file under its name with underscores."""

    name: str
    metavar: str
    help: str

    @property
    def key(self) -> str:
        """Its name in the ini file."""
        return self.name.removeprefix("--").replace("-", "_")

    def value(self, config: pytest.Config) -> str | None:
        """Return what is given, the command line before the ini file; None without either."""
        given: str | None = config.getoption(self.name)
        return given or config.getini(self.key) or None


JOURNAL: Final = Option(
    "--kafka-journal",
    "DIR",
    "write the journal of each cluster of a failed test to this directory (default: one for temporary files)",
)
RELEASE: Final = Option(
    "--kafka-release", "RELEASE", "the Kafka release of clusters whose test does not name one, such as 3.7"
)
SEED: Final = Option("--kafka-seed", "NUMBER", "the seed of clusters whose test does not name one (default 0)")
BOOTSTRAP: Final = Option(
    "--kafka-bootstrap", "HOST:PORT", "use the running cluster of this address: its shape and state are its own"
)
CONTROL: Final = Option(
    "--kafka-control", "URL", "make the clusters in the process of `broker-sim serve --control`, over HTTP"
)
TOKEN_FILE: Final = Option(
    "--kafka-control-token-file", "FILE", "the file with the token of --kafka-control, if it needs one"
)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks of clusters."""
    pluginmanager.add_hookspecs(ClusterHooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, for the command line and the ini file."""
    group = parser.getgroup("broker-sim")
    for option in (RELEASE, SEED, JOURNAL, BOOTSTRAP, CONTROL, TOKEN_FILE):
        group.addoption(option.name, metavar=option.metavar, default=None, help=option.help)
        parser.addini(option.key, option.help, default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", MARKER)
    config.stash[OPEN] = OpenClusters()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a section per open cluster to the report of a failed test."""
    report = yield
    if report.failed:
        for text in item.config.stash[OPEN].sections(_journal_folder(item.config), item.nodeid):
            report.sections.append(("kafka cluster", text))
    return report


@pytest.fixture
def kafka_cluster_factory(request: pytest.FixtureRequest) -> Iterator[ClusterFactory]:
    """Make clusters for one test: `kafka_cluster_factory(brokers=1, topics=["orders:6:1"], config={...})`."""
    yield from _factory(request)


@pytest.fixture(scope="module")
def kafka_cluster_module_factory(request: pytest.FixtureRequest) -> Iterator[ClusterFactory]:
    """Make clusters for the tests of one module, for a fixture with this scope."""
    yield from _factory(request)


@pytest.fixture(scope="session")
def kafka_cluster_session_factory(request: pytest.FixtureRequest) -> Iterator[ClusterFactory]:
    """Make clusters for all tests, for a fixture with this scope."""
    yield from _factory(request)


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest, kafka_cluster_factory: ClusterFactory) -> ThreadedCluster:
    """Three brokers on TCP, fresh for this test; a marker of the same name changes the shape."""
    __tracebackhide__ = True
    return _shaped(request, kafka_cluster_factory)


@pytest.fixture(scope="module")
def kafka_cluster_module(
    request: pytest.FixtureRequest, kafka_cluster_module_factory: ClusterFactory
) -> Iterator[ThreadedCluster]:
    """Three brokers for the tests of a module, reset after each; `pytestmark` gives another shape."""
    yield from _kept(request, kafka_cluster_module_factory)


@pytest.fixture(scope="session")
def kafka_cluster_session(
    request: pytest.FixtureRequest, kafka_cluster_session_factory: ClusterFactory
) -> Iterator[ThreadedCluster]:
    """Three brokers for all tests, reset after each that uses them."""
    yield from _kept(request, kafka_cluster_session_factory)


def _shaped(request: pytest.FixtureRequest, factory: ClusterFactory) -> ThreadedCluster:
    """Make the cluster of the marker. A shape that cannot be used is reported without a traceback: it has no line."""
    from broker_sim.errors import BrokerSimError

    try:
        return factory(**_shape_of(request.node.get_closest_marker("kafka_cluster")))
    except BrokerSimError as error:
        problem = f"kafka_cluster: {error}"
    pytest.fail(problem, pytrace=False)  # after the block: the report does not repeat the error as its context


def _kept(request: pytest.FixtureRequest, factory: ClusterFactory) -> Iterator[ThreadedCluster]:
    """Make a cluster that is reset after each test that has used it."""
    cluster = _shaped(request, factory)
    kept = request.config.stash[OPEN].kept
    assert request.fixturename is not None
    kept[request.fixturename] = cluster
    yield cluster
    del kept[request.fixturename]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """After the fixtures of a test are made: have the kept clusters that it uses observed."""
    _refuse_marker_of_one_test(item)
    yield
    for cluster in _used(item):
        item.config.hook.pytest_kafka_cluster_started(cluster=cluster, node=item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """After the fixtures of a test: check the rules of the kept clusters that it has used, and reset these."""
    yield
    used = _used(item)
    problems = [problem for cluster in used for problem in _problems(cluster, item)]
    for cluster in used:
        cluster.reset()
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def _refuse_marker_of_one_test(item: pytest.Item) -> None:
    """Fail a test with a marker of its own for a cluster that other tests use too, which would have no effect."""
    names = getattr(item, "fixturenames", ())
    kept = [name for name in ("kafka_cluster_module", "kafka_cluster_session") if name in names]
    if kept and "kafka_cluster" not in names and any(mark.name == "kafka_cluster" for mark in item.own_markers):
        problem = (
            f"kafka_cluster(...) is on one test, and other tests use {kept[0]} too: expected the marker as "
            f"`pytestmark` for kafka_cluster_module, or a fixture that calls {kept[0]}_factory"
        )
        pytest.fail(problem, pytrace=False)


def _used(item: pytest.Item) -> list[ThreadedCluster]:
    """Return the kept clusters of a test that run."""
    kept = item.config.stash[OPEN].kept
    names = getattr(item, "fixturenames", ())
    return [cluster for name, cluster in kept.items() if name in names and not cluster.closed]


def _factory(request: pytest.FixtureRequest) -> Iterator[ClusterFactory]:
    # Imported here, so that pytest starts as fast as without this plugin.
    from broker_sim.errors import BrokerSimError

    clusters = request.config.stash[OPEN].clusters
    made: list[ThreadedCluster] = []

    def make(**shape: Unpack[ClusterShape]) -> ThreadedCluster:
        __tracebackhide__ = True
        given = list(shape)
        _check_names("kafka_cluster_factory", given)
        shape.setdefault("quick_failover", True)
        shape.setdefault("quick_groups", True)
        if (release := RELEASE.value(request.config)) is not None:
            shape.setdefault("release", release)
        if (seed := seed_of(request.config)) is not None:
            shape.setdefault("seed", seed)
        try:
            cluster = _start(request.config, shape, given)
        except BrokerSimError as error:
            # A mistake of the test: our own frames explain nothing.
            raise error.with_traceback(None) from None
        made.append(cluster)
        clusters[cluster] = None
        request.config.hook.pytest_kafka_cluster_started(cluster=cluster, node=request.node)
        return cluster

    make.__qualname__ = make.__name__ = "kafka_cluster_factory"  # a TypeError of the call begins with it
    yield make
    problems = [problem for cluster in made for problem in close_cluster(cluster, request)]
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def _start(config: pytest.Config, shape: ClusterShape, given: list[str]) -> ThreadedCluster:
    """Start a cluster in this process or over HTTP control, or attach to a running one, which has its own shape."""
    bootstrap, control = BOOTSTRAP.value(config), CONTROL.value(config)
    if bootstrap is None and control is None:
        from broker_sim.threaded_cluster import ThreadedCluster

        return ThreadedCluster(**shape)
    from broker_sim.errors import BrokerSimError
    from broker_sim.running_cluster import AttachedCluster, ControlledCluster, HttpControl

    if bootstrap is not None and control is not None:
        raise pytest.UsageError(f"{BOOTSTRAP.name} and {CONTROL.name} exclude each other")
    running: Any
    if control is not None:
        token = TOKEN_FILE.value(config)
        running = ControlledCluster(HttpControl(control, None if token is None else _token(token)), **shape)
    elif given:
        raise BrokerSimError(f"{given[0]}: a cluster that runs already ({BOOTSTRAP.name}) has its own shape")
    else:
        assert bootstrap is not None, "one of both is given"
        running = AttachedCluster(_addresses(bootstrap))
    found: ThreadedCluster = running
    return found


def _token(file: str) -> str:
    from sim_runtime.spelling import reason_of

    try:
        return Path(file).read_text().strip()
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"{TOKEN_FILE.name} {file}: {reason_of(error)}") from None


def _addresses(text: str) -> str:
    """Return the addresses of a running cluster, if they are `HOST:PORT,...`."""
    from argparse import ArgumentTypeError

    from broker_sim.argument_types import address

    try:
        for each in text.split(","):
            address(each.strip())
    except ArgumentTypeError as error:
        raise pytest.UsageError(f"{BOOTSTRAP.name} {error}") from None
    return text


def seed_of(config: pytest.Config) -> int | None:
    """Return the seed of the command line or the ini file, None without either."""
    text = SEED.value(config)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise pytest.UsageError(f"{SEED.name} {text!r} is not a whole number") from None


def _problems(cluster: ThreadedCluster, node: pytest.Item | pytest.Collector) -> list[str]:
    """Return the problems of its rules, and those that other plugins find."""
    found: list[list[str]] = node.config.hook.pytest_kafka_cluster_problems(cluster=cluster, node=node)
    return [*cluster.rule_problems(), *(problem for problems in found for problem in problems)]


def close_cluster(cluster: ThreadedCluster, request: pytest.FixtureRequest) -> list[str]:
    """Close a cluster and return the problems of its rules; with any, keep the report on it for the failed test."""
    opened = request.config.stash[OPEN]
    opened.clusters.pop(cluster, None)
    if cluster.closed:
        return []
    try:
        problems = _problems(cluster, request.node)
        if problems:
            text = _report(cluster, _journal_folder(request.config), request.node.nodeid, len(opened.clusters) + 1)
            opened.closed_with_problem.append(text)
        return problems
    finally:
        cluster.close()


def _report(cluster: ThreadedCluster, folder: Path, test: str, number: int) -> str:
    """Return the report on one cluster, and the command that reads the journal which is written here."""
    if cluster.closed:
        return "the test has closed this cluster"
    path = folder / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', test)[-NAME_MAX:]}-{number}.jsonl"
    try:
        text = cluster.report(path)
        folder.mkdir(parents=True, exist_ok=True)
        cluster.write_journal(path)
    except Exception as error:  # noqa: BLE001 - the failure of the test matters more than its report
        return f"no report: {error}"
    return f"{text}\njournal: broker-sim trace {path}"


def _journal_folder(config: pytest.Config) -> Path:
    given = JOURNAL.value(config)
    return Path(given) if given else Path(tempfile.gettempdir()) / JOURNALS


def _shape_of(marker: pytest.Mark | None) -> Any:
    """Return the arguments of a marker. One without a name is refused, and one that no cluster has."""
    if marker is None:
        return {}
    if marker.args:
        values = ", ".join(map(repr, marker.args))
        problem = f"kafka_cluster({values}): expected arguments with names, such as kafka_cluster(brokers=2)"
        pytest.fail(problem, pytrace=False)
    _check_names("kafka_cluster", marker.kwargs)
    return dict(marker.kwargs)


def _check_names(where: str, given: Iterable[str]) -> None:
    """Fail the test for an argument that no cluster has."""
    from broker_sim.errors import nearest
    from broker_sim.threaded_cluster import ClusterShape

    known = list(ClusterShape.__annotations__)
    for name in given:
        if name not in known:
            problem = f"{where}({name}=...): unknown{nearest(name, known)}; expected {', '.join(known)}"
            pytest.fail(problem, pytrace=False)
