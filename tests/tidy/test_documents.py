"""README and docs keep their word: every command block is run here, or by a test that is named here."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from broker_scenarios.cli import main
from tests.interop.served_cluster import command, environment

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

# Commands in documents -> the test that runs them.
RUN_BY = {
    "broker-sim run scenarios/catalog/acl-revoked.yaml": "tests/scenarios/test_catalog.py",
    "broker-sim run scenarios/catalog/cert-expires-midrun.yaml": "tests/scenarios/test_catalog.py",
    "broker-sim catalog list lost response": "tests/tidy/test_scenario_pages.py",
    "broker-sim catalog run lost-ack-duplicate dedup-window-5 --html index.html": "tests/tidy/test_scenario_pages.py",
    "broker-sim run scenarios/catalog/lost-ack-duplicate.yaml": "tests/tidy/test_scenario_pages.py",
    "broker-sim check history.jsonl --promises promises.yaml --logs logs.json": "tests/tidy/test_scenario_pages.py",
    "broker-sim sweep scenarios/swarms/replication.yaml --seeds 10": "tests/scenarios/test_swarms.py",
    "broker-sim sweep scenarios/swarms/idempotence.yaml --seeds 10 --defect dedup-none --shrink smallest": (
        "tests/scenarios/language/test_planting.py"
    ),
    "broker-sim shrink scenarios/catalog/acks1-leader-crash-loss.yaml --finding lost-write": (
        "tests/scenarios/commands/test_shrink.py"
    ),
    "broker-sim explore scenarios/explore/acks-1.yaml --depth 2 --schedule loss.yaml": (
        "tests/scenarios/commands/test_explore.py"
    ),
    "broker-sim explore scenarios/explore/acks-1.yaml --replay loss.yaml": "tests/scenarios/commands/test_explore.py",
    "broker-sim run smallest.yaml": "tests/tidy/test_scenario_pages.py",
    "broker-sim run smallest.yaml --local": "tests/tidy/test_scenario_pages.py",
    "broker-sim run foreign.yaml --local": "tests/tidy/test_scenario_pages.py",
    "broker-sim run foreign.yaml --seed 7": "tests/tidy/test_scenario_pages.py",
    "broker-sim sweep foreign.yaml --seeds 20": "tests/tidy/test_scenario_pages.py",
    "broker-sim proxy --upstream 127.0.0.1:9092 --rules rules.yaml": "tests/broker_sim/wire_proxy/test_command.py",
    "broker-sim run scenarios/catalog/unclean-election-loss.yaml --kafka /opt/kafka_2.13-4.3.1": (
        "tests/interop/test_catalog_on_real_kafka.py"
    ),
    "broker-sim run scenarios/catalog/lost-ack-duplicate.yaml --attach 127.0.0.1:9092": (
        "tests/scenarios/targets/test_attached.py"
    ),
    "broker-sim run scenarios/catalog/unclean-election-loss.yaml --attach 127.0.0.1:9092 "
    "--control 'docker {action} kafka-{id}'": "tests/scenarios/targets/test_broker_processes.py",
    "broker-sim catalog run --kafka /opt/kafka_2.13-4.3.1 --json real.json": (
        "tests/interop/test_catalog_on_real_kafka.py"
    ),
    "broker-sim catalog run --local --json tcp.json": "tests/scenarios/commands/test_catalog.py",
    "broker-sim catalog table tcp.json real.json": "tests/scenarios/commands/test_catalog.py",
    "make demo": "tests/interop/test_demo.py",
    "pytest test_orders.py": "tests/tidy/test_documents.py",
    "broker-sim serve --release 0.10.2 --topic orders:6:3 -o log.message.format.version=0.9.0": (
        "tests/broker_sim/config/test_release_serve.py"
    ),
    "broker-sim serve --brokers 2 -o listeners=PLAINTEXT://127.0.0.1:0,EXTERNAL://:0 "
    "-o advertised.listeners=PLAINTEXT://127.0.0.1:0,EXTERNAL://127.0.0.1:0 "
    "-o listener.security.protocol.map=PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT": "tests/broker_sim/test_serve.py",
    "python -m benchmarks.producer": "tests/interop_python/test_producer_benchmark.py",
    "python benchmarks/consumer.py 100": "tests/interop_python/test_consumer_benchmark.py",
    "python benchmarks/consumer.py 1000": "tests/interop_python/test_consumer_benchmark.py",
    "python benchmarks/soak.py --minutes 10": "tests/interop_python/test_soak.py",
    "python -m benchmarks.planted_anomalies --events 10000000 --anomalies 1000": "tests/interop/test_spark_check.py",
    "python -m benchmarks.spark_drive --records 10000000": "tests/interop/test_spark_drive.py",
    "broker-sim check history --promises promises.yaml --logs logs --spark": "tests/interop/test_spark_check.py",
    "broker-sim run orders.yaml --spark --bootstrap 127.0.0.1:9092": "tests/interop/test_spark_streams.py",
    "broker-sim run orders.yaml --spark --bootstrap 127.0.0.1:9092 --load orders.parquet": (
        "tests/interop/test_spark_streams.py"
    ),
    "broker-sim run orders.yaml --spark --load orders.parquet": "tests/interop/test_spark_streams.py",
    "broker-sim check evidence/history --promises evidence/promises.json --logs evidence/logs --spark": (
        "tests/interop/test_spark_streams.py"
    ),
    "python benchmarks/thread_models.py": "tests/broker_sim/network/test_thread_models.py",
    "broker-sim serve scenarios/catalog/leader-crash-acks-1.yaml --duration 60": (
        "tests/scenarios/served/test_serve_scenario.py"
    ),
    "docker build -t broker-sim .": "tests/tidy/test_container.py",
    "docker run --rm -p 9092-9094:9092-9094 broker-sim": "tests/tidy/test_container.py",
    "broker-sim serve --topic orders:1:3 --rules rules.yaml": "tests/broker_sim/test_serve.py",
    "broker-sim serve --brokers 3 --topic orders:6:3 --data-dir ./data": "tests/broker_sim/test_serve.py",
    "broker-sim serve --topic orders:6:3 --journal journal.jsonl": "tests/broker_sim/test_serve.py",
    "broker-sim serve --brokers 3 --port 0 --topic orders:6:3 -o min.insync.replicas=2": (
        "tests/interop_python/test_serve.py"
    ),
}
# Documents whose commands build on each other -> the test that follows them from the first to the last.
FOLLOWED_BY = {
    "docs/how-to/use-sasl.md": "tests/broker_sim/test_sasl_how_to.py",
    "docs/how-to/use-tls.md": "tests/broker_sim/test_tls_how_to.py",
    "docs/how-to/control-over-http.md": "tests/broker_sim/http_control/test_how_to.py",
    "docs/how-to/use-the-command-line.md": "tests/scenarios/commands/test_how_to.py",
    "docs/how-to/test-an-asyncio-application.md": "tests/scenarios/virtual_clients/test_application.py",
    "docs/how-to/test-in-another-language.md": "tests/interop/test_control_clients.py",
    "docs/how-to/sweep-on-spark.md": "tests/interop/test_spark_cluster.py",
}
# Scenarios on virtual time: this module runs each documented one, with RECORDS records if its command has no number;
# tests/interop/test_demo.py sends more.
RUN_HERE = re.compile(r"broker-sim (?:run|sweep) \S+ (?!.*--(?:spark|local|kafka|attach)).*")
RECORDS = 5_000
# A user waits some seconds for a run of the README, not a minute.
RECORDS_MAX = 5_000
# Commands about the protocol, and traces, end at once: each is run here, and what the document shows is what it prints.
# A line of `...` in the document stands for lines that it leaves out.
PRINTED_HERE = re.compile(
    r"broker-sim (?:protocol (?:list|show|diff|releases|docs|coverage|hostile)|decode|encode|trace)\b.*"
)
# Documented commands without a test: they build the environment of the tests.
SET_UP = re.compile(
    r"make (?:test|lint|docs|interop|bench)(?: .*)?|(?:\S+/)?pip install .*|cd \S+|curl .*|git clone \S+|"
    r"python3 -m venv \S+|\. \S+/activate|\.venv/bin/pytest .*"
)


def blocks(document: Path, *languages: str) -> list[str]:
    return [text for language, text in FENCE.findall(document.read_text()) if language in languages]


def commands(document: Path) -> list[str]:
    """The lines after a `$ ` prompt; a trailing backslash joins the next line."""
    text = "\n".join(blocks(document, "console", "sh", "bash", "shell")).replace("\\\n", " ")
    return [re.sub(r"\s+", " ", line[2:]).strip() for line in text.splitlines() if line.startswith("$ ")]


def identity(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=identity)
def test_every_command_is_run_by_a_test(document: Path) -> None:
    here = re.compile(f"{RUN_HERE.pattern}|{PRINTED_HERE.pattern}")
    if identity(document) in FOLLOWED_BY:
        return
    proven = [line for line in commands(document) if line in RUN_BY or here.match(line) or SET_UP.fullmatch(line)]
    assert commands(document) == proven


@pytest.mark.parametrize("document", DOCUMENTS, ids=identity)
def test_every_command_block_shows_its_prompt(document: Path) -> None:
    without = [block for block in blocks(document, "console", "sh", "bash", "shell") if not block.startswith("$ ")]
    assert without == []


def test_the_tests_named_for_commands_are_there() -> None:
    assert [test for test in [*RUN_BY.values(), *FOLLOWED_BY.values()] if not (ROOT / test).exists()] == []


def test_no_command_is_listed_that_no_document_has() -> None:
    documented = [line for document in DOCUMENTS for line in commands(document)]
    assert [command for command in RUN_BY if command not in documented] == []


DOCUMENTED_RUNS = sorted(
    {line for document in DOCUMENTS for line in commands(document) if RUN_HERE.match(line) and line not in RUN_BY}
)


@pytest.mark.parametrize("line", DOCUMENTED_RUNS)
def test_a_documented_scenario_ends_as_it_expects(line: str, tmp_path: Path) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    fewer = () if "--records" in line else ("--records", str(RECORDS))
    run = subprocess.run(
        command(*line.split()[1:], *fewer),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "digest: " in run.stdout or "seeds per second" in run.stdout
    # The row of the result that a document shows has the verdict of the row that its command prints, and as many zeros.
    name = Path(shlex.split(line)[2]).stem
    texts = ["\n".join(blocks(document, "text")) for document in DOCUMENTS if line in commands(document)]
    (printed,) = rows_of(name, run.stdout) or [[]]
    assert [row for text in texts for row in rows_of(name, text) if summary(row) != summary(printed)] == []


def rows_of(scenario: str, text: str) -> list[list[str]]:
    return [row.split() for row in text.splitlines() if re.match(rf" {scenario} +\d", row)]


def summary(row: list[str]) -> list[str]:
    """A row of results without its counts, which any change of timing changes."""
    return [re.sub(r"[1-9][\d,]*", "some", cell) for cell in row[1:]]


def shown_outputs(document: Path) -> list[tuple[str, list[str]]]:
    """Each command that is run here, with the lines that the document shows below it."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(document, "console"):
        for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            line, *output = part.rstrip().splitlines()
            if PRINTED_HERE.match(line):
                found.append((line, output))
    return found


SHOWN_OUTPUTS = [
    pytest.param(line, output, id=f"{identity(document)}: {line}")
    for document in DOCUMENTS
    for line, output in shown_outputs(document)
]


@pytest.mark.parametrize(("line", "shown"), SHOWN_OUTPUTS)
def test_a_documented_command_prints_what_is_shown(
    line: str, shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("docs", "scenarios"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    code = main(shlex.split(line)[1:])
    out, err = capsys.readouterr()
    assert code == (2 if err else 1 if "broken: " in out else 0)
    pattern = "".join(r"(?:.*\n)*?" if text.strip() == "..." else f"{re.escape(text)}\n" for text in shown)
    assert not shown or re.fullmatch(pattern, out + err), out + err


PLUGINS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"].values()
RUN_SECONDS_MAX = 220
# The first line of a shown test that is to fail; the text block after it has lines of what pytest prints then.
RED = "# Red: "


def shown_tests(document: Path) -> list[str]:
    return [block for block in blocks(document, "python") if "def test_" in block and not block.startswith(RED)]


def red_tests(document: Path) -> list[tuple[str, str]]:
    """Each shown test that is to fail, with the text block after it."""
    fences = FENCE.findall(document.read_text())
    return [
        (text, next(shown for kind, shown in fences[number:] if kind == "text"))
        for number, (language, text) in enumerate(fences)
        if language == "python" and text.startswith(RED)
    ]


WITH_TESTS = [path for path in DOCUMENTS if shown_tests(path)]


@pytest.fixture(scope="module")
def shown_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, set[str]], str]:
    """Run the tests of all documents in one process: a process for each takes five times the processor.

    Return the outcomes of the tests of each document, by the name of its folder, and what pytest printed.
    """
    root = tmp_path_factory.mktemp("shown")
    for document in WITH_TESTS:
        folder = root / folder_of(document)
        folder.mkdir()
        for name, text in FILE.findall(document.read_text()):
            (folder / name).write_text(text)
        write_tests(folder, shown_tests(document))
    run = run_pytest(root, "--junitxml=results.xml")
    outcomes: dict[str, set[str]] = {}
    for case in ET.parse(root / "results.xml").iter("testcase"):
        folder_name = case.get("classname", "").split(".")[0]
        outcomes.setdefault(folder_name, set()).update(each.tag for each in case)
    return outcomes, run.stdout + run.stderr


def folder_of(document: Path) -> str:
    return re.sub(r"\W", "_", identity(document))


@pytest.mark.parametrize("document", WITH_TESTS, ids=identity)
def test_the_tests_shown_in_a_document_pass(document: Path, shown_run: tuple[dict[str, set[str]], str]) -> None:
    outcomes, printed = shown_run
    assert outcomes.get(folder_of(document)) == set(), printed


@pytest.mark.parametrize("document", [path for path in DOCUMENTS if red_tests(path)], ids=identity)
def test_a_red_test_in_a_document_fails_as_shown(document: Path, tmp_path: Path) -> None:
    for number, (test, shown) in enumerate(red_tests(document)):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_tests(folder, [test])
        run = run_pytest(folder)
        assert run.returncode == 1, run.stdout + run.stderr
        lines = [".*".join(map(re.escape, line.split("..."))) for line in shown.splitlines() if line != "..."]
        pattern = "".join(rf"(?:.*\n)*?{line}\n" for line in lines)
        assert re.match(pattern, run.stdout), run.stdout


def write_tests(folder: Path, tests: list[str]) -> None:
    for number, block in enumerate(tests):
        (folder / f"test_shown_{number}.py").write_text(block)


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    plugins = [option for name in PLUGINS for option in ("-p", name)]
    options = ("-q", "-p", "no:cacheprovider", "--import-mode=importlib", *plugins, "--rootdir", str(folder), *options)
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder)],
        cwd=folder,
        # The plugins of this checkout, also if the package was installed before it had them.
        env={**environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=identity)
def test_every_link_leads_to_a_file(document: Path) -> None:
    targets = LINK.findall(document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=identity)
def test_every_link_into_a_document_leads_to_a_heading(document: Path) -> None:
    links = ANCHOR.findall(document.read_text())
    pages = [(document.parent / target if target else document, anchor) for target, anchor in links]
    assert [(page.name, anchor) for page, anchor in pages if anchor not in anchors(page)] == []


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a document."""
    texts = [re.sub(r"[^\w\- ]", "", text.lower()) for text in HEADING.findall(document.read_text())]
    return {text.strip().replace(" ", "-") for text in texts}


INSTALL = re.compile(r"pip install ([^`\n]*)")
# A module that a shown test imports -> how a page installs it.
PACKAGES = {
    "confluent_kafka": "confluent-kafka",
    "kafka": "kafka-python",
    "pyarrow": "arrow",
}


@pytest.mark.parametrize("document", [path for path in DOCUMENTS if shown_tests(path) or red_tests(path)], ids=identity)
def test_a_page_names_the_install_of_its_tests(document: Path) -> None:
    installs = " ".join(INSTALL.findall(document.read_text()))
    imported = re.findall(r"^(?:from|import) (\w+)", "\n".join(shown_tests(document)), re.MULTILINE)
    needed = {"pytest", *(PACKAGES[name] for name in imported if name in PACKAGES)}
    assert [package for package in sorted(needed) if not re.search(rf"(?<![-\w]){package}(?![-\w])", installs)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=identity)
def test_an_install_is_from_a_checkout_and_quotes_its_brackets(document: Path) -> None:
    # The package is not on PyPI, and zsh expands brackets without quotes.
    installs = INSTALL.findall(document.read_text())
    assert [each for each in installs if "broker-sim" in each or re.search(r"(?<!')\.\[", each)] == []


def test_the_runs_of_the_readme_send_few_records() -> None:
    runs = [line for line in commands(ROOT / "README.md") if RUN_HERE.match(line)]
    sent = [re.search(r" --records (\d+)", line) for line in runs]
    assert runs != []
    assert [
        line for line, records in zip(runs, sent, strict=True) if not records or int(records[1]) > RECORDS_MAX
    ] == []


def test_the_make_targets_in_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    documented = {name for document in DOCUMENTS for name in re.findall(r"`make ([a-z]+)", document.read_text())}
    assert sorted(documented - targets) == []


def test_every_newsfragment_has_an_issue_and_a_known_kind() -> None:
    kinds = [
        kind["directory"] for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    ]
    named = re.compile(rf"\d+\.(?:{'|'.join(kinds)})(?:\.\d+)?\.md")
    fragments = [path.name for path in (ROOT / "newsfragments").iterdir() if path.name != ".gitkeep"]
    strays = [name for name in fragments if not named.fullmatch(name)]
    assert strays == []
